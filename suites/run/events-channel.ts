/** Sends events of a worker to the main thread, in memory only: an entry about a created key holds its secret. */
import { BroadcastChannel } from 'node:worker_threads'
import {
  type CreatedKey,
  type CreatedKeysEntry,
  openCreatedKeys,
  type RunEvent,
  type RunListener,
} from '../engine/conversation/conversation.ts'

const nameOf = (endingChannel: string): string => `${endingChannel}-events`

/** Which cases run, and which of them wait: vitest knows only which have ended. */
const ofProgress: readonly RunEvent['kind'][] = ['case-started', 'wait-started', 'wait-ended']

/**
 * In the worker thread.
 *
 * @param options `everyMs`: the shortest time between two events about progress, because sending one takes as long as a call to a near
 * server; `keys`: whether to send what is recorded about created keys
 */
export function announceEvents(
  endingChannel: string,
  { everyMs, keys }: { everyMs: number; keys: boolean },
): { listener: RunListener; close(): void } {
  const channel = new BroadcastChannel(nameOf(endingChannel))
  channel.unref()
  let sentMs = Number.NEGATIVE_INFINITY
  return {
    listener: (event) => {
      if (keys && event.kind === 'key-noted') channel.postMessage(event)
      if (!ofProgress.includes(event.kind) || performance.now() - sentMs < everyMs) return
      sentMs = performance.now()
      channel.postMessage(event)
    },
    close: () => channel.close(),
  }
}

/** In the main thread. @returns closes the channel */
export function receiveEvents(endingChannel: string, listener: RunListener): () => void {
  const channel = new BroadcastChannel(nameOf(endingChannel))
  channel.onmessage = (event: unknown) => listener((event as { data: RunEvent }).data)
  channel.unref()
  return () => channel.close()
}

/** What was recorded about created keys so far. */
export interface CollectedKeys {
  entries(): readonly CreatedKeysEntry[]
  /** The test keys among them. */
  testKeys(): readonly CreatedKey[]
  close(): void
}

/** In the main thread. */
export function collectKeys(endingChannel: string): CollectedKeys {
  const entries: CreatedKeysEntry[] = []
  const close = receiveEvents(endingChannel, (event) => {
    if (event.kind === 'key-noted') entries.push(event.entry)
  })
  return {
    entries: () => entries,
    testKeys: () => openCreatedKeys(() => {}, entries).keys.filter(({ member }) => member !== undefined),
    close,
  }
}
