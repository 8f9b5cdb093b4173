/** How far a server's clock is ahead of ours, known as an interval that every answer with a Date header narrows. In ms. */
export interface ClockOffset {
  earliestMs: number
  latestMs: number
  /** Every Date header so far named a full minute. */
  onlyMinutes?: true
  /** The Date header names the last full minute, as it did not change for more than a second. */
  ofMinutes?: true
}

/** The Date header has whole seconds: the server's time lies within one of them. */
const dateResolutionMs = 1000
/** A proxy may write the last full minute. */
const minuteMs = 60_000

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
  const within = (resolutionMs: number): ClockOffset => ({
    earliestMs: dateMs - answeredAtMs,
    latestMs: dateMs + resolutionMs - sentAtMs,
  })
  const onlyMinutes = dateMs % minuteMs === 0 && (known === undefined || known.onlyMinutes === true)
  const seen: ClockOffset = { ...within(dateResolutionMs), ...(onlyMinutes ? { onlyMinutes } : {}) }
  if (known === undefined) return seen
  if (known.ofMinutes !== true && common(known, seen) !== undefined) return common(known, seen)
  if (!onlyMinutes) return common(known, seen) ?? seen
  const latestMs = known.ofMinutes === true ? known.latestMs : known.latestMs + minuteMs - dateResolutionMs
  const both = common({ ...known, latestMs }, within(minuteMs))
  return both === undefined ? seen : { ...both, onlyMinutes, ofMinutes: true }
}

/** Where two intervals overlap, with the marks of the second. */
function common(one: ClockOffset, other: ClockOffset): ClockOffset | undefined {
  const earliestMs = Math.max(one.earliestMs, other.earliestMs)
  const latestMs = Math.min(one.latestMs, other.latestMs)
  return earliestMs <= latestMs ? { ...other, earliestMs, latestMs } : undefined
}

/** A smaller step may be drift. */
export const leastJumpMs = 1000

/** By how much the clock was set between two answers, as far as their Date headers show; 0 where they agree. In ms. */
export function jumpMs(known: ClockOffset | undefined, now: ClockOffset | undefined): number {
  if (known === undefined || now === undefined) return 0
  return Math.max(0, now.earliestMs - known.latestMs, known.earliestMs - now.latestMs)
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
