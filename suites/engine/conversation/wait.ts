import { expiryProblem, type StepEnd, stepEnd } from '../judge/judge-step.ts'
import { endOfTimestampsMs, roundingMs } from '../judge/margins.ts'
import type { ProblemFacts } from '../judge/problem.ts'
import { showJson } from '../judge/show-json.ts'
import type { Caller } from './caller.ts'
import { offsetUncertaintyMs } from './clock-offset.ts'
import { serverNow } from './deliver.ts'
import { tokenClockDoubt } from './token-clock.ts'

/** Whether reported times can be judged, because the server's answers carry a Date header that did not jump. */
export function isClockKnown({ facts }: Caller): boolean {
  return facts.offset !== undefined && facts.clockWasSet !== true
}

/** A clock is not moved beyond this: the times of later calls must still have 13 digits. */
const latestTimeMs = endOfTimestampsMs - 366 * 86_400_000

/** Time for a call between the end of an `until` wait and the margin. */
const roomForCallMs = 200

const units: { [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `350ms`, `11m`, `366d` in ms; undefined for a text that is not a duration. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text)
  return match?.[1] === undefined || match[2] === undefined ? undefined : Number(match[1]) * (units[match[2]] ?? 1)
}

export type Wait = string | { past: unknown } | { until: unknown }

/**
 * Waits, or returns why it cannot.
 *
 * @param isRequestedTime the case requested the time; the server did not report it
 */
export async function waitStep(caller: Caller, wait: Wait, isRequestedTime: boolean): Promise<StepEnd | undefined> {
  const { clock, settings } = caller.instance
  if (typeof wait === 'object' && !isRequestedTime && !isClockKnown(caller))
    return stepEnd('not-testable', { kind: 'clock-unknown' })
  const ms = waitMs(caller, wait, isRequestedTime ? { behindMs: 0, aheadMs: 0 } : tokenClockDoubt(caller.facts))
  if (typeof ms === 'object') return stepEnd('blocked', ms)
  if (caller.skipsSessionWaits && typeof wait === 'string') return undefined
  const isTooLong = clock.controlled ? serverNow(caller) + ms > latestTimeMs : ms > settings.maxWaitMs
  if (isTooLong) return stepEnd('not-testable', { kind: 'wait-too-long', waitMs: ms })
  await sleepAs(caller, ms)
  return undefined
}

/** Waits, and announces it, because other cases may run meanwhile. */
async function sleepAs({ caseKey, emit, instance: { clock } }: Caller, ms: number): Promise<void> {
  if (caseKey !== null) emit({ kind: 'wait-started', key: caseKey, untilMs: clock.now() + ms })
  await clock.sleep(ms)
  if (caseKey !== null) emit({ kind: 'wait-ended', key: caseKey })
}

/** How long a wait takes from now, in ms; `past` ends a second after a time on the server's clock, `until` over a second before. */
function waitMs(caller: Caller, wait: Wait, doubt: ReturnType<typeof tokenClockDoubt>): number | ProblemFacts {
  if (typeof wait === 'string') return parseDuration(wait) ?? { kind: 'not-a-duration', got: wait }
  const time = 'past' in wait ? wait.past : wait.until
  if (typeof time !== 'number') return { kind: 'not-a-time', got: showJson(time) }
  // Waiting for a time in the distant past would end at once, and a token that still works would count as a failure.
  const wrong = expiryProblem(time)
  if (wrong !== undefined) return wrong
  const uncertainty = offsetUncertaintyMs(caller.facts.offset)
  const margin =
    'past' in wait
      ? roundingMs + uncertainty + doubt.behindMs
      : -(roundingMs + uncertainty + doubt.aheadMs + Math.max(roomForCallMs, 3 * caller.facts.roundTripMs))
  return Math.max(0, Math.ceil(time + margin - serverNow(caller)))
}

/** More than any uncertainty of clocks and rounding. */
const clearlyBeyondMs = 60_000

/** A lifetime in ms that exceeds that of a refresh token; undefined until a refresh token was granted. */
export function lifeBeyondRefreshMs({ facts }: Caller): number | undefined {
  return facts.refreshLifeMs === undefined ? undefined : facts.refreshLifeMs + clearlyBeyondMs
}

/** The usual number of calls while a token with a requested lifetime is in use. */
const callsInALife = 4

/** How long those calls take at the pace of the target. */
function paceMs({ facts, instance }: Caller): number {
  const { rate } = instance.settings
  const slowest = Math.min(facts.callsPerSecond ?? Number.POSITIVE_INFINITY, rate > 0 ? rate : Number.POSITIVE_INFINITY)
  return Math.ceil((1000 * callsInALife) / slowest)
}

/**
 * A lifetime in ms that leaves time for a call before it ends; longer at every new try. At most half the lifetime of a refresh
 * token, so that the refresh token is still valid when the access token has ended.
 *
 * @param grants how many grants the case makes one after another
 */
export function suitableLifeMs(caller: Caller, attempt: number, grants = 0): number {
  const { facts, instance } = caller
  const distance = (6 + grants) * facts.roundTripMs + 2 * offsetUncertaintyMs(facts.offset) + paceMs(caller)
  const wanted = instance.clock.controlled
    ? 20_000 + 30 * paceMs(caller)
    : Math.ceil(1700 + distance + (2 ** (attempt - 1) - 1) * 1000)
  const { refreshLifeMs = 0 } = facts
  // A refresh token that is granted with an expiry in the past has a wrong expiry, which says nothing about lifetimes.
  return refreshLifeMs > 0 ? Math.min(wanted, Math.floor(refreshLifeMs / 2)) : wanted
}
