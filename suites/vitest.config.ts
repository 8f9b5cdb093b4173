import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { numbersReporter } from './self/numbers-reporter.ts'
import { skippedReporter } from './self/skipped-reporter.ts'

/**
 * The tests of the suite itself run the whole corpus, and are short files: vitest, which begins with the largest files where it knows
 * no better, would leave them for the end, when the other workers have nothing to do.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/suites/self/')
    return (await super.sort(files)).sort((one, other) => Number(isLong(other)) - Number(isLong(one)))
  }
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  test: {
    include: ['mock-server/**/*.test.ts', 'suites/**/*.test.ts', 'scripts/**/*.test.ts', 'suites/*.suite.ts'],
    exclude: ['**/node_modules/**', 'dist/**'],
    // The record of created keys of a test is not for the user who runs it.
    env: { XDG_STATE_HOME: join(tmpdir(), 'svc-conformance-test-state') },
    pool: 'threads',
    isolate: false,
    // Generous, because machines differ: no test asserts a time.
    testTimeout: 240_000,
    // By default one core is left to the console.
    maxWorkers: '100%',
    sequence: { sequencer: LongestFirst },
    reporters: ['default', numbersReporter(), skippedReporter()],
  },
})
