import type { JunkControl } from '../judge/junk-control.ts'
import type { SecondAddressProblem, TokenWord } from '../judge/problem.ts'
import type { TargetSettings } from '../target.ts'
import type { ClockOffset } from './clock-offset.ts'
import type { Availability } from './unavailable.ts'

/** What a run learns about its target before and during the cases. JSON only, because it is sent to the workers. */
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
  tokenWord?: TokenWord
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
    apikey: 'apikey',
    keysWithout: [],
    keyScopesTried: [],
    junkTaken: [],
  }
}
