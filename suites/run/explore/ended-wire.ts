import { setTimeout as delay } from 'node:timers/promises'
import { TargetGone } from '../../explore/explorer-types.ts'
import type { Wire } from '../../explore/wire.ts'
import { type Ending, finalAnswerGraceMs } from '../ending/ending.ts'

/**
 * Ends the calls and the waits of an exploration with the run: as soon as the run is ended, each rejects with TargetGone. A call under way
 * may still be answered for a short time, because it may create a key.
 */
export function endedWire(wire: Wire, ending: Ending): Wire {
  const { signal } = ending
  return {
    ...wire,
    send: (request) => (signal.aborted ? Promise.reject(ended()) : untilEnded(wire.send(request), signal)),
    sleep: async (ms) => {
      if (wire.controlled) await wire.sleep(ms)
      else await delay(ms, undefined, { signal }).catch(() => {})
      if (signal.aborted) throw ended()
    },
  }
}

const ended = (): TargetGone => new TargetGone('the run was ended')

/** Resolves like the promise, or rejects shortly after the signal is aborted. */
function untilEnded<T>(awaited: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => void setTimeout(() => reject(ended()), finalAnswerGraceMs).unref()
    signal.addEventListener('abort', end, { once: true })
    awaited.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
