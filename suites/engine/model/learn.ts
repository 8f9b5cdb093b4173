/** Learns from answers. Every function takes a state and returns the next one. */

import { publicKeyFromPem } from '../signer/pem.ts'
import { memberOf, nameOf } from './fact.ts'
import { authorizationOf, facts, kindOfBody, scopeOfCaller } from './facts.ts'
import { beyondCreator } from './facts-of-scope.ts'
import { findPair } from './facts-of-token.ts'
import { judge } from './judge.ts'
import { learnPair, oneMore, presentedToken, withName } from './learn-pair.ts'
import { doubtLine, withMisuse, withReuse } from './misuse.ts'
import { isObject, isStrings, type ReadBody, readBody } from './parse.ts'
import type { Touch } from './session-age.ts'
import { observeAll, touchAll } from './session-tables.ts'
import { forgetSessionsOf } from './sessions.ts'
import type { Answer, Call, Fact, Key, Pair, Span, State, Verdict } from './types.ts'

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
