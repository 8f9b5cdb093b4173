import { offsetUncertaintyMs } from '../offset.ts'
import { judgedMarginMs } from '../outcome.ts'
import type { Seat } from '../seat.ts'
import { serverNow } from './send.ts'

/** Whether moments of the server's clock mean anything here: it is moved from here, or its answers are dated. */
export function isClockKnown({ instance, knowledge }: Seat): boolean {
  return instance.clock.controlled || knowledge.offset !== undefined
}

/** Room for a call between the end of an `until` wait and the margin. */
const roomForCallMs = 200

const units: { [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `350ms`, `11m`, `366d` in ms; undefined where it is none. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text)
  return match?.[1] === undefined || match[2] === undefined ? undefined : Number(match[1]) * (units[match[2]] ?? 1)
}

export type Wait = string | { past: unknown } | { until: unknown }

/** How long a wait takes from now, in ms; `past` ends a second after a moment of the server's clock, `until` a good second before. */
export function waitMs(seat: Seat, wait: Wait): number | string {
  if (typeof wait === 'string') return parseDuration(wait) ?? `"${wait}" is no duration`
  const moment = 'past' in wait ? wait.past : wait.until
  if (typeof moment !== 'number') return `the moment to wait for is no number: ${JSON.stringify(moment)}`
  const uncertainty = offsetUncertaintyMs(seat.knowledge.offset)
  const margin =
    'past' in wait
      ? judgedMarginMs + uncertainty
      : -(judgedMarginMs + uncertainty + Math.max(roomForCallMs, 3 * seat.knowledge.roundTripMs))
  return Math.max(0, Math.ceil(moment + margin - serverNow(seat)))
}

/** More than any doubt about a clock or a rounding. */
const clearlyBeyondMs = 60_000

/** A lifetime in ms beyond that of a refresh token; undefined until one was granted. */
export function lifeBeyondRefreshMs({ knowledge }: Seat): number | undefined {
  return knowledge.refreshLifeMs === undefined ? undefined : knowledge.refreshLifeMs + clearlyBeyondMs
}

/** A lifetime in ms that leaves room for a call on this side of its end; longer at every new try. */
export function suitableLifeMs(seat: Seat, attempt: number): number {
  if (seat.instance.clock.controlled) return 20_000
  const distance = 6 * seat.knowledge.roundTripMs + 2 * offsetUncertaintyMs(seat.knowledge.offset)
  return Math.ceil(1500 + distance + attempt * 1000)
}
