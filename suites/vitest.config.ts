import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { numbersReporter, skippedReporter } from './self/reporters.ts'

const root = new URL('..', import.meta.url).pathname

/**
 * These take longest. Those that mostly wait, for processes or for an expiry, stand apart from each other, between those that compute, so that
 * no core is idle and no more workers are needed than one beyond the cores.
 */
const longest = [
  'mutants',
  'explore',
  'explore-proof',
  'diagnose',
  'by-hand',
  'shrink',
  'worlds',
  'pages',
  'null-servers',
  'conforming',
  'run-lifecycle',
  'recipes',
  'hostile',
  'secrets',
  'foreign',
  'odd-targets',
  'lab',
  'clients',
  'command',
  'html',
]

/**
 * The tests of the suite itself ask the whole corpus, and are short to read. vitest begins with the largest files if it knows no durations
 * from an earlier run, and would leave these for the end, when the other workers have nothing to do.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const [, name = '', long] = /\/([^/]+?)(\.long)?\.test\.ts$/.exec(moduleId) ?? []
      const isOfSuite = moduleId.includes('/suites/self/')
      if (longest.includes(name) && (isOfSuite || long)) return 2 + longest.length - longest.indexOf(name)
      return isOfSuite ? 2 : long ? 1 : 0
    }
    return (await super.sort(files)).sort((one, other) => rank(other) - rank(one))
  }
}

// Optimizing costs more than it gains where most of the code runs for a second: without this, the short tests take a quarter more
// processor time, and the whole corpus a tenth. An engine that does not know the flag ignores it.
setFlagsFromString('--interrupt-budget=500000')
// Most objects live as long as one case. With more room for new ones, the collector takes a twentieth less of the processor time.
setFlagsFromString('--min-semi-space-size=32')
setFlagsFromString('--max-semi-space-size=64')

// A test of the command line starts what is built.
spawnSync(process.execPath, ['.ci/build-stamp.mjs', '--tell'], { cwd: root, stdio: 'inherit' })

// Whatever a test and its processes leave in the folder for temporary files goes away with this process.
const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-test-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const name of ['TMPDIR', 'TMP', 'TEMP']) process.env[name] = folder

export default defineConfig({
  root,
  test: {
    include: ['mock-server/**/*.test.ts', 'suites/**/*.test.ts', 'scripts/**/*.test.ts', 'suites/*.suite.ts'],
    exclude: ['**/node_modules/**', 'dist/**'],
    // The record of created keys of a test is not for the user who runs it.
    env: { XDG_STATE_HOME: join(folder, 'state') },
    pool: 'threads',
    isolate: false,
    // Only for tests that hang: machines differ, and no test asserts a time.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 600_000 } },
    // One more than the cores, because the long tests wait a third of their time: for a process, a browser or an expiry. Each more would
    // load all modules once more.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', numbersReporter(), skippedReporter()],
  },
})
