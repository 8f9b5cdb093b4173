/** Tells the main thread which cases run and which of them wait: vitest only knows which have ended. */
import { BroadcastChannel } from 'node:worker_threads'
import type { RunEvent, RunListener } from '../engine/case/events.ts'

const nameOf = (endingChannel: string): string => `${endingChannel}-progress`

const told: readonly RunEvent['kind'][] = ['case-started', 'wait-started', 'wait-ended']

/**
 * In the worker thread.
 *
 * @param everyMs the shortest time between two events: telling of a case takes as long as asking a near server
 */
export function announceProgress(endingChannel: string, everyMs: number): { listener: RunListener; close(): void } {
  const channel = new BroadcastChannel(nameOf(endingChannel))
  channel.unref()
  let toldMs = Number.NEGATIVE_INFINITY
  return {
    listener: (event) => {
      if (!told.includes(event.kind) || performance.now() - toldMs < everyMs) return
      toldMs = performance.now()
      channel.postMessage(event)
    },
    close: () => channel.close(),
  }
}

/** In the main thread. @returns closes the channel */
export function receiveProgress(endingChannel: string, listener: RunListener): () => void {
  const channel = new BroadcastChannel(nameOf(endingChannel))
  channel.onmessage = (event: unknown) => listener((event as { data: RunEvent }).data)
  channel.unref()
  return () => channel.close()
}
