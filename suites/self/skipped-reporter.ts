import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from 'vitest/node'

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
