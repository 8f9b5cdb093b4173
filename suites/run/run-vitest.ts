import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { createVitest, type Reporter, type Vitest } from 'vitest/node'
import type { RunListener } from '../engine/conversation/conversation.ts'
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import type { Endings } from './ending/ending.ts'
import { announceEnding } from './ending/ending-channel.ts'
import { receiveEvents } from './events-channel.ts'
import type { WorkerRequest } from './worker-request.ts'

interface VitestRun {
  outcomes: CaseOutcome[]
  /** Cases that ended without an outcome: a defect of the suite, never of the target. */
  defects: string[]
  /** Why the worker stopped before the last case, if it did. */
  stopped: StopReason | null
  /** The worker did not end in time. */
  isStuck: boolean
}

/** How long to wait for the worker after a run was ended; its calls and waits end at once. In ms. */
const graceMs = 2000

/** Runs the cases in a vitest worker. The vitest configuration of a user's project is not read. */
export async function runVitest(request: WorkerRequest, endings: Endings, listener: RunListener): Promise<VitestRun> {
  const { cases: ending } = endings
  const { reporter, result } = collectOutcomes(listener)
  // The report decides the exit code.
  const exitCode = process.exitCode
  const closeEnding = announceEnding(ending, request.endingChannel)
  const closeEvents = receiveEvents(request.endingChannel, listener)
  // Optimizing takes a quarter of the processor time of a bundled run, which ends before most of it pays off: only code that runs fifteen
  // times as long as usual is worth it, such as hashing.
  if (request.url === null) setFlagsFromString('--interrupt-budget=1000000')
  const workers = workersFor(request)
  const folder = makeSuiteFolder(workers)
  const vitest = await startVitest(request, reporter, { folder, workers })
  // As an option it would be copied twice more, with all scenarios.
  vitest.provide('request', request)
  const whole = async (): Promise<boolean> => {
    try {
      if (ending.reason === null) await vitest.start()
    } finally {
      await vitest.close()
    }
    return false
  }
  try {
    const isStuck = await Promise.race([whole(), stuckWorker(endings)])
    return { ...result(), isStuck }
  } finally {
    closeEnding()
    closeEvents()
    rmSync(folder, { recursive: true, force: true })
    process.exitCode = exitCode
  }
}

/** Resolves with true when a worker has had its time to end, or the user presses Ctrl-C again. */
function stuckWorker({ cases, cleanUp }: Endings): Promise<true> {
  return new Promise((resolve) => {
    cases.onEnd(() => setTimeout(() => resolve(true), graceMs).unref())
    cleanUp.onEnd(() => resolve(true))
  })
}

/** Turns the reports of vitest into events and into the result of the run. */
function collectOutcomes(listener: RunListener): { reporter: Reporter; result(): Omit<VitestRun, 'isStuck'> } {
  const outcomes = new Map<string, CaseOutcome>()
  const defects: string[] = []
  let stopped: StopReason | null = null
  const reporter: Reporter = {
    onTestCaseResult(test) {
      const { outcomes: ended = [], stopped: reason, began = test.name } = test.meta()
      if (stopped === null && reason !== undefined) {
        stopped = reason
        listener({ kind: 'stopped', reason })
      }
      const result = test.result()
      for (const outcome of ended) {
        outcomes.set(outcome.key, outcome)
        listener({ kind: 'case-ended', outcome })
      }
      if (result.state === 'failed') defects.push(`${began}: ${result.errors[0]?.message ?? 'no reason given'}`)
    },
    onTestModuleEnd(module) {
      for (const error of module.errors()) defects.push(error.message)
    },
  }
  return { reporter, result: () => ({ outcomes: [...outcomes.values()], defects, stopped }) }
}

/** More threads would mostly load the suite. */
const mostWorkers = 4

/** Cases against the bundled server share nothing and run in several threads. Cases on one server run in one. */
function workersFor({ url, items }: WorkerRequest): number {
  if (url !== null) return 1
  return Math.max(1, Math.min(availableParallelism(), mostWorkers, Math.floor(items.length / leastCases)))
}

/** The minimum number of cases for one more thread; fewer finish before it is ready. */
const leastCases = 100

/**
 * Creates a folder with one suite for each worker, which loads the real one, by an address of its own because a thread that runs two of
 * them would not load it again. vitest treats paths as patterns and URLs, so it must not see the path of this package, which may contain
 * any character.
 */
function makeSuiteFolder(workers: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-conformance-suite-'))
  const suite = new URL(`../scenarios.suite.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url).href
  for (let part = 0; part < workers; part += 1)
    writeFileSync(join(folder, `part-${part}.suite.mjs`), `import ${JSON.stringify(`${suite}?part=${part}`)}\n`)
  return folder
}

async function startVitest(
  request: WorkerRequest,
  reporter: Reporter,
  { folder, workers }: { folder: string; workers: number },
): Promise<Vitest> {
  return keepSignals(() =>
    createVitest(
      'test',
      {
        root: folder,
        config: false,
        include: ['*.suite.mjs'],
        exclude: [],
        pool: 'threads',
        isolate: false,
        fileParallelism: workers > 1,
        maxWorkers: workers,
        watch: false,
        // The schedule decides which cases of one server run at the same time.
        maxConcurrency: request.items.length + 1,
        testTimeout: 0,
        hookTimeout: 0,
        reporters: [reporter],
        // Everything is already compiled; transforming it again would take half a second.
        server: { deps: { external: [/./] } },
        silent: true,
      },
      { cacheDir: join(tmpdir(), 'svc-conformance-vite'), logLevel: 'silent', clearScreen: false },
    ),
  )
}

/** Keeps vitest from handling signals: it exits within a millisecond, but a run must first remove what it created. */
async function keepSignals<T>(start: () => Promise<T>): Promise<T> {
  const refuse = (event: string | symbol, listener: (...args: unknown[]) => void): void => {
    if (event === 'SIGINT' || event === 'SIGTERM') queueMicrotask(() => process.removeListener(event, listener))
  }
  process.on('newListener', refuse)
  try {
    return await start()
  } finally {
    process.removeListener('newListener', refuse)
  }
}
