/** What a thread that runs cases tells the main thread. In memory only: an entry about a created key holds its secret. */
import type { RunEvent, RunListener } from '../engine/conversation/conversation.ts'
import type { StopReason } from '../engine/judge/problem.ts'
import { createEnding } from './ending.ts'
import { recordKeys } from './keys.ts'
import { type RanCases, runRequested, type WorkerRequest } from './run.ts'

/** A request as it is sent: a text is copied from thread to thread in no time, a corpus is not. */
export type ThreadRequest = Omit<WorkerRequest, 'corpus'> & { corpus: string }

/** The main thread sends the request, and then why the run must end, if it must. */
interface ThreadPort {
  postMessage(told: { events: RunEvent[] } | { ran: RanCases }): void
  on(event: 'message', hear: (reason: StopReason) => void): unknown
}

/** Runs the cases that the main thread asks of this thread. All events are told before the end. */
export async function runInThread({ corpus, ...sent }: ThreadRequest, port: ThreadPort): Promise<void> {
  const request: WorkerRequest = { ...sent, corpus: JSON.parse(corpus) }
  const { keyRecord = null, endsAtMs } = request
  const ending = createEnding(endsAtMs)
  port.on('message', ending.end)
  const noteKeys = keyRecord === null ? () => {} : recordKeys(keyRecord)
  const { listener, flush } = gathered((events) => port.postMessage({ events }))
  const ran = await runRequested(request, {
    ending,
    listener: (event) => {
      noteKeys(event)
      listener(event)
    },
  }).finally(flush)
  port.postMessage({ ran })
}

/** How often events are sent: a message for each of them would take as long as a call to a near server. In ms. */
const tellEveryMs = 100

/** How often the number of calls is sent. In ms. */
const countEveryMs = 250

/** Gathers events, and tells them from time to time. */
function gathered(tell: (events: RunEvent[]) => void): { listener: RunListener; flush(): void } {
  let events: RunEvent[] = []
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    tell(events)
    events = []
  }
  const add = (event: RunEvent): void => {
    events.push(event)
    timer ??= setTimeout(flush, tellEveryMs)
  }
  const made = { calls: 0, toldMs: performance.now() }
  const listener: RunListener = (event) => {
    // Requests and answers stay here: they are large, and the outcomes hold what a reader needs of them.
    if (event.kind === 'exchange-begun') return
    if (event.kind !== 'exchange-made') return add(event)
    made.calls += 1
    const nowMs = performance.now()
    if (nowMs - made.toldMs < countEveryMs) return
    add({ kind: 'calls-made', calls: made.calls, tookMs: event.answeredAtMs - event.sentAtMs })
    Object.assign(made, { calls: 0, toldMs: nowMs })
  }
  return { listener, flush }
}
