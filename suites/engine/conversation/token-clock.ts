/**
 * A second source for the server's clock: the expiries that it reports for requested lifetimes. The `Date` header may come from a proxy
 * with another clock.
 */
import { firstTimestampMs, roundingMs } from '../judge/margins.ts'
import type { CallTime, ClockWitness } from '../judge/match.ts'
import type { TargetFacts } from './target-facts.ts'

/** The number of sightings that are kept, one for each requested lifetime. */
const keptSightings = 8

/** Lifetimes that differ by less cannot confirm each other, because expiries may be rounded. */
const leastDifferenceMs = 2 * roundingMs

/** Two clocks of one deployment differ by less. Beyond this, the expiry is wrong and not the clock. */
const mostOffMs = 10_000

/** Remembers what a granted lifetime says about the clock of reported expiries. */
export function sightTokenClock(facts: TargetFacts, requestedMs: number, expiry: unknown, time: CallTime): void {
  if (typeof expiry !== 'number' || expiry < firstTimestampMs) return
  const doubt = roundingMs + time.uncertaintyMs
  const earliestMs = expiry - requestedMs - time.answeredAtMs - doubt
  const latestMs = expiry - requestedMs - time.sentAtMs + doubt
  if (latestMs < -mostOffMs || earliestMs > mostOffMs) return
  const others = facts.tokenClock.filter((sighting) => sighting.requestedMs !== requestedMs)
  facts.tokenClock = [...others, { requestedMs, earliestMs, latestMs }].slice(-keptSightings)
}

/**
 * By how much the clock of reported expiries may be behind and ahead of the clock of the Date header, where the two contradict each other;
 * 0 where they do not. In ms.
 */
export function tokenClockDoubt({ tokenClock }: TargetFacts): { behindMs: number; aheadMs: number } {
  const earliestMs = Math.max(...tokenClock.map((sighting) => sighting.earliestMs))
  const latestMs = Math.min(...tokenClock.map((sighting) => sighting.latestMs))
  const contradicts = tokenClock.length > 0 && earliestMs <= latestMs && (earliestMs > 0 || latestMs < 0)
  return contradicts
    ? { behindMs: Math.max(0, -earliestMs), aheadMs: Math.max(0, latestMs) }
    : { behindMs: 0, aheadMs: 0 }
}

/** The sightings of other lifetimes, which can confirm an expiry of this lifetime. */
export function tokenClockWitnesses({ tokenClock }: TargetFacts, requestedMs: number): ClockWitness[] {
  return tokenClock.filter((sighting) => Math.abs(sighting.requestedMs - requestedMs) >= leastDifferenceMs)
}
