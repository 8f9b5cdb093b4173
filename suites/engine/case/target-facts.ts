import type { JunkControl } from '../judge/junk-control.ts'
import type { SecondAddressProblem, TokenWord } from '../judge/problem.ts'
import type { ClockOffset } from './clock-offset.ts'

/** What a run learned about its target before the cases, and narrows while they run. JSON only: it crosses to the workers. */
export interface TargetFacts extends JunkControl {
  offset?: ClockOffset
  /** How often the server's clock was seen to step. */
  clockJumps: number
  /** What granted lifetimes say of the clock that expiries are reported by, against the one that the Date header tells. */
  tokenClock: { askedMs: number; earliestMs: number; latestMs: number }[]
  roundTripMs: number
  /** The pace that the target bears, where it asked to wait. */
  callsPerSecond?: number
  /** How long the slowest accepted call took. */
  slowestAcceptedMs: number
  /** How many calls that must be refused were never answered. */
  silences: number
  /** The word before a token; undefined until a token was accepted. */
  tokenPrefix?: string
  /** No known word before a token works, or the word that was given does not. */
  tokenWord?: TokenWord
  /** A grant without a session ends the one before it: then each grant gets a session of its own. */
  unnamedReplaced?: true
  /** How the root key was accepted first; `{ key: … }` calls with a secret in this way. */
  keyWay?: 'basic' | 'hmac'
  /** The spelling of the scope that opens manager/createApiKey. */
  apikey: string
  /** Words that must not stand in the scope of a created key: the target refuses a list that has them. */
  keysWithout: string[]
  /** Ways of authorization in which every list was refused. */
  keyScopesTried: string[]
  /** How long a refresh token lives, seen on the first grant. */
  refreshLifeMs?: number
  /** The second local address can be called from. */
  secondAddress?: string
  /** Why the second address that was named is of no use. */
  secondAddressProblem?: SecondAddressProblem
  /** Our address as the server sees it. */
  clientAddress?: string
}

export function noFacts(): TargetFacts {
  return {
    clockJumps: 0,
    tokenClock: [],
    roundTripMs: 0,
    slowestAcceptedMs: 0,
    silences: 0,
    apikey: 'apikey',
    keysWithout: [],
    keyScopesTried: [],
    junkTaken: [],
  }
}
