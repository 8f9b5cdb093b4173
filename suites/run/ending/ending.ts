import { setMaxListeners } from 'node:events'
import type { StopReason } from '../../engine/judge/problem.ts'
import { type Instance, isOwn, type Target, type WireAnswer, type WireRequest } from '../../engine/target.ts'

/** Ends a run from outside, after Ctrl-C or at the end of `--timeout`. Waits and calls end at once. */
export interface Ending {
  /** null until the run is ended. The first reason stays. */
  readonly reason: StopReason | null
  /** Aborted when the run is ended. */
  readonly signal: AbortSignal
  /** The time left until the run ends by itself, in ms; undefined: no limit. */
  leftMs(): number | undefined
  end(reason: StopReason): void
  /** Calls back once: when the run is ended, or at once if it already was. */
  onEnd(callback: (reason: StopReason) => void): void
}

/** What ends the cases of a run, and what ends its clean-up. */
export interface Endings {
  cases: Ending
  cleanUp: Ending
}

/** The monotonic clock, in a form that all threads of the process share. In ms. */
export const monotonicMs = (): number => performance.timeOrigin + performance.now()

/** @param endsAtMs when it will be ended, on the monotonic clock; null: no limit */
export function createEnding(endsAtMs: number | null = null): Ending {
  const controller = new AbortController()
  // Every call and every wait under way listens.
  setMaxListeners(0, controller.signal)
  let reason: StopReason | null = null
  return {
    get reason() {
      return reason
    },
    signal: controller.signal,
    leftMs: () => (endsAtMs === null ? undefined : endsAtMs - monotonicMs()),
    end(given) {
      if (reason !== null) return
      reason = given
      controller.abort()
    },
    onEnd(callback) {
      const tell = (): void => {
        if (reason !== null) callback(reason)
      }
      if (reason !== null) tell()
      else controller.signal.addEventListener('abort', tell, { once: true })
    },
  }
}

/** Wraps a target so that every wait and every call ends when the run is ended. */
export function endedTarget(target: Target, ending: Ending): Target {
  return { ...target, open: async () => endedInstance(await target.open(), ending) }
}

const noAnswer: WireAnswer = {
  kind: 'none',
  reason: 'the run was ended',
  refusedConnection: false,
  stale: false,
  isOfEnding: true,
}
const notSent: WireAnswer = { ...noAnswer, wasNotSent: true }

/**
 * How long a call that changes the target may still be answered after the end: without the answer, the run does not know which key was
 * created, and cannot remove it. In ms.
 */
export const finalAnswerGraceMs = 500

/** A call that changes the target is sent on its own connection. */
const mayChangeTarget = ({ connection }: WireRequest): boolean =>
  connection === 'fresh' || connection === 'unused' || isOwn(connection)

/** Every wait and every call of the instance ends when the run is ended. */
export function endedInstance(instance: Instance, { signal, leftMs }: Ending): Instance {
  const { clock } = instance
  const underWay = new Set<Promise<unknown>>()
  const call = <T>(requests: WireRequest[], send: () => Promise<T>, instead: { lost: T; notSent: T }): Promise<T> => {
    if (signal.aborted) return Promise.resolve(instead.notSent)
    const made = send().finally(() => underWay.delete(made))
    underWay.add(made)
    return untilAborted(made, instead.lost, {
      signal,
      graceMs: requests.some(mayChangeTarget) ? finalAnswerGraceMs : 0,
    })
  }
  return {
    ...instance,
    clock: { now: () => clock.now(), controlled: clock.controlled, sleep: (ms) => clock.sleep(ms, signal), leftMs },
    send: (request) => call([request], () => instance.send(request), { lost: noAnswer, notSent }),
    sendTogether: (requests) =>
      call(requests, () => instance.sendTogether(requests), {
        lost: requests.map(() => noAnswer),
        notSent: requests.map(() => notSent),
      }),
    // Node aborts the whole process if a worker thread ends while a call is under way.
    close: async () => {
      const calls = [...underWay]
      await instance.close()
      await Promise.allSettled(calls)
    },
  }
}

/** Resolves like the promise, or with `instead` this long after the signal is aborted. */
function untilAborted<T>(
  awaited: Promise<T>,
  instead: T,
  { signal, graceMs }: { signal: AbortSignal; graceMs: number },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      if (graceMs === 0) resolve(instead)
      else setTimeout(() => resolve(instead), graceMs).unref()
    }
    if (signal.aborted) end()
    signal.addEventListener('abort', end, { once: true })
    awaited.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}
