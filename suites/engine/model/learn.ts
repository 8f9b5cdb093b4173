/** Learns from answers. Every function takes a state and returns the next one. */

import { sessionLimit } from '../document.ts'
import { publicKeyFromPem } from '../signer/pem.ts'
import { lifetimeOf, memberOf, nameOf } from './fact.ts'
import { authorizationOf, facts, kindOfBody, scopeOfCaller } from './facts.ts'
import { findPair } from './facts-of-credentials.ts'
import { beyondCreator, longestKeptMs } from './facts-of-params.ts'
import { judge } from './judge.ts'
import { isObject, isStrings, type JsonObject, type ReadBody, readBody } from './parse.ts'
import { addSession, forgetSessionsOf, observeAll, type Span, type Touch, touchAll, touchSession } from './sessions.ts'
import { looksOf, slackMs } from './spelling.ts'
import type { Answer, Call, Fact, Key, Misuse, Pair, State, Verdict } from './state.ts'

/** The state after a call was answered. `known` may be given where it was computed before. */
// biome-ignore lint/complexity/useMaxParams: the fifth is there for speed only
export function learn(
  state: State,
  call: Call,
  answer: Answer,
  span: Span,
  known: readonly Fact[] = facts(state, call, span),
): State {
  const verdict = judge(state, known)
  const body = readBody(call.body)
  const noted = noteNonce(state, call)
  if (answer.kind === 'accepted') return accepted(noted, { call, body, span, known, verdict, result: answer.result })
  if (answer.kind === 'refused') return refused(noted, { call, body, span, known, verdict })
  return lost(withTry(noted, keyIdOf(noted, call, body)), body, span)
}

interface Learnt {
  readonly call: Call
  readonly body: ReadBody
  readonly span: Span
  readonly known: readonly Fact[]
  readonly verdict: Verdict
}

function accepted(state: State, seen: Learnt & { result: unknown }): State {
  const { call, body, known, verdict, span } = seen
  const shown = verdict.is === 'refused' ? [] : known.map(nameOf).filter((name) => !state.shown.has(name))
  const kind = kindOfBody(body)
  const larger = body.bytes > (state.sizes.get(kind) ?? 1024)
  const next: State = {
    ...state,
    ...(shown.length > 0 ? { shown: new Set([...state.shown, ...shown]) } : {}),
    ...(larger ? { sizes: new Map(state.sizes).set(kind, body.bytes) } : {}),
    ...(state.wrongTries.size > 0 ? { wrongTries: cleared(state, keyIdOf(state, call, body)) } : {}),
  }
  if (body.method === 'manager/auth')
    return letIn(learnPair(next, body.params, seen.result, span), keyIdOf(state, call, body))
  const used = useAccess(next, seen, 'accepted')
  const proved = letIn(used, keyIdOf(state, call, body))
  return body.method === 'manager/createApiKey' ? learnKey(proved, call, body.params, seen.result) : proved
}

function refused(state: State, seen: Learnt): State {
  const { call, body, known, verdict } = seen
  const id = keyIdOf(state, call, body)
  const named = body.method === 'manager/createApiKey' ? withKeyName(state, body.params) : state
  const tries = verdict.is === 'accepted' || isRightKey(seen) ? named : withTry(named, id)
  if (body.method !== 'manager/auth') return withMisuse(useAccess(tries, seen, 'refused'), call, known)
  const refresh = refreshed(tries, body)
  if (refresh === undefined) return withMisuse(tries, call, known)
  if (refresh.standing === 'dead') return withReuse(tries, refresh)
  return verdict.is === 'accepted' ? withStanding(tries, refresh, 'unknown') : tries
}

