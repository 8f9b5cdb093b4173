/**
 * A second witness of the server's clock: the expiries that it reports for lifetimes that were asked for. The `Date` header may be that of
 * a proxy, whose clock is another one.
 */
import { firstTimestampMs, roundingMs } from '../judge/margins.ts'
import type { ClockWitness, Moment } from '../judge/match.ts'
import type { TargetFacts } from './target-facts.ts'

/** One sighting for each lifetime that was asked for; so many are kept. */
const keptSightings = 8

/** Lifetimes that differ by less say nothing about one another, since expiries may be rounded. */
const leastDifferenceMs = 2 * roundingMs

/** Two clocks of one deployment differ by no more; beyond it an expiry is wrong, and no clock. */
const mostOffMs = 10_000

/** Remembers what a granted lifetime says of the clock that expiries are reported by. */
export function sightTokenClock(facts: TargetFacts, askedMs: number, expiry: unknown, moment: Moment): void {
  if (typeof expiry !== 'number' || expiry < firstTimestampMs) return
  const doubt = roundingMs + moment.uncertaintyMs
  const earliestMs = expiry - askedMs - moment.answeredAtMs - doubt
  const latestMs = expiry - askedMs - moment.sentAtMs + doubt
  if (latestMs < -mostOffMs || earliestMs > mostOffMs) return
  const others = facts.tokenClock.filter((sighting) => sighting.askedMs !== askedMs)
  facts.tokenClock = [...others, { askedMs, earliestMs, latestMs }].slice(-keptSightings)
}

/** The sightings of other lifetimes: they can bear witness to one of this length. */
export function tokenClockWitnesses({ tokenClock }: TargetFacts, askedMs: number): ClockWitness[] {
  return tokenClock.filter((sighting) => Math.abs(sighting.askedMs - askedMs) >= leastDifferenceMs)
}
