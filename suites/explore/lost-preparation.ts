/** Tells why a call had to be refused that a case needed accepted: the model's judgement of this one call. */

import type { LostPreparation } from '../engine/judge/problem.ts'
import { authorizationOf, facts } from '../engine/model/facts.ts'
import { newerSessions, presentedToken } from '../engine/model/learn.ts'
import { isObject, readBody } from '../engine/model/parse.ts'
import type { Span } from '../engine/model/sessions.ts'
import type { Call, Fact, Pair, State } from '../engine/model/state.ts'

/** Uses of longer tokens are not remembered, because a hostile server may send megabytes. */
export const longestToken = 4096

/** A refused call, what was known before it, and when each token was used last without a refusal, in ms on our clock. */
export interface RefusedCall {
  readonly call: Call
  readonly span: Span
  readonly state: State
  /** How many calls with its key were refused before it, one after another; 0 for a call with a token. */
  readonly refusedBefore: number
  readonly lastUsesMs: ReadonlyMap<string, number>
}

/**
 * @param pair whose token was sent
 * @returns undefined unless it is certain from accepted calls alone; so a server that breaks a rule is not excused by what it broke: a
 * token that it issued twice, or an expiry that had passed when it was reported
 */
export function lostPreparation(refused: RefusedCall, pair: Pair): LostPreparation | undefined {
  const { state, call, span } = refused
  if (isIssuedTwice(state, pair)) return undefined
  for (const fact of facts(state, call, span)) {
    const loss = fact.is === 'no' ? lossBy(fact, pair, span) : undefined
    if (loss !== undefined) return loss
  }
  const newer = newerSessions(state, pair, lastUseMs(refused, pair))
  if (newer === undefined) return undefined
  const requirement = tokenIn(state, call) === pair.refresh ? 'sessions/removed-refresh' : 'sessions/oldest-removed'
  return { kind: 'session-removed', requirement, newer }
}

/** The pair whose token a call sent, exactly as it was issued. */
export function pairSent({ state, call }: RefusedCall): Pair | undefined {
  const text = tokenIn(state, call)
  return text === undefined ? undefined : pairOf(state, text)
}

/** The access token that authorizes a call, or the refresh token in its params. */
function tokenIn(state: State, call: Call): string | undefined {
  const { method, params } = readBody(call.body)
  if (method === 'manager/auth') return isObject(params) ? presentedToken(params) : undefined
  const auth = authorizationOf(state, call)
  return auth.kind === 'token' ? auth.token : undefined
}

const pairOf = ({ pairs, access, refresh }: State, text: string): Pair | undefined =>
  pairs.get(access.get(text) ?? refresh.get(text) ?? -1)

function lossBy({ requirement }: Fact, pair: Pair, span: Span): LostPreparation | undefined {
  switch (requirement) {
    case 'refresh/revokes-access':
    case 'refresh/revokes-refresh':
      return { kind: 'pair-refreshed', requirement }
    case 'sessions/oldest-removed':
    case 'sessions/removed-refresh':
    case 'refresh/session-kept':
      return { kind: 'session-removed', requirement }
    case 'expires-in/enforced':
    case 'tokens/expire':
      return expired(requirement, pair, pair.accessEnds, span)
    case 'refresh/own-expiry':
      return expired(requirement, pair, pair.refreshEnds, span)
    default:
      return undefined
  }
}

function expired(requirement: string, { made }: Pair, ends: Span | null, { from }: Span): LostPreparation | undefined {
  if (ends === null || ends.from <= made.to) return undefined
  return { kind: 'token-expired', requirement, agoMs: from - ends.to }
}

function isIssuedTwice({ pairs }: State, { access, refresh }: Pair): boolean {
  const texts = pairs.keys().flatMap((index) => {
    const pair = pairs.get(index)
    return pair === undefined ? [] : [pair.access, pair.refresh]
  })
  return [access, refresh].some((own) => texts.filter((text) => text === own).length > 1)
}

function lastUseMs({ state, lastUsesMs }: RefusedCall, { line }: Pair): number {
  const pairs = (state.lines.get(line) ?? []).flatMap((index) => state.pairs.get(index) ?? [])
  const texts = pairs.flatMap(({ access, refresh }) => [access, refresh])
  // Perhaps just now.
  if (texts.some(({ length }) => length > longestToken)) return Number.POSITIVE_INFINITY
  return Math.max(...texts.map((text) => lastUsesMs.get(text) ?? 0))
}
