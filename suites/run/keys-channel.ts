/** Test keys with their secrets, from the worker that created them to the main thread: in memory only. */
import { BroadcastChannel } from 'node:worker_threads'
import type { CreatedKey } from '../engine/case/created-keys.ts'
import type { RunListener } from '../engine/case/events.ts'

const nameOf = (endingChannel: string): string => `${endingChannel}-keys`

/** In the worker thread. */
export function announceKeys(endingChannel: string): { listener: RunListener; close(): void } {
  const channel = new BroadcastChannel(nameOf(endingChannel))
  channel.unref()
  return {
    listener: (event) => {
      if (event.kind === 'key-noted' && 'created' in event.entry) channel.postMessage(event.entry.created)
    },
    close: () => channel.close(),
  }
}

/** In the main thread: the test keys that were created so far. */
export function collectKeys(endingChannel: string): { keys(): readonly CreatedKey[]; close(): void } {
  const channel = new BroadcastChannel(nameOf(endingChannel))
  const keys: CreatedKey[] = []
  channel.onmessage = (event: unknown) => {
    const { data } = event as { data: CreatedKey }
    if (data.member !== undefined) keys.push(data)
  }
  channel.unref()
  return { keys: () => keys, close: () => channel.close() }
}
