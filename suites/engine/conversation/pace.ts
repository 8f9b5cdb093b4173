/**
 * How fast a run calls its target: as fast as answers come, until the target throttles it; then at a pace that the target accepts, and
 * after a while faster again, because it may have been busy for a moment only.
 */
import type { Random } from '../random.ts'
import type { Clock } from '../target.ts'
import type { TargetFacts } from './target-facts.ts'

export interface Pace {
  /** Waits until this many more calls may be made. */
  take(clock: Clock, calls: number): Promise<void>
  /** Slows down, because the target throttled the run. */
  slowDown(clock: Clock): void
  /** How long to wait before a throttled call is tried again, where the target does not say. In ms. */
  backOffMs(tries: number): number
}

interface PaceOptions {
  /** Calls a second that the user allows; 0 is no limit. */
  limit: number
  /** Calls a second to begin with on a target that is not disposable; null: as fast as answers come. */
  start: number | null
  /** Where the pace that was found is remembered. */
  facts: Pick<TargetFacts, 'callsPerSecond'>
  random: Random
}

/** The pace of a run at the beginning, away from loopback and without `--disposable`. */
export const gentleStart = 20

const slowerBy = 0.7
const fasterBy = 1.5
/** While all goes well a run becomes faster each second. In ms. */
const calmMs = 1000
/** After the target has throttled, it must have borne the slower pace for so long first; twice as long each time that it throttles again. */
const firstPatienceMs = 15_000
const longestPatienceMs = 120_000
/** Above this pace, waiting spares the target nothing. */
const fastEnough = 500
/** The slowest pace: a target that is still too busy answers with Retry-After, which is waited out. */
const leastCallsPerSecond = 5
/** Refusals of one burst count once. */
const burstMs = 500
const firstBackOffMs = 100
const longestBackOffMs = 3000

export function createPace({ limit, start, facts, random }: PaceOptions): Pace {
  const mostOf = (wanted: number | null): number | null => lowest(limit > 0 ? limit : null, wanted)
  let rate = mostOf(facts.callsPerSecond ?? start)
  let patienceMs = firstPatienceMs
  /** How long the target must have borne this pace before the next faster one. */
  let pauseMs = facts.callsPerSecond === undefined ? calmMs : patienceMs
  let freeAtMs = 0
  let slowedAtMs = Number.NEGATIVE_INFINITY
  let steadySinceMs: number | undefined
  /** When the calls of the last second were made. */
  let recent: number[] = []
  const goFaster = (nowMs: number): void => {
    steadySinceMs ??= nowMs
    if (rate === null || nowMs - steadySinceMs < pauseMs) return
    steadySinceMs = nowMs
    pauseMs = calmMs
    // Only what the target has borne is remembered.
    if (facts.callsPerSecond !== undefined) facts.callsPerSecond = rate
    const faster = rate * fasterBy
    rate = mostOf(faster > fastEnough ? null : faster)
  }
  return {
    async take(clock, calls) {
      const nowMs = clock.now()
      goFaster(nowMs)
      recent = [...recent.filter((atMs) => atMs > nowMs - 1000), ...Array.from({ length: calls }, () => nowMs)]
      if (rate === null) return
      // The place is taken before the wait, so that simultaneous calls wait one after another.
      const waitMs = Math.ceil(freeAtMs - nowMs)
      freeAtMs = Math.max(freeAtMs, nowMs) + (1000 / rate) * calls
      if (waitMs > 0) await clock.sleep(waitMs)
    },
    slowDown(clock) {
      const nowMs = clock.now()
      if (nowMs - slowedAtMs < burstMs) return
      if (facts.callsPerSecond !== undefined && pauseMs === calmMs)
        patienceMs = Math.min(2 * patienceMs, longestPatienceMs)
      pauseMs = patienceMs
      slowedAtMs = nowMs
      steadySinceMs = nowMs
      const measured = recent.filter((atMs) => atMs > nowMs - 1000).length
      rate = Math.max(leastCallsPerSecond, (rate ?? Math.max(1, measured)) * slowerBy)
      facts.callsPerSecond = rate
    },
    backOffMs(tries) {
      const jitter = 0.75 + random.below(51) / 100
      return Math.min(longestBackOffMs, firstBackOffMs * 2 ** (tries - 1)) * jitter
    },
  }
}

function lowest(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.min(one, other)
}
