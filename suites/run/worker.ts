/** What the main thread and the threads of a run tell one another. In memory only: an entry about a created key holds its secret. */
import { BroadcastChannel } from 'node:worker_threads'
import type { RunEvent, RunListener } from '../engine/conversation/conversation.ts'
import type { StopReason } from '../engine/judge/problem.ts'
import { createEnding, type Ending } from './ending.ts'

type Message =
  | { kind: 'worker-ready' }
  | { kind: 'run-ended'; reason: StopReason }
  | { kind: 'events'; events: RunEvent[] }

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

/** In the main thread: tells the workers of the end, and hears their events. @returns closes the channel */
export function hearWorkers(name: string, ending: Ending, listener: RunListener): () => void {
  const { tell, close } = openChannel(name, (message) => {
    if (message.kind === 'events') for (const event of message.events) listener(event)
    // A worker that starts late missed the first message.
    if (message.kind === 'worker-ready' && ending.reason !== null) tell({ kind: 'run-ended', reason: ending.reason })
  })
  ending.onEnd((reason) => tell({ kind: 'run-ended', reason }))
  return close
}

/** How often events are sent: a message for each of them would take as long as a call to a near server. In ms. */
const tellEveryMs = 100

/** How often the number of calls is sent. In ms. */
const countEveryMs = 250

/** In a worker thread. `close` sends the last events. */
export function openWorkerSide({ channel, endsAtMs }: { channel: string; endsAtMs?: number | null | undefined }) {
  const ending = createEnding(endsAtMs)
  const { tell, close } = openChannel(channel, (message) => {
    if (message.kind === 'run-ended') ending.end(message.reason)
  })
  tell({ kind: 'worker-ready' })
  let events: RunEvent[] = []
  let timer: NodeJS.Timeout | undefined
  const tellEvents = (): void => {
    clearTimeout(timer)
    timer = undefined
    tell({ kind: 'events', events })
    events = []
  }
  const add = (event: RunEvent): void => {
    events.push(event)
    timer ??= setTimeout(tellEvents, tellEveryMs)
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
  return {
    ending,
    listener,
    close: (): void => {
      tellEvents()
      close()
    },
  }
}
