/** How far a server's clock is ahead of ours, known as an interval that every answer with a Date header narrows. In ms. */
export interface ClockOffset {
  earliestMs: number
  latestMs: number
}

/** The Date header has whole seconds: the server's time lies within one of them. */
const dateResolutionMs = 1000

/**
 * @param known what was known before, if anything
 * @param date the Date header of an answer
 * @param sentAtMs and answeredAtMs: our clock around the call
 * @returns what is known now; after a jump of the clock (the ranges do not overlap) only what this answer shows
 */
export function narrowOffset(
  known: ClockOffset | undefined,
  date: string | undefined,
  sentAtMs: number,
  answeredAtMs: number,
): ClockOffset | undefined {
  // A proxy may add a second Date header; the first one counts.
  const dateMs = Date.parse(date?.match(/^.*?GMT/)?.[0] ?? date ?? '')
  if (Number.isNaN(dateMs)) return known
  const seen = { earliestMs: dateMs - answeredAtMs, latestMs: dateMs + dateResolutionMs - sentAtMs }
  if (known === undefined) return seen
  const both = {
    earliestMs: Math.max(known.earliestMs, seen.earliestMs),
    latestMs: Math.min(known.latestMs, seen.latestMs),
  }
  return both.earliestMs <= both.latestMs ? both : seen
}

/** A smaller step may be drift. */
const leastJumpMs = 1000

/** Whether the clock was set between two answers, as far as their Date headers show. */
export function hasJumped(known: ClockOffset | undefined, now: ClockOffset | undefined): boolean {
  if (known === undefined || now === undefined) return false
  return Math.max(now.earliestMs - known.latestMs, known.earliestMs - now.latestMs) > leastJumpMs
}

/** The offset to calculate with: 0 if that is possible, otherwise the middle of the interval. */
export function offsetMs(known: ClockOffset | undefined): number {
  if (known === undefined) return 0
  const { earliestMs, latestMs } = known
  if (earliestMs <= 0 && latestMs >= 0) return 0
  return Math.round((earliestMs + latestMs) / 2)
}

/**
 * The offset to sign with: the earliest possible, because a server may refuse a signature from the future and accept one that is a second
 * old.
 */
export function signingOffsetMs(known: ClockOffset | undefined): number {
  return Math.floor(known?.earliestMs ?? 0)
}

/** By how much offsetMs may be wrong. */
export function offsetUncertaintyMs(known: ClockOffset | undefined): number {
  if (known === undefined) return 0
  const used = offsetMs(known)
  return Math.ceil(Math.max(used - known.earliestMs, known.latestMs - used))
}
