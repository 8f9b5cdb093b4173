/** What the main thread and the vitest workers of a run tell one another. In memory only: an entry about a created key holds its secret. */
import { BroadcastChannel } from 'node:worker_threads'
import type {} from 'vitest'
import type { CreatedKey, CreatedKeysEntry, RunEvent, RunListener } from '../engine/conversation/conversation.ts'
import type { TargetFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import type { Corpus, SafetyClass } from '../engine/language/fixture-types.ts'
import type { KnownEntry } from '../report/report.ts'
import type { UrlTargetOptions } from '../targets/url.ts'
import { createEnding, type Ending } from './ending.ts'
import type { recordKeys } from './keys.ts'

/** What a run knows after its preflight. Its workers are started before, and wait for it. */
interface Prepared {
  /** Keys of items. */
  items: string[]
  /** What the preflight found; without it, the worker makes the preflight itself. */
  facts?: TargetFacts
  /** The record of created keys, so that the main thread can remove them even if the worker crashes; null if nothing is recorded. */
  keyRecord?: Parameters<typeof recordKeys>[0] | null
  keptTestKeys?: CreatedKey[]
  earlierKeys?: CreatedKeysEntry[]
}

/** The request of the main thread to the workers that run the cases. Plain data. */
export interface WorkerRequest extends Prepared {
  /** null: the bundled server. */
  url: UrlTargetOptions | null
  corpus: Corpus
  allow: readonly SafetyClass[]
  seed: number
  unique: string
  trace?: boolean
  /** Stop after this many failures that the baseline does not list; null: never. `met`: how many there were, in one Int32 that all threads share. */
  bail?: { failures: number; met: SharedArrayBuffer; known: readonly KnownEntry[] } | null
  /** How many items all threads have taken, in one Int32 that they share; without it, one worker runs all items. */
  taken?: SharedArrayBuffer
  /** The name of the channel between the threads. */
  channel: string
  /** When the run must end, on the monotonic clock; null: no limit. */
  endsAtMs?: number | null
}

declare module 'vitest' {
  export interface ProvidedContext {
    request: WorkerRequest
  }
  interface TaskMeta {
    /** The outcome of the case of this test. */
    outcomes?: CaseOutcome[]
    /** What the suite itself could not do, for each case. */
    defects?: string[]
    /** Set on every test whose cases were not all run because the run had stopped. */
    stopped?: StopReason
  }
}

type Message =
  | { kind: 'worker-ready' }
  | { kind: 'prepared'; prepared: Prepared }
  | { kind: 'run-ended'; reason: StopReason }
  /** Cases of the bundled server, which vitest does not report. */
  | { kind: 'cases-ended'; outcomes: CaseOutcome[] }
  | RunEvent

function openChannel(
  name: string,
  onMessage: (message: Message) => void,
): { tell(message: Message): void; close(): void } {
  const channel = new BroadcastChannel(name)
  channel.onmessage = (event: unknown) => onMessage((event as { data: Message }).data)
  channel.unref()
  let isClosed = false
  return {
    tell: (message) => {
      if (!isClosed) channel.postMessage(message)
    },
    close: () => {
      isClosed = true
      channel.close()
    },
  }
}

/** In the main thread: tells the workers what the preflight found and of the end, and hears their events. */
export function openMainSide(name: string, ending: Ending, listener: RunListener) {
  let prepared: Prepared | null = null
  let reason: StopReason | null = null
  const tellAll = (): void => {
    if (prepared !== null) tell({ kind: 'prepared', prepared })
    if (reason !== null) tell({ kind: 'run-ended', reason })
  }
  const end = (why: StopReason): void => {
    reason ??= why
    tellAll()
  }
  const { tell, close } = openChannel(name, (message) => {
    // A worker that starts late missed the first messages.
    if (message.kind === 'worker-ready') tellAll()
    else if (message.kind === 'cases-ended')
      for (const outcome of message.outcomes) listener({ kind: 'case-ended', outcome })
    else if (message.kind !== 'run-ended' && message.kind !== 'prepared') listener(message)
  })
  ending.onEnd(end)
  return {
    prepare(found: Prepared): void {
      prepared = found
      tellAll()
    },
    /** Ends the workers. */
    end,
    close,
  }
}

/** Which cases run, and which of them wait: vitest knows only which have ended. */
const ofProgress: readonly RunEvent['kind'][] = ['case-started', 'case-requeued', 'wait-started', 'wait-ended']

/** How often the number of calls is sent: a message for each call would take as long as a call to a near server. In ms. */
const countEveryMs = 250

/**
 * In a worker thread.
 *
 * @param options `everyMs`: the shortest time between two events about progress, because sending one takes as long as a call to a near
 * server; `keys`: whether to send what is recorded about created keys
 */
export function openWorkerSide(
  { channel, endsAtMs }: Pick<WorkerRequest, 'channel' | 'endsAtMs'>,
  { everyMs, keys }: { everyMs: number; keys: boolean },
) {
  const ending = createEnding(endsAtMs)
  let found = (_prepared: Prepared | null): void => {}
  const prepared = new Promise<Prepared | null>((resolve) => {
    found = resolve
  })
  ending.onEnd(() => found(null))
  const { tell, close } = openChannel(channel, (message) => {
    if (message.kind === 'prepared') found(message.prepared)
    if (message.kind === 'run-ended') ending.end(message.reason)
  })
  tell({ kind: 'worker-ready' })
  let sentMs = Number.NEGATIVE_INFINITY
  const made = { calls: 0, toldMs: performance.now() }
  const listener: RunListener = (event) => {
    if (keys && event.kind === 'key-noted') tell(event)
    if (event.kind === 'exchange-made') {
      made.calls += 1
      const nowMs = performance.now()
      if (nowMs - made.toldMs < countEveryMs) return
      tell({ kind: 'calls-made', calls: made.calls, tookMs: event.answeredAtMs - event.sentAtMs })
      Object.assign(made, { calls: 0, toldMs: nowMs })
    }
    if (!ofProgress.includes(event.kind) || performance.now() - sentMs < everyMs) return
    sentMs = performance.now()
    tell(event)
  }
  return {
    ending,
    listener,
    /** null: the run ended before. */
    prepared,
    tell,
    close,
  }
}
