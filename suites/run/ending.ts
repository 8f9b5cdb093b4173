/** How a run ends from outside: by Ctrl-C, by SIGTERM or by `--timeout`. Loaded before all else, so that Ctrl-C works at once. */
import { setMaxListeners } from 'node:events'
import { interruptedExitCode } from '../engine/errors.ts'
import type { StopReason } from '../engine/judge/problem.ts'
import { type Instance, isOwn, type Target, type WireAnswer, type WireRequest } from '../engine/target.ts'

export type Ending = ReturnType<typeof createEnding>

/** The monotonic clock, in a form that all threads of the process share. In ms. */
const monotonicMs = (): number => performance.timeOrigin + performance.now()

/**
 * Ends the cases of a run, or its clean-up. Waits and calls end at once.
 *
 * @param endsAtMs when it will be ended, on the monotonic clock; null: no limit
 */
export function createEnding(endsAtMs: number | null = null) {
  const controller = new AbortController()
  // Every call and every wait under way listens.
  setMaxListeners(0, controller.signal)
  let reason: StopReason | null = null
  return {
    /** null until it is ended. The first reason stays. */
    get reason(): StopReason | null {
      return reason
    },
    /** Aborted when it is ended. */
    signal: controller.signal,
    endsAtMs,
    /** In ms; undefined: no limit. */
    leftMs: () => (endsAtMs === null ? undefined : endsAtMs - monotonicMs()),
    end(given: StopReason): void {
      if (reason !== null) return
      reason = given
      controller.abort()
    },
    /** Calls back once: when it is ended, or at once if it already was. */
    onEnd(callback: (reason: StopReason) => void): void {
      const tell = (): void => {
        if (reason !== null) callback(reason)
      }
      if (reason !== null) tell()
      else controller.signal.addEventListener('abort', tell, { once: true })
    },
  }
}

/** The maximum duration of removing keys after a run. In ms. */
export const cleanUpLimitMs = 10_000

/** The part of the time that is reserved for removing keys, if the target can remove keys; and the most that it takes. */
const cleanUpShare = 0.2

/**
 * Ends the cases at the first signal and the clean-up at the second; with a limit of time, the cases early enough for the clean-up.
 *
 * @param options `tell` is called at the first signal; `cleanUpMs`: how long a clean-up may take; 0 if there is none
 */
export function openEndings({
  tell = () => {},
  timeoutSeconds = null,
  cleanUpMs = 0,
}: {
  tell?: () => void
  timeoutSeconds?: number | null
  cleanUpMs?: number
} = {}) {
  const wholeMs = timeoutSeconds === null ? null : timeoutSeconds * 1000
  const casesMs = wholeMs === null ? null : wholeMs - Math.min(cleanUpMs, wholeMs * cleanUpShare)
  const endingAfter = (ms: number | null): { ending: Ending; clear(): void } => {
    const ending = createEnding(ms === null ? null : monotonicMs() + ms)
    // Timers use the monotonic clock.
    const timer = ms === null ? undefined : setTimeout(() => ending.end({ kind: 'time' }), ms)
    return { ending, clear: () => clearTimeout(timer) }
  }
  const cases = endingAfter(casesMs)
  const cleanUp = endingAfter(wholeMs)
  const stopListening = listenForSignals(
    (by) => {
      tell()
      cases.ending.end({ kind: 'interrupted', during: 'run', by })
    },
    (by) => cleanUp.ending.end({ kind: 'interrupted', during: 'clean-up', by }),
  )
  /** Stops listening to signals and to the clock. */
  const stop = (): void => {
    for (const each of [cases, cleanUp]) each.clear()
    stopListening()
  }
  return { cases: cases.ending, cleanUp: cleanUp.ending, stop }
}

const signals = ['SIGINT', 'SIGTERM'] as const

type SignalStep = (signal: NodeJS.Signals) => void

/** The listeners, each with the signals that it got; the last one handles the next signal. */
let listening: { steps: readonly SignalStep[]; count: number }[] = []

/**
 * Handles Ctrl-C and SIGTERM until a later listener takes over: the first one, and the second one; the third ends the process.
 *
 * @returns stops listening
 */
export function listenForSignals(first: SignalStep, second = first): () => void {
  const mine = { steps: [first, second], count: 0 }
  if (listening.length === 0) for (const signal of signals) process.on(signal, onSignal)
  listening.push(mine)
  return () => {
    listening = listening.filter((one) => one !== mine)
    if (listening.length === 0) for (const signal of signals) process.removeListener(signal, onSignal)
  }
}

function onSignal(signal: NodeJS.Signals): void {
  const last = listening.at(-1)
  if (last === undefined) return
  const step = last.steps[last.count] ?? (() => process.exit(interruptedExitCode))
  last.count += 1
  step(signal)
}

/** Exits at once: a run that has not begun has created nothing. */
export function leaveOnSignal(): void {
  listenForSignals(() => process.exit(interruptedExitCode))
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
const finalAnswerGraceMs = 500

/** A call that changes the target is sent on its own connection. */
const mayChangeTarget = ({ connection }: WireRequest): boolean =>
  connection === 'fresh' || connection === 'unused' || isOwn(connection)

/** Every wait and every call of the instance ends when the run is ended. */
export function endedInstance(instance: Instance, { signal, leftMs }: Ending): Instance {
  const { clock } = instance
  /** The calls under way, each with what ends it. */
  const underWay = new Map<Promise<unknown>, () => void>()
  const call = <T>(requests: WireRequest[], send: () => Promise<T>, instead: { lost: T; notSent: T }): Promise<T> => {
    if (signal.aborted) return Promise.resolve(instead.notSent)
    return new Promise((resolve, reject) => {
      const made = send()
      const end = (): void => {
        const graceMs = requests.some(mayChangeTarget) ? finalAnswerGraceMs : 0
        if (graceMs === 0) resolve(instead.lost)
        else setTimeout(() => resolve(instead.lost), graceMs).unref()
      }
      underWay.set(made, end)
      if (signal.aborted) end()
      made.then(resolve, reject).finally(() => underWay.delete(made))
    })
  }
  const endCalls = (): void => {
    for (const end of underWay.values()) end()
  }
  signal.addEventListener('abort', endCalls, { once: true })
  return {
    ...instance,
    clock: { now: () => clock.now(), controlled: clock.controlled, sleep: (ms) => clock.sleep(ms, signal), leftMs },
    send: (request) => call([request], () => instance.send(request), { lost: noAnswer, notSent }),
    sendTogether: (requests, heard) =>
      call(requests, () => instance.sendTogether(requests, heard), {
        lost: requests.map(() => noAnswer),
        notSent: requests.map(() => notSent),
      }),
    // Node aborts the whole process if a worker thread ends while a call is under way.
    close: async () => {
      const calls = [...underWay.keys()]
      await instance.close()
      await Promise.allSettled(calls)
      signal.removeEventListener('abort', endCalls)
    },
  }
}
