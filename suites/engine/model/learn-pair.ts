/** Learns from the result of manager/auth: a new pair of tokens, and what happened to the old one. */
import { lifetimeOf, memberOf } from './fact.ts'
import { longestKeptMs } from './facts-of-params.ts'
import { findPair } from './facts-of-token.ts'
import { isObject, isStrings, type JsonObject } from './parse.ts'
import { addSession, touchSession } from './sessions.ts'
import { looksOf } from './spelling.ts'
import type { Pair, Span, State } from './types.ts'

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
export function oneMore({ grants }: State, key: string): State['grants'] {
  const more = new Map(grants)
  for (const name of [key, '']) more.set(name, (more.get(name) ?? 0) + 1)
  return more
}

/** Parts 3 and 4.2: a grant begins a line, a refresh continues one and revokes the old pair. */
export function learnPair(state: State, params: unknown, value: unknown, made: Span): State {
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
export const withName = ({ sessionNames }: State, name: string | null): State['sessionNames'] =>
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
export function ofLine(state: State, line: number, standing: Pair['standing']): [number, Pair][] {
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
