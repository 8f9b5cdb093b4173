/** Runs cases in vitest workers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { createVitest, type Reporter, type Vitest } from 'vitest/node'
import { notReached } from '../engine/conversation/cases.ts'
import type { RunListener } from '../engine/conversation/conversation.ts'
import type { TargetFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import type { Exploration } from '../explore/explore.ts'
import type { KnownEntry } from '../report/report.ts'
import type { Endings } from './ending.ts'
import type { RunOptions } from './options.ts'
import type { PlannedRun } from './plan.ts'
import { openMainSide, type WorkerRequest } from './worker.ts'

/** The results of the workers. */
export interface CasesResult {
  outcomes: CaseOutcome[]
  /** null for the bundled server. */
  facts: TargetFacts | null
  /** Why the run ended before its last case; null if it did not. */
  stopped: StopReason | null
  /** Cases that the suite itself could not run: never a defect of the target. */
  defects: string[]
  /** The worker did not end in time, so the process must be ended. */
  isStuck: boolean
}

/** One run, after its options and files were read. */
export interface SuiteRun {
  options: RunOptions
  corpus: Corpus
  planned: PlannedRun
  seed: number
  /** The baseline. */
  known: readonly KnownEntry[]
  listener: RunListener
  /** Prints one line for the user. */
  say(line: string): void
}

/** The results of a run, and what it left on the target. */
export interface SuiteResult extends CasesResult {
  /** What the model found after the cases; null if it made no calls. */
  exploration: Exploration | null
  /** Lines about created keys that are still on the target, and creations whose answer was lost. */
  left: string[]
}

/** How long to wait for the workers after a run was ended; their calls and waits end at once. In ms. */
const graceMs = 2000

/** Runs the cases in vitest workers. The vitest configuration of a user's project is not read. */
export async function runInWorkers(
  { planned, listener }: Pick<SuiteRun, 'planned' | 'listener'>,
  request: WorkerRequest,
  { cases: ending, cleanUp }: Endings,
): Promise<CasesResult> {
  const collected = collectOutcomes(listener)
  // The report decides the exit code.
  const exitCode = process.exitCode
  const close = openMainSide(request.channel, ending, listener)
  // Optimizing takes a quarter of the processor time of a bundled run, which ends before most of it pays off: only code that runs fifteen
  // times as long as usual is worth it, such as hashing.
  if (request.url === null) setFlagsFromString('--interrupt-budget=1000000')
  const workers = workersFor(request)
  const folder = makeSuiteFolder(workers)
  const vitest = await startVitest(request, collected.reporter, { folder, workers })
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
  /** A worker has had its time to end, or the user presses Ctrl-C again. */
  const stuck = new Promise<boolean>((resolve) => {
    ending.onEnd(() => setTimeout(() => resolve(true), graceMs).unref())
    cleanUp.onEnd(() => resolve(true))
  })
  try {
    const isStuck = await Promise.race([whole(), stuck])
    const { outcomes, defects } = collected
    const stopped = ending.reason ?? collected.stopped()
    const missing = planned.selected.filter(({ key }) => request.items.includes(key) && !outcomes.has(key))
    return {
      outcomes: [...outcomes.values(), ...notReached(missing, stopped)],
      facts: request.facts,
      stopped,
      defects: stopped === null ? defects : [],
      isStuck,
    }
  } finally {
    close()
    rmSync(folder, { recursive: true, force: true })
    process.exitCode = exitCode
  }
}

/** Turns the reports of vitest into events and into the result of the run. */
function collectOutcomes(listener: RunListener) {
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
  return { reporter, outcomes, defects, stopped: () => stopped }
}

/** More threads would mostly load the suite. */
const mostWorkers = 4
/** The minimum number of cases for one more thread; fewer finish before it is ready. */
const leastCases = 100

/** Cases against the bundled server share nothing and run in several threads. Cases on one server run in one. */
function workersFor({ url, items }: WorkerRequest): number {
  if (url !== null) return 1
  return Math.max(1, Math.min(availableParallelism(), mostWorkers, Math.floor(items.length / leastCases)))
}

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
