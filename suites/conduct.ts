import { expectedCapabilities } from './capabilities-of.ts'
import type { RunOptions } from './commands/run-options.ts'
import { SuiteError } from './engine/errors.ts'
import type { Corpus } from './engine/fixture/model.ts'
import { type Item, orderItems, skipItem } from './engine/items.ts'
import type { Knowledge } from './engine/knowledge.ts'
import type { RowOutcome } from './engine/outcome.ts'
import { seededRandom } from './engine/random.ts'
import { type Stop, secretRoot } from './engine/seat.ts'
import { runVitest } from './run-vitest.ts'
import type { WorkerRequest } from './worker-request.ts'

/** What a run showed, and what it left behind. */
export interface Conducted {
  outcomes: RowOutcome[]
  /** null for the bundled server. */
  knowledge: Knowledge | null
  stopped: Stop | null
  /** Created keys that are still on the target, and creations whose answer was lost. */
  left: string[]
  /** The user pressed Ctrl-C, or the process was told to end. */
  interrupted: boolean
  /** Rows that the suite itself could not run. */
  defects: string[]
}

export interface Conduct {
  options: RunOptions
  corpus: Corpus
  selected: readonly Item[]
  seed: number
  onStart(total: number): void
  onOutcome(outcome: RowOutcome): void
  /** One line for the user, on stderr. */
  say(line: string): void
}

/**
 * Runs the selected items: against the bundled server in a worker alone; against a URL with a preflight before and a clean-up
 * after it in this process, which outlives whatever happens to the worker.
 *
 * @throws SuiteError (exit code 3) when the target cannot be used at all
 */
export async function conduct(given: Conduct): Promise<Conducted> {
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
    knowledge: null,
    capabilities: expectedCapabilities(options, corpus, []),
    items: ordered.map(({ key }) => key),
    seed,
    unique: Date.now().toString(36),
    trace: options.trace,
    ledgerFile: null,
    keptCast: [],
    deadlineMs: options.timeoutSeconds === null ? null : Date.now() + options.timeoutSeconds * 1000,
  }
  const inWorker = async (prepared: WorkerRequest): Promise<Omit<Conducted, 'left'>> => {
    given.onStart(ordered.length)
    const { outcomes, stopped, defects } = await runVitest(prepared, given.onOutcome, interruption)
    const interrupted = interruption.happened()
    return {
      outcomes: [...outcomes, ...notReached(ordered, outcomes, interrupted)],
      knowledge: prepared.knowledge,
      stopped,
      interrupted,
      defects,
    }
  }
  try {
    if (options.url === null) return { ...(await inWorker(request)), left: [] }
    const { conductUrl } = await import('./conduct-url.ts')
    return await conductUrl(options, request, inWorker, given.say, interruption.happened)
  } catch (error) {
    // What could not be reached in the time that was left says nothing about the target.
    const exitCode = error instanceof SuiteError ? error.exitCode : null
    if (exitCode !== 3 || !interruption.happened()) throw error
    throw new SuiteError('interrupted', 'Interrupted before the first answer', { exitCode: 130, cause: error })
  } finally {
    interruption.end()
  }
}

/** Rows that an interruption kept from running: said, never silently missing. */
function notReached(ordered: readonly Item[], outcomes: readonly RowOutcome[], interrupted: boolean): RowOutcome[] {
  const seen = new Set(outcomes.map(({ key }) => key))
  const reason = interrupted ? 'not run: the run was interrupted' : 'not run: the suite could not run this row'
  return ordered.filter(({ key }) => !seen.has(key)).map((item) => skipItem(item, reason, 'blocked'))
}

export interface Interruption {
  happened(): boolean
  onStart(cancel: () => Promise<void>): void
  end(): void
}

/** The first Ctrl-C lets the running row end and cleans up; the second one leaves at once. `cancel` may be called again and again. */
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
