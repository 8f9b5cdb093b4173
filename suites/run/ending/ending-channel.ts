/** Tells the worker threads of a run that it has been ended. */
import { BroadcastChannel } from 'node:worker_threads'
import type { StopReason } from '../../engine/judge/problem.ts'
import { createEnding, type Ending } from './ending.ts'

type Message = { kind: 'worker-ready' } | { kind: 'ended'; reason: StopReason }

/** In the main thread. @returns closes the channel */
export function announceEnding(ending: Ending, name: string): () => void {
  const channel = new BroadcastChannel(name)
  const tell = (reason: StopReason): void => channel.postMessage({ kind: 'ended', reason } satisfies Message)
  let isClosed = false
  ending.onEnd((reason) => {
    if (!isClosed) tell(reason)
  })
  channel.onmessage = (event: unknown) => {
    const { data } = event as { data: Message }
    // A worker that starts late missed the first message.
    if (data.kind === 'worker-ready' && ending.reason !== null) tell(ending.reason)
  }
  channel.unref()
  return () => {
    isClosed = true
    channel.close()
  }
}

/** In a worker thread. */
export function receiveEnding(name: string, endsAtMs: number | null): { ending: Ending; close(): void } {
  const ending = createEnding(endsAtMs)
  const channel = new BroadcastChannel(name)
  channel.onmessage = (event: unknown) => {
    const { data } = event as { data: Message }
    if (data.kind === 'ended') ending.end(data.reason)
  }
  channel.unref()
  channel.postMessage({ kind: 'worker-ready' } satisfies Message)
  return { ending, close: () => channel.close() }
}
