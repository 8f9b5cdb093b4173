import type { Reporter, TestModule } from 'vitest/node'
import type { CountedThing } from './numbers.ts'
import { isProof } from './proof-form.ts'

interface Confirmation {
  /** The test files that confirm a number. */
  files: RegExp
  /** Outside of a proof they confirm a part of it. */
  inPart: boolean
}

const behind: { readonly [what in CountedThing]?: Confirmation } = {
  'Mutants caught at the requirement they break': { files: /\/self\/mutants\.test\.ts$/, inPart: false },
  'Conforming variants without a failure': { files: /\/self\/variants-[^/]*\.test\.ts$/, inPart: true },
  'Null servers whose refusals count as proof': { files: /\/self\/null-servers\.test\.ts$/, inPart: true },
}

/** Prints the numbers after the last test of a whole run, and which of them this run did not confirm. */
export function numbersReporter(): Reporter {
  return {
    async onTestRunEnd(modules: readonly TestModule[]) {
      const asked = Object.values(behind).every(({ files }) => modules.some(({ moduleId }) => files.test(moduleId)))
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
  const confirmation = behind[what as CountedThing]
  if (confirmation === undefined) return ''
  const tests = modules
    .filter(({ moduleId }) => confirmation.files.test(moduleId))
    .flatMap(({ children }) => [...children.allTests()])
  const failed = tests.filter((test) => !test.ok() || test.result().state === 'skipped').length
  const part = confirmation.inPart && !isProof ? ' (in part here, in whole in npm run proof)' : ''
  return failed === 0 ? part : ` — NOT CONFIRMED: ${failed} of ${tests.length} tests behind this number did not pass`
}
