import { cleanUpLimitMs } from '../keys/clean-up.ts'
import type { RunOptions } from '../options/options.ts'
import { createEnding, type Endings, monotonicMs } from './ending.ts'

/** The part of the time that is reserved for removing keys, if the target can remove keys. */
const cleanUpShare = 0.2

interface TimeLimit {
  endings: Endings
  /** When the cases must end, on the monotonic clock; null: no limit. */
  endsAtMs: number | null
  stop(): void
}

/** Ends a run in time for `--timeout`: its cases end early enough for the clean-up. */
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
  // Timers use the monotonic clock.
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
