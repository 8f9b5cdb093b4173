import type { Reporter, TestModule } from 'vitest/node'

/** Test files that confirm a number. */
const behind: { readonly [what: string]: RegExp } = {
  'Mutants killed at the requirement they break': /\/self\/mutants\.test\.ts$/,
  'Conforming variants without a failure': /\/self\/variants-[^/]*\.test\.ts$/,
  'Null servers that show a guard': /\/self\/null-servers\.test\.ts$/,
}

/** Prints the numbers after the last test of a whole run, and which of them this run did not confirm. */
export function numbersReporter(): Reporter {
  return {
    async onTestRunEnd(modules: readonly TestModule[]) {
      const asked = Object.values(behind).every((file) => modules.some(({ moduleId }) => file.test(moduleId)))
      if (!asked) return
      // Loaded late: the configuration of every run imports this file.
      const { countAll } = await import('./numbers.ts')
      const numbers = Object.entries(await countAll())
      const widest = Math.max(...numbers.map(([what]) => what.length))
      const lines = numbers.map(([what, number]) => `${what.padEnd(widest)}  ${number}${doubt(what, modules)}`)
      console.log(`\n${lines.join('\n')}\n`)
    },
  }
}

function doubt(what: string, modules: readonly TestModule[]): string {
  const file = behind[what]
  if (file === undefined) return ''
  const tests = modules
    .filter(({ moduleId }) => file.test(moduleId))
    .flatMap(({ children }) => [...children.allTests()])
  const failed = tests.filter((test) => !test.ok() || test.result().state === 'skipped').length
  return failed === 0 ? '' : ` — NOT CONFIRMED: ${failed} of ${tests.length} tests behind this number did not pass`
}
