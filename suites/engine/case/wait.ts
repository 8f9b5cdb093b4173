import { judgedMarginMs } from '../judge/outcome.ts'
import type { Client } from './client.ts'
import { offsetUncertaintyMs } from './clock-offset.ts'
import { serverNow } from './deliver.ts'

/** Whether moments of the server's clock mean anything here: it is moved from here, or its answers are dated. */
export function isClockKnown({ instance, facts }: Client): boolean {
  return instance.clock.controlled || facts.offset !== undefined
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
export function waitMs(client: Client, wait: Wait): number | string {
  if (typeof wait === 'string') return parseDuration(wait) ?? `"${wait}" is no duration`
  const moment = 'past' in wait ? wait.past : wait.until
  if (typeof moment !== 'number') return `the moment to wait for is no number: ${JSON.stringify(moment)}`
  const uncertainty = offsetUncertaintyMs(client.facts.offset)
  const margin =
    'past' in wait
      ? judgedMarginMs + uncertainty
      : -(judgedMarginMs + uncertainty + Math.max(roomForCallMs, 3 * client.facts.roundTripMs))
  return Math.max(0, Math.ceil(moment + margin - serverNow(client)))
}

/** More than any doubt about a clock or a rounding. */
const clearlyBeyondMs = 60_000

/** A lifetime in ms beyond that of a refresh token; undefined until one was granted. */
export function lifeBeyondRefreshMs({ facts }: Client): number | undefined {
  return facts.refreshLifeMs === undefined ? undefined : facts.refreshLifeMs + clearlyBeyondMs
}

/**
 * A lifetime in ms that leaves room for a call on this side of its end; longer at every new try. At most half of what a refresh
 * token has, so that one is still good when the access token has ended.
 */
export function suitableLifeMs(client: Client, attempt: number): number {
  const { facts, instance } = client
  const distance = 6 * facts.roundTripMs + 2 * offsetUncertaintyMs(facts.offset)
  const wanted = instance.clock.controlled ? 20_000 : Math.ceil(1500 + distance + attempt * 1000)
  const { refreshLifeMs = 0 } = facts
  // A refresh token that is over when it is granted has a wrong expiry, which says nothing about lifetimes.
  return refreshLifeMs > 0 ? Math.min(wanted, Math.floor(refreshLifeMs / 2)) : wanted
}

/** Why no lifetime of so many ms may be expected: a refresh token has hardly more, or less. */
export function whyLifeTooLong({ facts }: Client, lifeMs: number): string | undefined {
  const { refreshLifeMs = 0 } = facts
  // Its own expiry may be rounded, and so may the clock by which it was measured.
  if (refreshLifeMs === 0 || lifeMs + 2 * judgedMarginMs < refreshLifeMs) return undefined
  const seconds = Math.round(refreshLifeMs / 1000)
  return `expiresIn:${lifeMs} is more than the target must take: its refresh tokens live for about ${seconds} s`
}
