/** Learns from answers, and says whether an accepted one looks as the document says. Every function takes a state and returns the next one. */
import { isDocumentedMethod, sessionLimit } from '../document.ts'
import { countBy } from '../group.ts'
import { isObject, isStrings, type JsonObject, membersOf } from '../json.ts'
import { publicKeyFromPem } from '../signer/pem.ts'
import {
  areas,
  beyondCreator,
  facts,
  isRestriction,
  isSolutionId,
  judge,
  kindOfBody,
  levelOf,
  longestKeptMs,
  nameOf,
  refreshParamsFacts,
  safeNewer,
} from './judge.ts'
import { findPair, looksOf, type ReadCall, readCall } from './read-call.ts'
import {
  addSession,
  forgetSessionsOf,
  observeAll,
  type SessionTable,
  type Span,
  slackMs,
  touchAll,
  touchSession,
} from './sessions.ts'
import {
  type Answer,
  type Call,
  type Fact,
  type Key,
  lifetimeOf,
  type Matchers,
  type Misuse,
  memberOf,
  type Pair,
  type Problem,
  pairsOfLine,
  type State,
  type Verdict,
  wordsBehind,
} from './state.ts'

/** A call and what the model knew of it before the answer came. */
interface Learnt {
  readonly read: ReadCall
  readonly span: Span
  readonly known: readonly Fact[]
  readonly verdict: Verdict
}

/** The state after a call was answered. `known` may be given where it was computed before. */
// biome-ignore lint/complexity/useMaxParams: the fifth is there for speed only
export function learn(
  state: State,
  call: Call,
  answer: Answer,
  span: Span,
  known: readonly Fact[] = facts(state, call, span),
): State {
  const seen: Learnt = { read: readCall(state, call), span, known, verdict: judge(state, known) }
  const noted = noteNonce(state, seen.read)
  if (answer.kind === 'accepted') return accepted(noted, seen, answer.result)
  if (answer.kind === 'refused') return refused(noted, seen)
  return lost(withTry(noted, seen.read.keyId), seen)
}

function accepted(state: State, seen: Learnt, result: unknown): State {
  const { read, known, verdict, span } = seen
  const { body, keyId } = read
  const shown = verdict.is === 'refused' ? [] : known.map(nameOf).filter((name) => !state.shown.has(name))
  const kind = kindOfBody(body)
  const larger = body.bytes > (state.sizes.get(kind) ?? 1024)
  const changes: Partial<State> = {
    ...(shown.length > 0 ? { shown: new Set([...state.shown, ...shown]) } : {}),
    ...(larger ? { sizes: new Map(state.sizes).set(kind, body.bytes) } : {}),
    ...(keyId !== undefined && state.wrongTries.has(keyId) ? { wrongTries: without(state.wrongTries, keyId) } : {}),
  }
  const next = Object.keys(changes).length > 0 ? { ...state, ...changes } : state
  if (body.method === 'manager/auth') return letIn(learnPair(next, read, result, span), keyId)
  const proved = letIn(useAccess(next, seen, 'accepted'), keyId)
  return body.method === 'manager/createApiKey' ? learnKey(proved, read, result) : proved
}

