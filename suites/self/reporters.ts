import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node'
import type { CountedThing, countAll } from './numbers.ts'

// Every run bundles its configuration first, with all that this file imports: so the rest of the suite is not among it.
const isProof = process.env.SVC_PROOF !== undefined

/** The test files that confirm a number; outside of a proof they confirm a part of it. */
const behind: { readonly [what in CountedThing]?: RegExp } = {
  'Mutants caught at the requirement they break': /\/self\/mutants\.test\.ts$/,
  'Conforming variants without a failure': /\/self\/conforming\.test\.ts$/,
  'Null servers whose refusals count as proof': /\/self\/null-servers\.test\.ts$/,
}

/** Prints the numbers after the last test of a whole run, and which of them this run did not confirm. */
export function numbersReporter(): Reporter {
  let vitest: Vitest
  return {
    onInit(started) {
      vitest = started
    },
    async onTestRunEnd(modules: readonly TestModule[]) {
      const asked = Object.values(behind).every((files) => modules.some(({ moduleId }) => files.test(moduleId)))
      if (!asked) return
      const { countAll: count } = await vitest.import<{ countAll: typeof countAll }>('/suites/self/numbers.ts')
      const numbers = Object.entries(await count())
      const widest = Math.max(...numbers.map(([what]) => what.length))
      const lines = numbers.map(([what, number]) => `${what.padEnd(widest)}  ${number}${doubt(what, modules)}`)
      console.log(`\n${lines.join('\n')}\n`)
    },
  }
}

function doubt(what: string, modules: readonly TestModule[]): string {
  const files = behind[what as CountedThing]
  if (files === undefined) return ''
  const tests = modules
    .filter(({ moduleId }) => files.test(moduleId))
    .flatMap(({ children }) => [...children.allTests()])
  const skipped = tests.filter((test) => test.result().state === 'skipped').length
  const failed = tests.filter((test) => !test.ok()).length
  if (failed > 0) return ` — NOT CONFIRMED: ${failed} of ${tests.length} tests behind this number did not pass`
  const notRun = skipped > 0 ? [`${skipped} of ${tests.length} tests behind it not run here`] : []
  const inPart = !isProof ? ['in part here, in whole in npm run proof'] : []
  const parts = [...notRun, ...inPart]
  return parts.length > 0 ? ` (${parts.join('; ')})` : ''
}

/** Names what a run could not do on this machine, and why: vitest only counts it. */
export function skippedReporter(): Reporter {
  let vitest: Vitest
  return {
    onInit(started) {
      vitest = started
    },
    onTestRunEnd(modules: readonly TestModule[]) {
      // With a pattern for names, nearly all tests are skipped on purpose.
      if (vitest.config.testNamePattern !== undefined) return
      const counts = new Map<string, number>()
      for (const module of modules) {
        for (const test of module.children.allTests('skipped')) {
          const what = `${module.relativeModuleId}: ${skippedName(test)}`
          counts.set(what, (counts.get(what) ?? 0) + 1)
        }
      }
      if (counts.size === 0) return
      const lines = [...counts].map(([what, count]) => `  ${what}${count > 1 ? `, ${count} tests` : ''}`)
      console.log(`\nCould not be tested here:\n${lines.join('\n')}`)
    },
  }
}

/** The name of the group that gives a reason, otherwise the whole name. */
function skippedName(test: TestCase): string {
  for (let part: TestCase | TestSuite | TestModule = test; part.type !== 'module'; part = part.parent) {
    if (part.name.includes('(NOT RUN: ')) return part.name
  }
  return test.fullName
}
