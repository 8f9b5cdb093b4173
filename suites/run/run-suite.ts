import { type Item, orderItems, skipItem } from '../engine/case/cases.ts'
import { type Stop, secretRoot } from '../engine/case/client.ts'
import type { TargetFacts } from '../engine/case/target-facts.ts'
import { SuiteError } from '../engine/errors.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import { seededRandom } from '../engine/random.ts'
import { expectedCapabilities } from './expected-capabilities.ts'
import type { RunOptions } from './options.ts'
import { runVitest } from './run-vitest.ts'
import type { WorkerRequest } from './worker-request.ts'

/** What a run showed, and what it left behind. */
export interface SuiteResult {
  outcomes: CaseOutcome[]
  /** null for the bundled server. */
  facts: TargetFacts | null
  stopped: Stop | null
  /** Created keys that are still on the target, and creations whose answer was lost. */
  left: string[]
  /** The user pressed Ctrl-C, or the process was told to end. */
  interrupted: boolean
  /** Cases that the suite itself could not run. */
  defects: string[]
}

export interface SuiteRun {
  options: RunOptions
  corpus: Corpus
  selected: readonly Item[]
  seed: number
  onStart(total: number): void
  onOutcome(outcome: CaseOutcome): void
  /** One line for the user, on stderr. */
  say(line: string): void
}

/**
 * Runs the selected items: against the bundled server in a worker alone; against a URL with a preflight before and a clean-up
 * after it in this process, which outlives whatever happens to the worker.
 *
 * @throws SuiteError (exit code 3) when the target cannot be used at all
 */
export async function runSuite(given: SuiteRun): Promise<SuiteResult> {
  const { options, corpus, seed } = given
  const interruption = listenForSignals(given.say)
  const ordered = orderItems(
    given.selected,
    options.url !== null,
    seededRandom(seed),
    options.root === null ? undefined : secretRoot(options.root),
  )
  const request: WorkerRequest = {
    url: null,
    corpus,
    facts: null,
    capabilities: expectedCapabilities(options, corpus, []),
    items: ordered.map(({ key }) => key),
    seed,
    unique: Date.now().toString(36),
    trace: options.trace,
    createdKeysFile: null,
    keptTestKeys: [],
    deadlineMs: options.timeoutSeconds === null ? null : Date.now() + options.timeoutSeconds * 1000,
  }
  const inWorker = async (prepared: WorkerRequest): Promise<Omit<SuiteResult, 'left'>> => {
    given.onStart(ordered.length)
    const { outcomes, stopped, defects } = await runVitest(prepared, given.onOutcome, interruption)
    const interrupted = interruption.happened()
    return {
      outcomes: [...outcomes, ...notReached(ordered, outcomes, interrupted)],
      facts: prepared.facts,
      stopped,
      interrupted,
      defects,
    }
  }
  try {
    if (options.url === null) return { ...(await inWorker(request)), left: [] }
    const { runAgainstUrl } = await import('./run-against-url.ts')
    return await runAgainstUrl(options, request, inWorker, given.say, interruption.happened)
  } catch (error) {
    // What could not be reached in the time that was left says nothing about the target.
    const exitCode = error instanceof SuiteError ? error.exitCode : null
    if (exitCode !== 3 || !interruption.happened()) throw error
    throw new SuiteError('interrupted', 'Interrupted before the first answer', { exitCode: 130, cause: error })
  } finally {
    interruption.end()
  }
}

/** Cases that an interruption kept from running: said, never silently missing. */
function notReached(ordered: readonly Item[], outcomes: readonly CaseOutcome[], interrupted: boolean): CaseOutcome[] {
  const seen = new Set(outcomes.map(({ key }) => key))
  const reason = interrupted ? 'not run: the run was interrupted' : 'not run: the suite could not run this case'
  return ordered.filter(({ key }) => !seen.has(key)).map((item) => skipItem(item, reason, 'blocked'))
}

export interface Interruption {
  happened(): boolean
  onStart(cancel: () => Promise<void>): void
  end(): void
}

/** The first Ctrl-C lets the running case end and cleans up; the second one leaves at once. `cancel` may be called again and again. */
function listenForSignals(say: (line: string) => void): Interruption {
  let happened = false
  let cancel: () => Promise<void> = async () => {}
  const onSignal = (): void => {
    if (happened) process.exit(130)
    happened = true
    say('Interrupted: cleaning up; press Ctrl-C again to leave at once')
    void cancel()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return {
    happened: () => happened,
    onStart: (given) => {
      cancel = given
    },
    end: () => {
      process.removeListener('SIGINT', onSignal)
      process.removeListener('SIGTERM', onSignal)
    },
  }
}
