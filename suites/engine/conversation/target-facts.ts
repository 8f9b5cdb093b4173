/** What a run learns about its target, and the functions by which answers change it: clocks, tokens, sessions, patience. */

import { membersOf } from '../json.ts'
import type { JunkControl } from '../judge/judge-case.ts'
import type { ProblemFacts, SecondAddressProblem } from '../judge/problem.ts'
import type { TargetSettings, WireAnswer } from '../target.ts'

/** What a run learns about its target before and during the cases. JSON only, because it is copied as JSON. */
export interface TargetFacts extends JunkControl, Availability {
  offset?: ClockOffset
  /** How far the Date header is ahead of the clock by which signatures are judged, if it is so wrong that it is ignored. In ms. */
  wrongDateMs?: number
  /** How often the server's clock jumped. */
  clockJumps: number
  /** The Date header jumped so far that no time is judged by it any more. */
  clockWasSet?: true
  /** How far the clock of reported expiries is ahead of the one in the Date header, seen from granted lifetimes. */
  tokenClock: { requestedMs: number; earliestMs: number; latestMs: number }[]
  roundTripMs: number
  /** The pace that the target accepts, if it throttled the run. */
  callsPerSecond?: number
  /** How long the slowest accepted call took. */
  slowestAcceptedMs: number
  /** How many calls that must be refused were never answered. */
  silences: number
  /** The word before a token; undefined until a token was accepted. */
  tokenPrefix?: string
  /** Why no token can be sent: no known prefix works, or the given one does not. */
  tokenWord?: Extract<ProblemFacts, { kind: 'no-token-word' }>['because']
  /** A grant without a session ends the previous one, or repeats its pair, so each grant gets its own session. */
  unnamedReplaced?: true
  /** Whether a grant without a session takes a place among the sessions; undefined until a case showed it. */
  unnamedTakePlaces?: boolean
  /** Whether the sessions of each key are counted separately, not those of all keys together; undefined until a case showed it. */
  sessionsPerKey?: boolean
  /** How many sessions the target granted in this run. */
  sessionsGranted?: number
  /** The target cannot order sessions that were created at nearly the same time. */
  needsSessionWaits?: true
  /** How the root key was first accepted; `{ key: … }` authorizes a key with a secret in this way. */
  keyWay?: 'basic' | 'hmac'
  /** The spelling of the scope that opens manager/createApiKey. */
  apikey: string
  /** Words that the scope of a created key must not contain, because the target refuses them. */
  keysWithout: string[]
  /** Kinds of authorization with which every scope list was refused. */
  keyScopesTried: string[]
  /** How long a refresh token lives, seen on the first grant. */
  refreshLifeMs?: number
  /** The second local address, if calls from it work. */
  secondAddress?: string
  /** Why the given second address cannot be used. */
  secondAddressProblem?: SecondAddressProblem
  /** Our address as the server sees it. */
  clientAddress?: string
  /** It compares the IPv4-mapped form of our addresses, such as ::ffff:127.0.0.1. */
  mapsAddresses?: true
}

/** The word before a token: as the user gives it, else as the preflight found it; null if no word is known. */
export function wordOfTokens(settings: Pick<TargetSettings, 'tokenPrefix'>, facts: TargetFacts): string | null {
  return settings.tokenPrefix ?? facts.tokenPrefix ?? null
}

/** What is known before the first call. */
export function noFacts(): TargetFacts {
  return {
    clockJumps: 0,
    tokenClock: [],
    roundTripMs: 0,
    slowestAcceptedMs: 0,
    silences: 0,
    unavailableInVain: 0,
    lostInVain: 0,
    apikey: 'apikey',
    keysWithout: [],
    keyScopesTried: [],
    junkTaken: [],
  }
}

/** How far a server's clock is ahead of ours, known as an interval that every answer with a Date header narrows. In ms. */
interface ClockOffset {
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
  const dateMs = timeOfDate(date)
  if (Number.isNaN(dateMs)) return known
  const within = (resolutionMs: number): ClockOffset => ({
    earliestMs: dateMs - answeredAtMs,
    latestMs: dateMs + resolutionMs - sentAtMs,
  })
  // Most answers show nothing new.
  const isWithin = known !== undefined && known.earliestMs >= dateMs - answeredAtMs
  if (isWithin && !known.onlyMinutes && known.latestMs <= dateMs + dateResolutionMs - sentAtMs) return known
  const onlyMinutes = dateMs % minuteMs === 0 && (known === undefined || known.onlyMinutes === true)
  const seen: ClockOffset = { ...within(dateResolutionMs), ...(onlyMinutes ? { onlyMinutes } : {}) }
  if (known === undefined) return seen
  if (known.ofMinutes !== true && common(known, seen) !== undefined) return common(known, seen)
  if (!onlyMinutes) return common(known, seen) ?? seen
  const latestMs = known.ofMinutes === true ? known.latestMs : known.latestMs + minuteMs - dateResolutionMs
  const both = common({ ...known, latestMs }, within(minuteMs))
  return both === undefined ? seen : { ...both, onlyMinutes, ofMinutes: true }
}