function refused(state: State, seen: Learnt): State {
  const { read, known, verdict } = seen
  const { method } = read.body
  const named = method === 'manager/createApiKey' ? withKeyName(state, read.params) : state
  const tries = verdict.is === 'accepted' || isRightKey(seen) ? named : withTry(named, read.keyId)
  if (method !== 'manager/auth') return withMisuse(useAccess(tries, seen, 'refused'), read, known)
  const refresh = read.found?.pair
  if (refresh === undefined) return withMisuse(tries, read, known)
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

function without<V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> {
  const rest = new Map(map)
  rest.delete(key)
  return rest
}

/** How late a lost call may take effect. */
const lateMs = 10_000

/** After a broken answer, the call may have taken effect. */
function lost(state: State, { read, span: { from, to } }: Learnt): State {
  const { body, params, found, keyId } = read
  if (body.method === 'manager/createApiKey') return { ...withKeyName(state, params), created: state.created + 1 }
  if (body.method !== 'manager/auth' || params === undefined) return state
  if (found !== undefined) return { ...doubtLine(state, found.pair.line), grants: oneMore(state, found.pair.key) }
  const { scope } = params
  if (keyId === undefined || !isStrings(scope)) return state
  const member = memberOf(state, { key: keyId, line: -1, scope })
  const next = { ...state, grants: oneMore(state, keyId), sessionNames: withName(state, member.name) }
  return withTables(next, (table) => forgetSessionsOf(table, member, { from, to: to + lateMs }))
}

const withTables = (state: State, change: (table: SessionTable) => SessionTable): State => ({
  ...state,
  sessions: state.sessions.map(change),
})

/** Nothing is known about any user's sessions until new ones remove all others. */
export function forgetSessions(state: State, span: Span): State {
  const members = [...state.keys.keys()].map((key) => memberOf(state, { key, line: -1, scope: ['session:unknown'] }))
  return withTables(state, (table) => members.reduce((known, member) => forgetSessionsOf(known, member, span), table))
}

/** Learns from the answer to an access token: whether its session lives, and whether the pair is valid. */
function useAccess(state: State, { read, known, verdict, span }: Learnt, how: 'accepted' | 'refused'): State {
  const pair = read.found?.pair
  if (pair === undefined) return state
  const others = known.filter((fact) => !isOfSession(fact))
  if (how === 'refused') {
    // Until a token that is bound to our address has worked, its address may be the reason, too.
    const onlySession = others.every(
      (fact) => fact.is === 'yes' && (!isOfAddress(fact) || state.shown.has(nameOf(fact))),
    )
    if (onlySession && verdict.is !== 'accepted') return observed(state, pair, 'dead', span)
    // This contradicts every reading, so the pair is unknown, and nothing follows about its session.
    if (verdict.is === 'accepted') return withStanding(state, pair, 'unknown')
    return others.every(mayBeUse) ? touched(state, pair, 'perhaps used', span) : state
  }
  const seen = noteOldToken(observed(state, pair, 'live', span), pair)
  const isRevoked = pair.standing === 'dead' || pair.standing === 'let in'
  return withStanding(touched(seen, pair, 'used', span), pair, isRevoked ? 'let in' : 'newest')
}

/** How many old tokens are kept: the latest show nearly all that the earlier ones showed. */
const mostOldTokens = 8

/** limits/live-tokens: a token without a session worked after newer ones were granted. */
function noteOldToken(state: State, pair: Pair): State {
  const [ofKey, ofAll] = [state.grants.get(pair.key) ?? 0, state.grants.get('') ?? 0]
  const isOld = ofKey - pair.countOfKey > safeNewer.ofKey || ofAll - pair.countOfAll > safeNewer.ofAll
  if (!isOld || wordsBehind(pair.scope, 'session:').length > 0) return state
  const others = state.oldTokensAlive.filter(
    (one) => one.pair.key !== pair.key || one.pair.countOfKey < pair.countOfKey,
  )
  return { ...state, oldTokensAlive: [...others, { pair, ofKey, ofAll }].slice(-mostOldTokens) }
}

/** A token that is refused for its scope, or for what is called, may count as used. */
const mayBeUse = ({ is, requirement }: Fact): boolean =>
  is !== 'no' || /^(envelope|scopes|keys|limits|addresses)\//.test(requirement)

const touched = (state: State, pair: Pair, how: Parameters<typeof touchAll>[2], span: Span): State =>
  withSessions(state, touchAll(state.sessions, memberOf(state, pair), how, span))

const withSessions = (state: State, sessions: State['sessions']): State =>
  sessions === state.sessions ? state : { ...state, sessions }

const isOfSession = ({ requirement }: Fact): boolean =>
  requirement.startsWith('sessions/') || requirement === 'refresh/session-kept'

const isOfAddress = ({ requirement }: Fact): boolean =>
  requirement === 'addresses/bound' || requirement === 'refresh/address-kept'

function observed(state: State, pair: Pair, seen: 'live' | 'dead', span: Span): State {
  const member = memberOf(state, pair)
  const kept = observeAll(state.sessions, member, seen)
  // An answer that contradicts every reading is a finding; nothing is known about this user afterwards.
  if (kept.length === 0) return withTables(state, (table) => forgetSessionsOf(table, member, span))
  return withSessions(state, kept)
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
  const isKnown = state.working.has(key.id)
  if (isKnown && key.works === 'yes') return state
  const working = isKnown ? state.working : new Set(state.working).add(key.id)
  const keys = key.works === 'yes' ? state.keys : new Map(state.keys).set(key.id, { ...key, works: 'yes' as const })
  return { ...state, working, keys }
}

// Keys.

function learnKey(state: State, read: ReadCall, result: unknown): State {
  const created = state.created + 1
  const others = created > 10 ? new Map([...state.keys].map(([id, key]) => [id, doubted(state, key)])) : state.keys
  const next: State = { ...withKeyName(state, read.params), created, working: new Set(), keys: others }
  const { params, found, keyId } = read
  const { id, secret } = membersOf(result)
  if (params === undefined || typeof id !== 'string' || typeof secret !== 'string' || state.keys.has(id)) return next
  const scope = isStrings(params.scope) ? params.scope : []
  const key: Key = {
    id,
    name: String(params.name),
    secret,
    publicKey: publicKeyOf(params.publicKey),
    scope,
    doubtful: beyondCreator(scope, read.scope),
    // What a public key of null means is open.
    works: params.publicKey === null ? 'unknown' : 'yes',
    origin: `${params.publicKey == null ? 'secret' : 'public key'}, created by ${wayOf(read)}`,
    creator: found?.pair.key ?? keyId,
  }
  return { ...next, keys: new Map(others).set(id, key) }
}

function wayOf({ auth, key }: ReadCall): string {
  if (auth.kind !== 'signature') return auth.kind
  return key?.publicKey == null ? 'HMAC' : 'ECC'
}

function withKeyName(state: State, params: unknown): State {
  const { name } = membersOf(params)
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

/** Whether a key was created by another one, or by one that it created. A key of unknown creator may have been. */
export function mayStemFrom(state: State, key: Key, ancestor: string): boolean {
  if (key.id === state.root || key.id === ancestor) return false
  const creator = state.keys.get(key.creator ?? '')
  return creator === undefined || creator.id === ancestor || mayStemFrom(state, creator, ancestor)
}

/** Adds to the set in place, because copying thousands of nonces is slow and nobody reads those of an earlier state. */
function noteNonce(state: State, { auth }: ReadCall): State {
  if (auth.kind === 'signature' && auth.fields[3] !== undefined) (state.nonces as Set<string>).add(auth.fields[3])
  return state
}

// The result of manager/auth: a new pair of tokens, and what happened to the old one.

/** A time that a server reports may be rounded to a second. */
const roundedMs = 1000

type Result = NonNullable<ReturnType<typeof readResult>>

/** A token that is missing, or is no string, is the empty string: the other one may work without it. */
function readResult(result: unknown) {
  const { accessToken: access, refreshToken: refresh, accessTokenExpiry, refreshTokenExpiry, scope } = membersOf(result)
  const accessToken = typeof access === 'string' ? access : ''
  const refreshToken = typeof refresh === 'string' ? refresh : ''
  if (accessToken === '' && refreshToken === '') return undefined
  return { accessToken, refreshToken, accessTokenExpiry, refreshTokenExpiry, scope }
}

/** The counts of pairs, with one more of a key, and of all. */
function oneMore({ grants }: State, key: string): State['grants'] {
  const more = new Map(grants)
  for (const name of [key, '']) more.set(name, (more.get(name) ?? 0) + 1)
  return more
}

/** Parts 3 and 4.2: a grant begins a line, a refresh continues one and revokes the old pair. */
function learnPair(state: State, read: ReadCall, value: unknown, made: Span): State {
  const { params, found } = read
  const result = readResult(value)
  if (params === undefined) return state
  const old = found?.pair
  const next = found === undefined ? state : retired(state, found.pair, found.exact)
  if (result === undefined) return next
  const asked = isStrings(params.scope) ? params.scope : []
  const calibrated = old === undefined ? withClock(next, asked, result, made) : next
  const key = keyOfPair(calibrated, read)
  const grants = oneMore(calibrated, key)
  const pair: Pair = {
    access: result.accessToken,
    refresh: result.refreshToken,
    key,
    line: old?.line ?? state.pairs.size,
    generation: old === undefined ? 0 : old.generation + 1,
    scope: old?.scope ?? asked,
    granted: isStrings(result.scope) ? result.scope : [],
    ...(old?.mayBeNarrower || (old && refreshParamsFacts(params).length > 0) ? { mayBeNarrower: true } : {}),
    made,
    ...endsOf(calibrated, old === undefined ? asked : [], result, made),
    standing: 'newest',
    countOfKey: grants.get(key) ?? 0,
    countOfAll: grants.get('') ?? 0,
  }
  return withSession({ ...added(calibrated, pair), grants }, pair, old !== undefined, made)
}

const unknownKey = 'unknown key '

/** The key of a new pair. If the token that was refreshed is not known, neither is the key, and no other pair has the same one. */
const keyOfPair = ({ pairs }: State, { found, keyId }: ReadCall): string =>
  found?.pair.key ?? keyId ?? `${unknownKey}${pairs.size}`

/** Whether two pairs may belong to one key. */
const mayShareKey = (keys: readonly [string, string]): boolean =>
  keys[0] === keys[1] || keys.some((key) => key.startsWith(unknownKey))

/** What a name used again does is open, so every name counts that may have been used. */
const withName = ({ sessionNames }: State, name: string | null): State['sessionNames'] =>
  name === null ? sessionNames : sessionNames.with([[name.toLowerCase(), true]])

function withSession(state: State, pair: Pair, isRefresh: boolean, when: Span): State {
  const member = memberOf(state, pair)
  return withTables({ ...state, sessionNames: withName(state, member.name) }, (table) =>
    isRefresh ? touchSession(table, member, 'refreshed', when) : addSession(table, member, when),
  )
}

/** refresh/revokes-access, refresh/revokes-refresh. Another spelling may or may not have been taken for this token. */
function retired(state: State, old: Pair, exact: boolean): State {
  const index = state.refresh.get(old.refresh)
  const before = newestOfLine(state, old.line).filter(([other]) => other !== index)
  return {
    ...state,
    pairs: state.pairs.with([
      // A used refresh token was accepted again, so it is unknown which of its pairs is valid.
      ...before.map(([other, pair]): [number, Pair] => [other, { ...pair, standing: 'unknown' }]),
      ...(index === undefined ? [] : [[index, { ...old, standing: exact ? 'dead' : 'unknown' }] as const]),
    ]),
  }
}

/** The newest pairs of a line, and their index. */
function newestOfLine(state: State, line: number): [number, Pair][] {
  return (state.lines.get(line) ?? []).flatMap((index): [number, Pair][] => {
    const pair = state.pairs.get(index)
    return pair?.standing === 'newest' ? [[index, pair]] : []
  })
}

function added(state: State, pair: Pair): State {
  const index = state.pairs.size
  const { access, refresh } = pair
  const looks = Object.entries({ access, refresh }).flatMap(([which, token]) =>
    token === '' ? [] : looksOf(token).map((look) => [`${which} ${look}`, index] as const),
  )
  return {
    ...state,
    looks: state.looks.with(looks),
    lines: state.lines.with([[pair.line, [...(state.lines.get(pair.line) ?? []), index]]]),
    pairs: state.pairs.with([[index, pair]]),
    access: access === '' ? state.access : state.access.with([[access, index]]),
    refresh: refresh === '' ? state.refresh : state.refresh.with([[refresh, index]]),
    tokenLengths: withLengths(state.tokenLengths, [access.length, refresh.length]),
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
function endsOf(state: State, scope: readonly string[], result: Result, made: Span) {
  const asked = lifetimeOf(scope)
  const local = (span: unknown): Span | null =>
    state.tokenClock === null || !isMoment(span)
      ? null
      : { from: span - state.tokenClock.to, to: span - state.tokenClock.from }
  const isKept = asked !== null && asked <= longestKeptMs
  const reported = local(result.accessTokenExpiry)
  if (!isKept && reported !== null && isAsIfAsked(state, asked, reported, made))
    return { accessEnds: null, refreshEnds: null }
  const accessEnds = isKept ? { from: made.from + asked, to: made.to + asked } : reported
  return { accessEnds, refreshEnds: local(result.refreshTokenExpiry) }
}

/** Whether a grant of another lifetime ends as one of a requested lifetime did: where expiresIn is ignored, the clock derived from it is wrong. */
function isAsIfAsked({ lifetimes }: State, asked: number | null, ends: Span, made: Span): boolean {
  const life = { from: ends.from - made.to, to: ends.to - made.from }
  return (
    !keepsLifetimes(lifetimes) &&
    lifetimes.some(
      (other) =>
        other.asked <= longestKeptMs && other.asked !== asked && life.from <= other.got.to && other.got.from <= life.to,
    )
  )
}

/** Whether two requested lifetimes were granted that certainly differ; where expiresIn is ignored, all that are granted may be the same. */
function keepsLifetimes(lifetimes: State['lifetimes']): boolean {
  const kept = lifetimes.filter(({ asked, got }) => got.from <= asked && asked <= got.to)
  return Math.min(...kept.map(({ got }) => got.to)) < Math.max(...kept.map(({ got }) => got.from))
}

const isMoment = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1e12 && value < 1e13

/** What a misuse of a token costs its holder beyond the refused call: the document does not show the outcome of a rejected token. */

const isWithdrawnAfter = ({ terms }: State, misuse: Misuse): boolean => terms.withdraws?.has(misuse) === true

/** Where the target has shown that a misuse ends a token, it is open whether the token still works. */
function withMisuse(state: State, { token }: ReadCall, known: readonly Fact[]): State {
  const wrong = known.filter(({ is }) => is === 'no').map(({ requirement }) => requirement)
  const misuse = misuses.find(([name, about]) => isWithdrawnAfter(state, name) && wrong.some((one) => about.test(one)))
  if (misuse === undefined) return state
  const pair = (findPair(state, token, 'access') ?? findPair(state, token, 'refresh'))?.pair
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

/** Makes every pair unknown that may be of a key. */
function doubtPairsOf(state: State, key: string): State {
  const doubted = state.pairs.values().filter((pair) => pair.standing === 'newest' && mayShareKey([pair.key, key]))
  return [...new Set(doubted.map(({ line }) => line))].reduce(doubtLine, state)
}

/** Makes every pair of a line unknown. */
export function doubtLine(state: State, line: number): State {
  return {
    ...state,
    pairs: state.pairs.with(
      newestOfLine(state, line).map(([index, pair]) => [index, { ...pair, standing: 'unknown' }]),
    ),
  }
}

// Parts 3 and 5.4, where the sessions of a user are not followed: whether a session was removed whatever else there is on the target.

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
  const grants = state.pairs.values().filter(({ generation }) => generation === 0)
  const named = grants.map((grant) => ({ grant, name: memberOf(state, grant).name?.toLowerCase() }))
  const times = countBy(named, ({ name }) => name)
  // What a name used again does is open.
  const isNew = (name: string | undefined): boolean => name !== undefined && times.get(name) === 1
  if (own.name === null || !isNew(own.name.toLowerCase())) return undefined
  const renewedMs = pairsOfLine(state, pair.line).map(({ made }) => made.to)
  const since = Math.max(lastUsedMs, ...renewedMs) + slackMs
  const newer = named.filter(({ grant, name }) => isNew(name) && grant.key === pair.key && grant.made.from > since)
  return newer.length >= sessionLimit ? newer.length : undefined
}

/** The longest lifetime may depend on the time of day, so only the expiries of grants this close together are compared. In ms. */
const comparableMs = 10_000
/** Every server grants lifetimes of a second. */
const shortestCertainMs = 1000

const problem = (requirement: string, message: string, demands?: Matchers): Problem => ({
  requirement,
  level: levelOf(requirement),
  message,
  ...(demands === undefined ? {} : { demands }),
})

/** Every way in which an accepted answer departs from the document; `state` is that before the call. */
export function shape(state: State, call: Call, answer: Answer, span: Span): Problem[] {
  if (answer.kind !== 'accepted') return []
  const read = readCall(state, call)
  const { body } = read
  const problems: Problem[] = []
  if (answer.jsonrpc !== '2.0')
    problems.push(problem('envelope/response-jsonrpc', `jsonrpc is ${show(answer.jsonrpc)}`))
  if (Number.isSafeInteger(body.id) && !body.isOdd && answer.id !== body.id)
    problems.push(problem('envelope/id-echo', `The request has the id ${show(body.id)}, the answer ${show(answer.id)}`))
  const { result } = answer
  if (isDocumentedMethod(String(body.method))) {
    if (!isObject(result)) problems.push(problem('envelope/result-object', 'The result is not an object'))
    else if (body.method === 'manager/createApiKey') problems.push(...createShape(state, read, result))
    else if (body.method === 'manager/auth') problems.push(...grantShape(state, read, result, span))
  }
  return [...problems, ...tenKeys(state, read)]
}

/** keys/create-result, keys/unique-ids, keys/unique-secrets. Which secret a key with a public key gets is open (keys/secret-of-public-key). */
function createShape(state: State, { params }: ReadCall, { id, secret }: JsonObject): Problem[] {
  if (typeof id !== 'string' || typeof secret !== 'string')
    return [problem('keys/create-result', 'id or secret is not a string')]
  const problems: Problem[] = []
  if (state.keys.has(id)) problems.push(problem('keys/unique-ids', 'A key was created with the id of another'))
  const hasPublicKey = params?.publicKey !== undefined
  if (!hasPublicKey && [...state.keys.values()].some((key) => key.publicKey === null && key.secret === secret))
    problems.push(problem('keys/unique-secrets', 'A key was created with the secret of another'))
  return problems
}

const string = { expected: 'a string', fits: (value: unknown): boolean => typeof value === 'string' }
const timestamp = { expected: 'an integer of 13 digits', fits: isMoment }

/** The members of the result of manager/auth (part 4.2). */
const membersOfGrant = [
  { name: 'accessToken', requirement: 'grants/result-access-token', ...string },
  { name: 'accessTokenExpiry', requirement: 'grants/result-access-token-expiry', ...timestamp },
  { name: 'refreshToken', requirement: 'grants/result-refresh-token', ...string },
  { name: 'refreshTokenExpiry', requirement: 'grants/result-refresh-token-expiry', ...timestamp },
  {
    name: 'tokenType',
    requirement: 'grants/result-token-type',
    expected: '"Bearer"',
    fits: (value: unknown): boolean => value === 'Bearer',
  },
  { name: 'scope', requirement: 'grants/result-scope', expected: 'an array of strings', fits: isStrings },
] as const

/** grants/result-…, refresh/pair-differs, refresh/scopes-kept, expires-in/…. */
function grantShape(state: State, call: ReadCall, result: JsonObject, made: Span): Problem[] {
  const { params, found } = call
  const wrong = membersOfGrant.flatMap(({ name, requirement, expected, fits }) => {
    const value = result[name]
    if (fits(value)) return []
    const got = typeof value === 'string' ? 'a string' : show(value)
    return [problem(requirement, `${name} is ${got}, expected ${expected}`)]
  })
  const read = readResult(result)
  if (read === undefined || params === undefined) return wrong
  const old = found?.pair
  const key = keyOfPair(state, call)
  const asked = old === undefined && isStrings(params.scope) ? params.scope : []
  // What a scope in a refresh does is open (refresh/no-scope).
  const isPlainRefresh = found?.exact === true && refreshParamsFacts(params).length === 0
  return [
    ...wrong,
    ...issuedTwice(state, read, old, key),
    ...withinKey(state, key, result.scope),
    ...lifetimeShape(state, asked, read, made),
    ...(old === undefined ? [] : findExpiredPair(state, read, made)),
    ...(isPlainRefresh && isStrings(result.scope) ? scopeKept(found.pair.granted, result.scope) : []),
  ]
}

/** scopes/within-key: of the API areas that the result names, all are in the key's scope, and a key of some solutions does not get all. */
function withinKey(state: State, id: string, granted: unknown): Problem[] {
  const key = state.keys.get(id)
  if (key === undefined || key.scope === null || !isStrings(granted)) return []
  const { scope } = key
  const solutions = scope.filter(isSolutionId)
  // Any other word may cover all solutions, and any word for solutions may cover the Solution API.
  const isLimited = solutions.length > 0 && solutions.length === scope.length && !scope.includes('solution:*')
  const isBeyond = (word: string): boolean => {
    if (word === 'solution:*') return isLimited
    return areas.includes(word) && !scope.includes(word) && (word !== 'solution' || solutions.length === 0)
  }
  const beyond = granted.filter(isBeyond)
  const [first] = beyond
  if (first === undefined) return []
  const message = `A token was granted "${beyond.join(', ')}", which its key has not`
  return [problem('scopes/within-key', message, { 'result.scope': { excludes: first } })]
}

/** Nothing is issued twice: neither a revoked token nor the token of another pair may come again. */
function issuedTwice(state: State, result: Result, old: Pair | undefined, key: string): Problem[] {
  const indexes = [state.access.get(result.accessToken), state.refresh.get(result.refreshToken)]
  const earlier = indexes.flatMap((index) => state.pairs.get(index ?? -1) ?? [])
  if (result.accessToken === result.refreshToken)
    return [problem('tokens/refresh-is-no-access', 'Both tokens are the same')]
  if (old !== undefined && earlier.some(({ line }) => line === old.line))
    return [problem('refresh/pair-differs', 'A refresh returned a token that its line had before')]
  const foreign = earlier.find((pair) => pair.standing === 'dead' || !mayShareKey([pair.key, key]))
  return foreign === undefined ? [] : [problem('tokens/authorize', 'A token was issued that was issued before')]
}

/** expires-in/reported, expires-in/within-refresh-lifetime, grants/expiry-order. */
function lifetimeShape(state: State, scope: readonly string[], result: Result, made: Span): Problem[] {
  const { accessTokenExpiry: ends, refreshTokenExpiry: refreshEnds } = result
  if (!isMoment(ends)) return []
  const asked = lifetimeOf(scope)
  const problems: Problem[] = []
  if (isMoment(refreshEnds) && ends > refreshEnds + roundedMs)
    problems.push(
      problem(
        asked === null ? 'grants/expiry-order' : 'expires-in/within-refresh-lifetime',
        `The access token ends ${ends - refreshEnds} ms after the refresh token`,
      ),
    )
  const clock = state.tokenClock
  if (asked === null || clock === null) return problems
  const life = { from: ends - clock.to - made.to, to: ends - clock.from - made.from }
  const tooLong = life.from > asked + slackMs
  const tooShort = asked <= longestKeptMs && life.to < asked - slackMs
  if (tooLong || tooShort) {
    // A longer one may be shortened.
    const demands = asked <= longestKeptMs ? { 'result.accessTokenExpiry': { in: asked } } : undefined
    const byMs = Math.round(tooLong ? life.from - asked : asked - life.to)
    const message = `expiresIn:${asked} gave an expiry ${byMs} ms ${tooLong ? 'later' : 'earlier'} than ${expected(state)}`
    problems.push(problem('expires-in/reported', message, demands))
  }
  // What a server makes of a number above the lifetime of the refresh token is open (expires-in/too-long).
  else if (isMoment(refreshEnds) && asked < refreshEnds - clock.from - made.from - slackMs)
    problems.push(...endsTooEarly(state, asked, life, made))
  return problems
}

/** refresh/new-pair: a refresh may give its tokens any lifetime, but the access token must not have expired already. */
function findExpiredPair({ tokenClock: clock }: State, { accessTokenExpiry: ends }: Result, made: Span): Problem[] {
  if (clock === null || !isMoment(ends) || ends - clock.from >= made.from - slackMs) return []
  return [
    problem(
      'refresh/new-pair',
      'A refresh returned an access token that had already expired when the refresh was sent',
    ),
  ]
}

/** The clock of the server is known from other expiries alone, so an expiry is compared with them, and no lifetime is measured. */
function expected({ lifetimes }: State): string {
  const other = lifetimes.findLast(({ asked }) => asked <= longestKeptMs)
  return other === undefined ? 'it should be' : `that of expiresIn:${other.asked} leads to expect`
}

/** expires-in/reported: a larger NUMBER never gives an earlier expiry than a smaller one did shortly before. */
function endsTooEarly({ lifetimes }: State, asked: number, life: Span, made: Span): Problem[] {
  const smaller = lifetimes
    .filter((other) => other.asked < asked && made.from - other.madeAt < comparableMs)
    .filter(({ madeAt, got }) => madeAt + got.from > made.from + life.to + slackMs)
    .map((other) => other.asked)
  if (smaller.length === 0) return []
  // A very short one may be refused by another server.
  const least = `expiresIn:${Math.min(...smaller.filter((one) => one >= shortestCertainMs), Math.max(...smaller))}`
  const message = `expiresIn:${asked} gave an earlier expiry than ${least}, which was granted before`
  return [{ ...problem('expires-in/reported', message), comparedWith: least }]
}

/** refresh/scopes-kept: as reported, restrictions and order apart. */
function scopeKept(before: readonly string[], after: readonly string[]): Problem[] {
  const words = (scope: readonly string[]): string =>
    [...new Set(scope.filter((word) => !isRestriction(word)).map((word) => word.toLowerCase()))].sort().join(' ')
  if (words(before) === words(after)) return []
  const [lost] = before.filter((word) => !isRestriction(word) && !after.includes(word))
  const message = `The scope was "${words(before)}" and is "${words(after)}" after the refresh`
  const demands = lost === undefined ? undefined : { 'result.scope': { includes: lost } }
  return [problem('refresh/scopes-kept', message, demands)]
}

/** limits/ten-keys: eleven created keys were accepted since the last creation. */
function tenKeys(state: State, { key }: ReadCall): Problem[] {
  if (key === undefined || key.id === state.root || state.working.has(key.id)) return []
  if (state.working.size < 10) return []
  return [problem('limits/ten-keys', 'Eleven created keys work at once')]
}

/** A value for a message. Texts may be secret, and a value of a hostile server may be of any size and depth. */
function show(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  return typeof value === 'string' && value.length > 12 ? 'a text' : JSON.stringify(value)
}