/** A call that is refused for its body or its scope is not an attempt to guess a secret. */
const isRightKey = ({ verdict, known }: Learnt): boolean =>
  verdict.is === 'refused' &&
  known.every(({ is, requirement }) => is !== 'no' || /^(envelope|scopes|keys|limits)\//.test(requirement))

/** A server may lock a key after wrong attempts. */
function withTry(state: State, id: string | undefined): State {
  if (id === undefined || !state.keys.has(id)) return state
  return { ...state, wrongTries: new Map(state.wrongTries).set(id, (state.wrongTries.get(id) ?? 0) + 1) }
}

/** How late a lost call may take effect. */
const lateMs = 10_000

/** After a broken answer, the call may have taken effect. */
function lost(state: State, body: ReadBody, { from, to }: Span): State {
  if (body.method === 'manager/createApiKey') return { ...withKeyName(state, body.params), created: state.created + 1 }
  if (body.method !== 'manager/auth' || !isObject(body.params)) return state
  const pair = refreshed(state, body)
  if (pair !== undefined) return { ...doubtLine(state, pair.line), grants: oneMore(state, pair.key) }
  const { apiKeyId, scope } = body.params
  if (typeof apiKeyId !== 'string' || !isStrings(scope)) return state
  const member = memberOf(state, { key: apiKeyId, line: -1, scope })
  return {
    ...state,
    grants: oneMore(state, apiKeyId),
    sessionNames: withName(state, member.name),
    sessions: state.sessions.map((table) => forgetSessionsOf(table, member, { from, to: to + lateMs })),
  }
}

/** Nothing is known about any user's sessions until new ones remove all others. */
export function forgetSessions(state: State, span: Span): State {
  let { sessions } = state
  for (const { id } of state.keys.values()) {
    const member = memberOf(state, { key: id, line: -1, scope: ['session:unknown'] })
    sessions = sessions.map((table) => forgetSessionsOf(table, member, span))
  }
  return { ...state, sessions }
}

/** The pair whose refresh token a grant presents. */
function refreshed(state: State, body: ReadBody): Pair | undefined {
  const presented = isObject(body.params) ? presentedToken(body.params) : undefined
  return presented === undefined ? undefined : findPair(state, presented, 'refresh')?.pair
}

/** Learns from the answer to an access token: whether its session lives, and whether the pair is valid. */
function useAccess(state: State, { call, known, verdict, span }: Learnt, how: 'accepted' | 'refused'): State {
  const auth = authorizationOf(state, call)
  const pair = auth.kind === 'token' ? findPair(state, auth.token, 'access')?.pair : undefined
  if (pair === undefined) return state
  const others = known.filter((fact) => !isOfSession(fact))
  if (how === 'refused') {
    const onlySession = others.every(({ is }) => is === 'yes')
    if (onlySession && verdict.is !== 'accepted') return observed(state, pair, 'dead', span)
    // This contradicts every reading, so the pair is unknown, and nothing follows about its session.
    if (verdict.is === 'accepted') return withStanding(state, pair, 'unknown')
    return others.every(mayBeUse) ? touched(state, pair, 'perhaps used', span) : state
  }
  const seen = observed(state, pair, 'live', span)
  // A revoked pair was accepted, so nothing follows from it.
  return withStanding(touched(seen, pair, 'used', span), pair, pair.standing === 'dead' ? 'unknown' : 'newest')
}

/** A token that is refused for its scope, or for what is called, may count as used. */
const mayBeUse = ({ is, requirement }: Fact): boolean =>
  is !== 'no' || /^(envelope|scopes|keys|limits|addresses)\//.test(requirement)

const touched = (state: State, pair: Pair, how: Touch, span: Span): State => ({
  ...state,
  sessions: touchAll(state.sessions, memberOf(state, pair), how, span),
})

const isOfSession = ({ requirement }: Fact): boolean =>
  requirement.startsWith('sessions/') || requirement === 'refresh/session-kept'

function observed(state: State, pair: Pair, seen: 'live' | 'dead', span: Span): State {
  const member = memberOf(state, pair)
  const kept = observeAll(state.sessions, member, seen)
  // An answer that contradicts every reading is a finding; nothing is known about this user afterwards.
  if (kept.length === 0)
    return { ...state, sessions: state.sessions.map((table) => forgetSessionsOf(table, member, span)) }
  return { ...state, sessions: kept }
}

function withStanding(state: State, pair: Pair, standing: Pair['standing']): State {
  const index = state.access.get(pair.access)
  if (index === undefined || state.pairs.get(index)?.standing === standing) return state
  return { ...state, pairs: state.pairs.with([[index, { ...pair, standing }]]) }
}

/** limits/ten-keys: a created key was accepted. */
function letIn(state: State, id: string | undefined): State {
  const key = state.keys.get(id ?? '')
  if (key === undefined || key.id === state.root) return state
  const working = state.working.has(key.id) ? state.working : new Set(state.working).add(key.id)
  if (key.works === 'yes') return { ...state, working }
  return { ...state, working, keys: new Map(state.keys).set(key.id, { ...key, works: 'yes' }) }
}

/** The key that signs a call or gives its credentials with it. */
function directKeyOf(state: State, call: Call): string | undefined {
  const auth = authorizationOf(state, call)
  if (auth.kind === 'basic') return auth.id
  return auth.kind === 'signature' ? auth.fields[0] : undefined
}

/** The key that authorizes a call; undefined if a token does. */
export function keyIdOf(state: State, call: Call, body: ReadBody): string | undefined {
  if (body.method !== 'manager/auth') return directKeyOf(state, call)
  if (!isObject(body.params) || presentedToken(body.params) !== undefined) return undefined
  return typeof body.params.apiKeyId === 'string' ? body.params.apiKeyId : undefined
}

function learnKey(state: State, call: Call, params: unknown, result: unknown): State {
  const created = state.created + 1
  const crowded = created > 10
  const others = crowded ? new Map([...state.keys].map(([id, key]) => [id, doubted(state, key)])) : state.keys
  const next: State = { ...withKeyName(state, params), created, working: new Set(), keys: others }
  if (!isObject(params) || !isObject(result)) return next
  const { id, secret } = result
  if (typeof id !== 'string' || typeof secret !== 'string' || state.keys.has(id)) return next
  const scope = isStrings(params.scope) ? params.scope : []
  const key: Key = {
    id,
    name: String(params.name),
    secret,
    publicKey: publicKeyOf(params.publicKey),
    scope,
    doubtful: beyondCreator(scope, scopeOfCaller(state, call)),
    // What a public key of null means is open.
    works: params.publicKey === null ? 'unknown' : 'yes',
    origin: originOf(state, call, params.publicKey != null),
    creator: creatorOf(state, call),
  }
  return { ...next, keys: new Map(others).set(id, key) }
}

function withKeyName(state: State, params: unknown): State {
  const name = isObject(params) ? params.name : undefined
  if (typeof name !== 'string' || state.keyNames.has(name)) return state
  return { ...state, keyNames: state.keyNames.with([[name, true]]) }
}

/** Whether earlier keys are kept at the eleventh creation is open. */
export const doubted = (state: State, key: Key): Key => (key.id === state.root ? key : { ...key, works: 'unknown' })

function publicKeyOf(pem: unknown): Uint8Array | null {
  if (pem === undefined || pem === null) return null
  try {
    return publicKeyFromPem(String(pem))
  } catch {
    return new Uint8Array(32)
  }
}

function creatorOf(state: State, call: Call): string | undefined {
  const auth = authorizationOf(state, call)
  return auth.kind === 'token' ? findPair(state, auth.token, 'access')?.pair.key : directKeyOf(state, call)
}

/** Whether a key was created by another one, or by one that it created. A key of unknown creator may have been. */
export function mayStemFrom(state: State, key: Key, ancestor: string): boolean {
  if (key.id === state.root || key.id === ancestor) return false
  const creator = state.keys.get(key.creator ?? '')
  return creator === undefined || creator.id === ancestor || mayStemFrom(state, creator, ancestor)
}

function originOf(state: State, call: Call, withPublicKey: boolean): string {
  const auth = authorizationOf(state, call)
  const key = state.keys.get(directKeyOf(state, call) ?? '')
  const how = auth.kind === 'signature' ? (key?.publicKey == null ? 'HMAC' : 'ECC') : auth.kind
  return `${withPublicKey ? 'public key' : 'secret'}, created by ${how}`
}

function noteNonce(state: State, call: Call): State {
  const auth = authorizationOf(state, call)
  const nonce = auth.kind === 'signature' ? auth.fields[3] : undefined
  return nonce === undefined || state.nonces.has(nonce) ? state : { ...state, nonces: grown(state.nonces, nonce) }
}

/** Adds to the set in place, because copying thousands of nonces is slow and nobody reads those of an earlier state. */
function grown(set: ReadonlySet<string>, nonce: string): ReadonlySet<string> {
  ;(set as Set<string>).add(nonce)
  return set
}

function cleared(state: State, id: string | undefined): ReadonlyMap<string, number> {
  if (id === undefined || !state.wrongTries.has(id)) return state.wrongTries
  const tries = new Map(state.wrongTries)
  tries.delete(id)
  return tries
}

/** Learns from the result of manager/auth: a new pair of tokens, and what happened to the old one. */

/** A time that a server reports may be rounded to a second. */
export const roundedMs = 1000

export interface Result {
  readonly accessToken: string
  readonly refreshToken: string
  readonly accessTokenExpiry: unknown
  readonly refreshTokenExpiry: unknown
  readonly scope: unknown
}

export function readResult(result: unknown): Result | undefined {
  if (!isObject(result)) return undefined
  const { accessToken, refreshToken, accessTokenExpiry, refreshTokenExpiry, scope } = result
  if (typeof accessToken !== 'string' || typeof refreshToken !== 'string') return undefined
  return { accessToken, refreshToken, accessTokenExpiry, refreshTokenExpiry, scope }
}

/** Part 4.2: the grant type selects, so a refresh token beside other credentials does not count. */
export function presentedToken({ grantType, refreshToken }: JsonObject): string | undefined {
  return grantType !== 'api_key_credentials' && typeof refreshToken === 'string' ? refreshToken : undefined
}

/** The counts of pairs, with one more of a key, and of all. */
function oneMore({ grants }: State, key: string): State['grants'] {
  const more = new Map(grants)
  for (const name of [key, '']) more.set(name, (more.get(name) ?? 0) + 1)
  return more
}

/** Parts 3 and 4.2: a grant begins a line, a refresh continues one and revokes the old pair. */
function learnPair(state: State, params: unknown, value: unknown, made: Span): State {
  const result = readResult(value)
  if (!isObject(params)) return state
  const presented = presentedToken(params)
  const old = presented === undefined ? undefined : findPair(state, presented, 'refresh')
  const next = old === undefined ? state : retired(state, old.pair, old.exact)
  if (result === undefined) return next
  const scope = old?.pair.scope ?? (isStrings(params.scope) ? params.scope : [])
  const calibrated = old === undefined ? withClock(next, scope, result, made) : next
  const key = old?.pair.key ?? String(params.apiKeyId)
  const line = old?.pair.line ?? state.pairs.size
  const grants = oneMore(calibrated, key)
  const pair: Pair = {
    access: result.accessToken,
    refresh: result.refreshToken,
    key,
    line,
    generation: old === undefined ? 0 : old.pair.generation + 1,
    scope,
    granted: isStrings(result.scope) ? result.scope : [],
    made,
    ...endsOf(calibrated, old === undefined ? scope : [], result, made),
    standing: 'newest',
    countOfKey: grants.get(key) ?? 0,
    countOfAll: grants.get('') ?? 0,
  }
  return withSession({ ...added(calibrated, pair), grants }, pair, old !== undefined, made)
}

/** What a name used again does is open, so every name counts that may have been used. */
const withName = ({ sessionNames }: State, name: string | null): State['sessionNames'] =>
  name === null ? sessionNames : sessionNames.with([[name.toLowerCase(), true]])

function withSession(state: State, pair: Pair, isRefresh: boolean, when: Span): State {
  const member = memberOf(state, pair)
  const sessions = state.sessions.map((table) =>
    isRefresh ? touchSession(table, member, 'refreshed', when) : addSession(table, member, when),
  )
  return { ...state, sessions, sessionNames: withName(state, member.name) }
}

/** refresh/revokes-access, refresh/revokes-refresh. Another spelling may or may not have been taken for this token. */
function retired(state: State, old: Pair, exact: boolean): State {
  const index = state.refresh.get(old.refresh)
  const before = ofLine(state, old.line, 'newest').filter(([other]) => other !== index)
  return {
    ...state,
    pairs: state.pairs.with([
      // A used refresh token was accepted again, so it is unknown which of its pairs is valid.
      ...before.map(([other, pair]): [number, Pair] => [other, { ...pair, standing: 'unknown' }]),
      ...(index === undefined ? [] : [[index, { ...old, standing: exact ? 'dead' : 'unknown' }] as const]),
    ]),
  }
}

/** The pairs of a line with this status, and their index. */
function ofLine(state: State, line: number, standing: Pair['standing']): [number, Pair][] {
  return (state.lines.get(line) ?? []).flatMap((index): [number, Pair][] => {
    const pair = state.pairs.get(index)
    return pair?.standing === standing ? [[index, pair]] : []
  })
}

function added(state: State, pair: Pair): State {
  const index = state.pairs.size
  const looks = [
    ...looksOf(pair.access).map((look) => [`access ${look}`, index] as const),
    ...looksOf(pair.refresh).map((look) => [`refresh ${look}`, index] as const),
  ]
  return {
    ...state,
    looks: state.looks.with(looks),
    lines: state.lines.with([[pair.line, [...(state.lines.get(pair.line) ?? []), index]]]),
    pairs: state.pairs.with([[index, pair]]),
    access: state.access.with([[pair.access, index]]),
    refresh: state.refresh.with([[pair.refresh, index]]),
    tokenLengths: withLengths(state.tokenLengths, [pair.access.length, pair.refresh.length]),
  }
}

const withLengths = (known: ReadonlySet<number>, lengths: readonly number[]): ReadonlySet<number> =>
  lengths.every((length) => known.has(length)) ? known : new Set([...known, ...lengths])

/** The clock of tokens is derived from what short lifetimes report: it may differ from that of signatures. */
function withClock(state: State, scope: readonly string[], result: Result, made: Span): State {
  const asked = lifetimeOf(scope)
  const { accessTokenExpiry: ends, refreshTokenExpiry: refreshEnds } = result
  if (asked === null || !isMoment(ends)) return state
  const seen = { from: ends - asked - made.to - roundedMs, to: ends - asked - made.from + roundedMs }
  const clock = asked > longestKeptMs ? state.tokenClock : narrowed(state.tokenClock, seen)
  if (clock === null) return state
  const got = { from: ends - clock.to - made.to, to: ends - clock.from - made.from }
  const refreshLife = isMoment(refreshEnds) ? refreshEnds - clock.to - made.to : Number.POSITIVE_INFINITY
  const shortest = Math.min(state.refreshLifetimeMs ?? Number.POSITIVE_INFINITY, refreshLife)
  return {
    ...state,
    tokenClock: clock,
    lifetimes: [...state.lifetimes, { asked, got, madeAt: made.to }],
    refreshLifetimeMs: Number.isFinite(shortest) ? shortest : null,
  }
}

function narrowed(clock: Span | null, seen: Span): Span {
  if (clock === null) return seen
  const both = { from: Math.max(clock.from, seen.from), to: Math.min(clock.to, seen.to) }
  return both.from <= both.to ? both : clock
}

/** When the tokens of a result expire, on the local clock. */
function endsOf(
  state: State,
  scope: readonly string[],
  result: Result,
  made: Span,
): Pick<Pair, 'accessEnds' | 'refreshEnds'> {
  const asked = lifetimeOf(scope)
  const local = (span: unknown): Span | null =>
    state.tokenClock === null || !isMoment(span)
      ? null
      : { from: span - state.tokenClock.to, to: span - state.tokenClock.from }
  const accessEnds =
    asked !== null && asked <= longestKeptMs
      ? { from: made.from + asked, to: made.to + asked }
      : local(result.accessTokenExpiry)
  return { accessEnds, refreshEnds: local(result.refreshTokenExpiry) }
}

export const isMoment = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1e12 && value < 1e13

/** What a misuse of a token costs its holder beyond the refused call: the document does not show the outcome of a rejected token. */

const isWithdrawnAfter = ({ terms }: State, misuse: Misuse): boolean => terms.withdraws?.has(misuse) === true

/** Where the target has shown that a misuse ends a token, it is open whether the token still works. */
function withMisuse(state: State, call: Call, known: readonly Fact[]): State {
  const wrong = known.filter(({ is }) => is === 'no').map(({ requirement }) => requirement)
  const misuse = misuses.find(([name, about]) => isWithdrawnAfter(state, name) && wrong.some((one) => about.test(one)))
  if (misuse === undefined) return state
  const auth = authorizationOf(state, call)
  const { params } = readBody(call.body)
  const presented = isObject(params) ? presentedToken(params) : undefined
  const text = presented ?? (auth.kind === 'token' ? auth.token : '')
  const pair = (findPair(state, text, 'access') ?? findPair(state, text, 'refresh'))?.pair
  return pair === undefined ? state : doubtLine(state, pair.line)
}

const misuses: readonly (readonly [Misuse, RegExp])[] = [
  ['address', /^(addresses\/|refresh\/address-kept)/],
  ['scope', /^(scopes\/|keys\/apikey-scope|refresh\/scopes-kept)/],
  ['kind', /^tokens\/(refresh-is-no-access|access-is-no-refresh)/],
]

/** Whether presenting a used refresh token revokes the newer pair is open (refresh/family); a target may have shown that it ends more. */
const withReuse = (state: State, { key, line }: Pair): State =>
  isWithdrawnAfter(state, 'reuse') ? doubtPairsOf(state, key) : doubtLine(state, line)

/** Makes every pair of a key unknown. */
function doubtPairsOf(state: State, key: string): State {
  const lines = new Set(
    state.pairs.keys().flatMap((index) => {
      const pair = state.pairs.get(index)
      return pair?.key === key && pair.standing === 'newest' ? [pair.line] : []
    }),
  )
  return [...lines].reduce(doubtLine, state)
}

/** Makes every pair of a line unknown. */
export function doubtLine(state: State, line: number): State {
  return {
    ...state,
    pairs: state.pairs.with(
      ofLine(state, line, 'newest').map(([index, pair]) => [index, { ...pair, standing: 'unknown' }]),
    ),
  }
}

/** Parts 3 and 5.4, where the sessions of a user are not followed: whether a session was removed whatever else there is on the target. */

/**
 * How many sessions were created after a session was last used. Once there are sixteen, it is gone in every reading of the open questions:
 * all of them are of its key, and a user has at least one key; each has a name of its own, so it takes a place; and each was created, so
 * also used and refreshed, later. What others do on the target can only remove it sooner.
 *
 * @param lastUsedMs when its tokens were sent last, on our clock
 * @returns undefined if it may be alive
 */
export function newerSessions(state: State, pair: Pair, lastUsedMs: number): number | undefined {
  const own = memberOf(state, pair)
  const grants = pairsOf(state).filter(({ generation }) => generation === 0)
  const named = grants.map((grant) => ({ grant, name: memberOf(state, grant).name?.toLowerCase() }))
  const times = new Map<string | undefined, number>()
  for (const { name } of named) times.set(name, (times.get(name) ?? 0) + 1)
  // What a name used again does is open.
  const isNew = (name: string | undefined): boolean => name !== undefined && times.get(name) === 1
  if (own.name === null || !isNew(own.name.toLowerCase())) return undefined
  const renewedMs = pairsOf(state).flatMap(({ line, made }) => (line === pair.line ? [made.to] : []))
  const since = Math.max(lastUsedMs, ...renewedMs) + slackMs
  const newer = named.filter(({ grant, name }) => isNew(name) && grant.key === pair.key && grant.made.from > since)
  return newer.length >= sessionLimit ? newer.length : undefined
}

const pairsOf = ({ pairs }: State): Pair[] => pairs.keys().flatMap((index) => pairs.get(index) ?? [])
