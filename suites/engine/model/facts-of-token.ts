/** Parts 3, 5.3 and 5.4: whether a token is valid. */
import { memberOf, no, sideOf, unsure, wordsBehind, yes } from './fact.ts'
import { saidOf } from './session-tables.ts'
import { looksOf, slackMs } from './spelling.ts'
import type { Fact, Pair, Span, State } from './types.ts'

/**
 * After this many newer tokens of one key, or of all keys, an older one may have ended: how many tokens may live at once is open
 * (limits/live-tokens). Sixteen sessions may live, so the tokens of a session are safe for longer.
 */
const safeNewer = { ofKey: 2, ofKeyInSessions: 15, ofAll: 40 }
/** A session may end before its tokens; within this it never does. */
const safeSessionMs = 10_000
/** The refresh lifetime may differ from grant to grant, so only this part of it is counted on. */
const safeLifetime = 0.9

interface FoundPair {
  readonly pair: Pair
  /** False: another spelling of the token, which may be the same to a server. */
  readonly exact: boolean
}

/** The pair that a text may stand for. */
export function findPair(state: State, text: string, which: 'access' | 'refresh'): FoundPair | undefined {
  const exact = state[which].get(text)
  const pair = exact === undefined ? undefined : state.pairs.get(exact)
  if (pair !== undefined) return { pair, exact: true }
  for (const look of looksOf(text)) {
    const other = state.pairs.get(state.looks.get(`${which} ${look}`) ?? -1)
    if (other !== undefined) return { pair: other, exact: false }
  }
  // Whether a token with something appended works is open, too (tokens/spelling).
  for (const length of state.tokenLengths) {
    if (length < shortestToken || length > text.length) continue
    const longer = state.pairs.get(state[which].get(text.slice(0, length)) ?? -1)
    if (longer !== undefined) return { pair: longer, exact: false }
  }
  return undefined
}

/** Shorter tokens may begin another one by chance. */
const shortestToken = 12

/** Every fact on which an access token rests, the scope apart. */
export function accessFacts(state: State, token: string, from: string, span: Span): Fact[] {
  const found = findPair(state, token, 'access')
  if (found === undefined) {
    const other = findPair(state, token, 'refresh')
    return [no(other === undefined ? 'tokens/authorize' : 'tokens/refresh-is-no-access')]
  }
  const { pair } = found
  return [
    found.exact ? yes('tokens/authorize') : unsure('tokens/exact'),
    ...standingFacts(state, pair, span),
    standingFact(pair, 'refresh/revokes-access'),
    accessExpiryFact(pair, span),
    sessionFact(state, pair, span, 'sessions/oldest-removed'),
    addressFact(pair, from),
  ]
}

/** Every fact on which a refresh rests. */
export function refreshFacts(state: State, token: string, from: string, span: Span): Fact[] {
  const found = findPair(state, token, 'refresh')
  if (found === undefined) {
    const other = findPair(state, token, 'access')
    return [no(other === undefined ? 'refresh/token' : 'tokens/access-is-no-refresh')]
  }
  const { pair } = found
  const addresses = wordsBehind(pair.scope, 'ipAddr:')
  const ended = pair.accessEnds !== null && sideOf(span, pair.accessEnds, slackMs) !== 'before'
  return [
    found.exact ? yes('refresh/new-pair') : unsure('refresh/token'),
    ...standingFacts(state, pair, span),
    standingFact(pair, 'refresh/revokes-refresh'),
    refreshExpiryFact(pair, span),
    sessionFact(state, pair, span, 'sessions/removed-refresh'),
    // Whether a refresh is bound to the address is open.
    ...(addresses.length === 0 || addresses.includes(from) ? [] : [unsure('refresh/address-kept')]),
    ...(ended ? [yes('refresh/after-access-expiry')] : []),
  ]
}

/**
 * Whether the key of the pair works, and whether a limit on live tokens may have ended this one. What becomes of the tokens of a disabled or
 * deleted key is open.
 */
