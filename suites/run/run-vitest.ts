import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestCase } from 'vitest/node'
import { createVitest } from 'vitest/node'
import type { Stop } from '../engine/case/client.ts'
import { packageRoot } from '../engine/fixture/package-root.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import type { Interruption } from './run-suite.ts'
import type { WorkerRequest } from './worker-request.ts'

export interface VitestRun {
  outcomes: CaseOutcome[]
  /** Cases that ended without an outcome: a defect of the suite, never of the target. */
  defects: string[]
  /** Why the worker stopped before the last case, if it did. */
  stopped: Stop | null
}

/**
 * Runs the scenarios in a vitest worker and collects what each case showed. Whatever vitest configuration a user's project has is
 * not read.
 *
 * @param onOutcome called in the main process after each case
 * @param interruption gets a function that ends the run after the case that is running
 */
export async function runVitest(
  request: WorkerRequest,
  onOutcome: (outcome: CaseOutcome) => void,
  interruption: Pick<Interruption, 'happened' | 'onStart'>,
): Promise<VitestRun> {
  // By key: a cancelled vitest reports finished tests again.
  const outcomes = new Map<string, CaseOutcome>()
  const defects: string[] = []
  let stopped: Stop | null = null
  const reporter: Reporter = {
    onTestCaseResult(testCase: TestCase) {
      // A vitest that was cancelled before its first case has forgotten it.
      if (interruption.happened()) void cancel()
      const { outcome, stopped: reason } = testCase.meta()
      stopped ??= reason ?? null
      const result = testCase.result()
      if (outcome !== undefined) {
        if (!outcomes.has(outcome.key)) onOutcome(outcome)
        outcomes.set(outcome.key, outcome)
      } else if (result.state === 'failed') {
        defects.push(`${testCase.name}: ${result.errors[0]?.message ?? 'no reason given'}`)
      }
    },
    onTestModuleEnd(module) {
      for (const error of module.errors()) defects.push(`${error.message}`)
    },
  }
  const suite = ['../scenarios.suite.js', '../scenarios.suite.ts']
    .map((name) => fileURLToPath(new URL(name, import.meta.url)))
    .find((file) => existsSync(file))
  const signals = ['SIGINT', 'SIGTERM'] as const
  const listenersBefore = new Map(signals.map((signal) => [signal, process.listeners(signal)]))
  const vitest = await createVitest(
    'test',
    {
      root: packageRoot,
      config: false,
      include: [suite ?? ''],
      exclude: [],
      pool: 'threads',
      isolate: false,
      fileParallelism: false,
      maxWorkers: 1,
      watch: false,
      testTimeout: 0,
      hookTimeout: 0,
      reporters: [reporter],
      provide: { request },
      // Everything but the suite file itself is compiled already: transforming it again would take half a second.
      server: { deps: { external: [/\/dist\/(?!suites\/scenarios\.suite)/] } },
      silent: true,
    },
    { cacheDir: join(tmpdir(), 'svc-conformance-vite'), logLevel: 'silent', clearScreen: false },
  )
  // vitest exits within a millisecond of a signal; the run must first clean up what it created.
  for (const signal of signals) {
    for (const listener of process.listeners(signal)) {
      if (!listenersBefore.get(signal)?.includes(listener)) process.removeListener(signal, listener)
    }
  }
  const cancel = (): Promise<void> => vitest.cancelCurrentRun('keyboard-input')
  interruption.onStart(cancel)
  const exitCode = process.exitCode
  try {
    if (!interruption.happened()) await vitest.start()
  } finally {
    await vitest.close()
    // The exit code is the report's to say.
    process.exitCode = exitCode
  }
  return { outcomes: [...outcomes.values()], defects, stopped }
}
