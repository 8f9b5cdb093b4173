import { defineConfig } from 'vitest/config'
import { numbersReporter } from './self/numbers-reporter.ts'

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['mock-server/**/*.test.ts', 'suites/**/*.test.ts', 'suites/*.suite.ts'],
    exclude: ['**/node_modules/**', 'dist/**'],
    pool: 'threads',
    isolate: false,
    // By default one core is left to the console.
    maxWorkers: '100%',
    reporters: ['default', numbersReporter()],
  },
})