/** Most answers of a second carry the same date. */
let lastDate = { date: '', ms: Number.NaN }

function timeOfDate(date = ''): number {
  // A proxy may add a second Date header; the first one counts.
  if (date !== lastDate.date) lastDate = { date, ms: Date.parse(date.match(/^.*?GMT/)?.[0] ?? date) }
  return lastDate.ms
}

/** Where two intervals overlap, with the marks of the second. */
function common(one: ClockOffset, other: ClockOffset): ClockOffset | undefined {
  const earliestMs = Math.max(one.earliestMs, other.earliestMs)
  const latestMs = Math.min(one.latestMs, other.latestMs)
  return earliestMs <= latestMs ? { ...other, earliestMs, latestMs } : undefined
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

/** Grants without a session take no places and do not end each other, so any number of them may be made. */
export function unnamedAreFree({ unnamedTakePlaces, unnamedReplaced }: TargetFacts): boolean {
  return unnamedTakePlaces === false && unnamedReplaced !== true
}

/** Whether the params of a grant request a session. */
export function requestsSession(params: unknown): params is { scope: unknown[] } {
  const { scope } = membersOf(params)
  return Array.isArray(scope) && scope.some((word) => String(word).startsWith('session:'))
}

// What stands in front of a service (a proxy, a load balancer) answers in its place while it restarts or is
// overloaded: 502, 503 or 504 without a JSON-RPC error. Such a call is repeated, unless this is how the target
// answers: after a few that no repetition changed, no call is repeated.

/** What a run learned about such answers. */
interface Availability {
  /** How many calls in a row were answered in this way, and no repetition changed that. */
  unavailableInVain: number
  /** The same for calls that got no answer at all. */
  lostInVain: number
}

/** Whether an answer with this status may come from something in front of the service. */
export const isUnavailable = (status: number | null): boolean => status === 502 || status === 503 || status === 504
/** After this number of calls in a row that no repetition changed, no call is repeated. */
const mostInARow = 3

/**
 * Whether a broken answer with this status is worth a repetition.
 *
 * @param changes whether the call may change the state of the target. Behind a 502 or a 504 it may have been made; a 503 says that it was not
 */
export function isWorthRepeating(
  { unavailableInVain }: Availability,
  status: number | null,
  changes: boolean,
): boolean {
  return unavailableInVain < mostInARow && isUnavailable(status) && (status === 503 || !changes)
}

/** Remembers whether repeating a call helped. @param helped `never`: no call is repeated from now on, unless a repetition helps */
export function noteRepeated(seen: Availability, helped: boolean | 'never'): void {
  seen.unavailableInVain = helped === 'never' ? mostInARow : helped ? 0 : seen.unavailableInVain + 1
}

/** Whether calls whose answer was lost are worth a repetition: not where this is how the target answers. */
export const mayBeLost = ({ lostInVain }: Availability): boolean => lostInVain < mostInARow

/** Remembers whether repeating a call without an answer helped. */
export function noteLost(seen: Availability, helped: boolean): void {
  seen.lostInVain = helped ? 0 : seen.lostInVain + 1
}

// How long to wait for the answer to a call that must be refused: some servers refuse by not answering.

type Knowing = { facts: TargetFacts }

/** After this many unanswered refusals, later calls wait only as long as accepted calls suggest. */
const silencesToLearn = 3
const timesSlowestAccepted = 10
const leastPatienceMs = 1000

/** Remembers a call that was never answered. */
export function noteSilence({ facts }: Knowing, wire: WireAnswer): void {
  if (wire.kind === 'none' && wire.timedOut === true) facts.silences += 1
}

/** How long a refusal may take, in ms; undefined: as long as any call. */
export function patienceForRefusalMs({ facts }: Knowing): number | undefined {
  if (facts.silences < silencesToLearn) return undefined
  return Math.max(leastPatienceMs, timesSlowestAccepted * facts.slowestAcceptedMs)
}
