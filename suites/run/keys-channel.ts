/** Sends what a worker records about created keys, with their secrets, to the main thread: in memory only. */
import { BroadcastChannel } from 'node:worker_threads'
import { type CreatedKey, type CreatedKeysEntry, openCreatedKeys } from '../engine/case/created-keys.ts'
import type { RunListener } from '../engine/case/events.ts'

const nameOf = (endingChannel: string): string => `${endingChannel}-keys`

/** In the worker thread. */
export function announceKeys(endingChannel: string): { listener: RunListener; close(): void } {
  const channel = new BroadcastChannel(nameOf(endingChannel))
  channel.unref()
  return {
    listener: (event) => {
      if (event.kind === 'key-noted') channel.postMessage(event.entry)
    },
    close: () => channel.close(),
  }
}

/** In the main thread: what was recorded so far. */
export interface CollectedKeys {
  entries(): readonly CreatedKeysEntry[]
  /** The test keys among them. */
  testKeys(): readonly CreatedKey[]
  close(): void
}

export function collectKeys(endingChannel: string): CollectedKeys {
  const channel = new BroadcastChannel(nameOf(endingChannel))
  const entries: CreatedKeysEntry[] = []
  channel.onmessage = (event: unknown) => void entries.push((event as { data: CreatedKeysEntry }).data)
  channel.unref()
  return {
    entries: () => entries,
    testKeys: () => openCreatedKeys(() => {}, entries).keys.filter(({ member }) => member !== undefined),
    close: () => channel.close(),
  }
}