function standingFacts(state: State, pair: Pair, span: Span): Fact[] {
  const key = state.keys.get(pair.key)
  const newer = (state.grants.get(pair.key) ?? 0) - pair.countOfKey
  const newerOfAll = (state.grants.get('') ?? 0) - pair.countOfAll
  const isInSession = wordsBehind(pair.scope, 'session:').length > 0
  const safe = isInSession ? safeNewer.ofKeyInSessions : (state.terms.liveTokens ?? safeNewer.ofKey)
  const crowded = newer > safe || (newerOfAll > safeNewer.ofAll && span.to - pair.made.to > 2000)
  return [
    ...(key === undefined || key.works === 'unknown' || key.ended !== undefined
      ? [unsure('keys/created-key-works')]
      : []),
    ...(crowded ? [unsure('tokens/authorize')] : []),
  ]
}

/** refresh/revokes-access, refresh/revokes-refresh: a refreshed pair is revoked. */
function standingFact(pair: Pair, requirement: string): Fact {
  if (pair.standing === 'dead') return no(requirement)
  if (pair.standing === 'unknown') return unsure('refresh/new-pair')
  return pair.generation === 0 ? yes('tokens/authorize') : yes('refresh/new-pair', `${Math.min(pair.generation, 4)}`)
}

/** tokens/expire, expires-in/enforced. */
function accessExpiryFact(pair: Pair, span: Span): Fact {
  const asked = wordsBehind(pair.scope, 'expiresIn:').length > 0
  const requirement = asked && pair.generation === 0 ? 'expires-in/enforced' : 'tokens/expire'
  if (pair.accessEnds === null) return unsure(requirement)
  const side = sideOf(span, pair.accessEnds, slackMs)
  if (side === 'near') return unsure(requirement)
  return side === 'before' ? yes(requirement) : no(requirement)
}

/** refresh/own-expiry. */
function refreshExpiryFact(pair: Pair, span: Span): Fact {
  const { refreshEnds, made } = pair
  if (refreshEnds === null) return yes('refresh/own-expiry')
  const counted = made.from + (refreshEnds.from - made.from) * safeLifetime
  if (span.to < counted) return yes('refresh/own-expiry')
  return sideOf(span, refreshEnds, slackMs) === 'after' ? no('refresh/own-expiry') : unsure('refresh/own-expiry')
}

/** sessions/…: the facts on which the tables of all readings agree. */
function sessionFact(state: State, pair: Pair, span: Span, requirement: string): Fact {
  const member = memberOf(state, pair)
  const said = saidOf(state.sessions, member)
  const kept = pair.generation > 0 && requirement === 'sessions/oldest-removed' ? 'refresh/session-kept' : requirement
  if (said.size === 1 && said.has('dead')) return no(kept)
  if (said.size !== 1 || said.has('unknown')) return unsure('sessions/sixteen-live')
  if (member.name === null) return yes('tokens/authorize')
  const fresh = span.to - pair.made.from < safeSessionMs
  return fresh ? yes(pair.generation > 0 ? 'refresh/session-kept' : 'sessions/created') : unsure('sessions/created')
}

/** Addresses that no caller has, and those of a documentation network: ours is surely none of them. */
const isOfNobody = (address: string): boolean => /^(203\.0\.113\.\d+|0\.0\.0\.0|255\.255\.255\.255)$/.test(address)

/** addresses/bound; after a refresh refresh/address-kept. @param from the caller's address as the server sees it; empty where that is not known */
function addressFact(pair: Pair, from: string): Fact {
  const addresses = wordsBehind(pair.scope, 'ipAddr:')
  const requirement = pair.generation > 0 ? 'refresh/address-kept' : 'addresses/bound'
  if (addresses.length === 0) return yes('tokens/authorize')
  if (addresses.length > 1 && addresses.includes(from)) return unsure(requirement)
  if (addresses.includes(from)) return yes(requirement)
  if (from === '' && !addresses.every(isOfNobody)) return unsure(requirement)
  return addresses.every((address) => /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/.test(address))
    ? no(requirement)
    : unsure(requirement)
}
