import { cleanUpLimitMs } from './clean-up.ts'
import { createEnding, type Endings, monotonicMs } from './ending.ts'
import type { RunOptions } from './options.ts'

/** This part of the time is kept for removing keys, where there is a way to remove them. */
const cleanUpShare = 0.2

interface TimeLimit {
  endings: Endings
  /** When the time of the cases is up, on the monotonic clock; null: never. */
  endsAtMs: number | null
  stop(): void
}

/** Ends a run when the time of `--timeout` is up: its cases early enough for the clean-up to be over by then. */
export function limitTime({ limits, target }: RunOptions): TimeLimit {
  const { timeoutSeconds } = limits
  if (timeoutSeconds === null) {
    return { endings: { cases: createEnding(), cleanUp: createEnding() }, endsAtMs: null, stop: () => {} }
  }
  const wholeMs = timeoutSeconds * 1000
  const cleansUp = target?.settings.cleanup !== undefined && target.allow.includes('keys')
  const casesMs = wholeMs - (cleansUp ? Math.min(cleanUpLimitMs, wholeMs * cleanUpShare) : 0)
  const nowMs = monotonicMs()
  const endings = { cases: createEnding(nowMs + casesMs), cleanUp: createEnding(nowMs + wholeMs) }
  // Timers run on the monotonic clock.
  const timers = [
    setTimeout(() => endings.cases.end({ kind: 'time' }), casesMs),
    setTimeout(() => endings.cleanUp.end({ kind: 'time' }), wholeMs),
  ]
  return {
    endings,
    endsAtMs: nowMs + casesMs,
    stop: () => {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
