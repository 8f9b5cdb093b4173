import { cleanUpLimitMs } from './clean-up.ts'
import type { Endings } from './ending.ts'
import type { RunOptions } from './options.ts'

/** This part of the time is kept for removing keys, where there is a way to remove them. */
const cleanUpShare = 0.2

/**
 * Ends a run when the time of `--timeout` is up: its cases early enough for the clean-up to be over by then.
 *
 * @returns stops the clock
 */
export function limitTime({ limits, target }: RunOptions, { cases, cleanUp }: Endings): () => void {
  const { timeoutSeconds } = limits
  if (timeoutSeconds === null) return () => {}
  const wholeMs = timeoutSeconds * 1000
  const cleansUp = target?.settings.cleanup !== undefined && target.allow.includes('keys')
  const reservedMs = cleansUp ? Math.min(cleanUpLimitMs, wholeMs * cleanUpShare) : 0
  // Timers run on the monotonic clock.
  const timers = [
    setTimeout(() => {
      cases.end({ kind: 'time' })
    }, wholeMs - reservedMs),
    setTimeout(() => {
      cleanUp.end({ kind: 'time' })
    }, wholeMs),
  ]
  return () => {
    for (const timer of timers) clearTimeout(timer)
  }
}
