/**
 * The age of sessions (part 2). What makes one the oldest is open: its creation, its last refresh or its last use, perhaps noted in coarse steps
 * of time, with one of these where others are equal. So one is surely older than another only in all three ways.
 */
import type { Span } from './span.ts'
import { slackMs } from './spelling.ts'

export interface Age {
  readonly created: Span
  /** A creation counts as the first refresh and the first use, and a refresh as a use. */
  readonly refreshed: Span
  readonly used: Span
}

/** perhaps used: a call with its token was refused for another reason, and whether it counts as a use is open. */
export type Touch = 'used' | 'perhaps used' | 'refreshed'

export const begunAt = (when: Span): Age => ({ created: when, refreshed: when, used: when })

/** What may have been no use leaves open when the session was used last. */
export function touchedAt({ used }: Age, how: Touch, when: Span): Partial<Age> {
  if (how === 'refreshed') return { refreshed: when, used: when }
  return { used: how === 'used' ? when : { from: used.from, to: when.to } }
}

/** Whether one was created, refreshed and used before another. */
const isSurelyOlder = (one: Age, other: Age): boolean =>
  one.created.to + slackMs < other.created.from &&
  one.refreshed.to + slackMs < other.refreshed.from &&
  one.used.to + slackMs < other.used.from

/** Returns the live sessions that may be the oldest of those that are left. */
export function mayBeOldest<One extends Age>(live: readonly One[], doubtful: readonly One[]): One[] {
  return live.filter(
    (session) =>
      !live.some((other) => isSurelyOlder(other, session)) &&
      // Any doubtful one may be the one that is left.
      (doubtful.length === 0 || !doubtful.every((other) => isSurelyOlder(other, session))),
  )
}
