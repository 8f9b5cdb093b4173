/** What rows about grants, tokens, scopes and sessions are made of: kinds of pairs, and rules that change for some of them. */
import type { ServerContext } from '../../../mock-server/context.ts'
import type { MockRequest } from '../../../mock-server/http-server.ts'
import { type Rules, rules as right, type TokenResult } from '../../../mock-server/rules.ts'
import type { ApiKey, Session, TokenPair } from '../../../mock-server/state.ts'
import type { Change, Members, Seen } from '../operators.ts'
import {
  type Around,
  answerThrough,
  isAccepted,
  isMethod,
  meet,
  paramsOf,
  readCall,
  tokenText,
  withMembers,
} from '../operators.ts'

export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour

type Fits = (pair: TokenPair) => boolean

export const inSession: Fits = ({ session }) => session !== undefined
export const withAddress: Fits = ({ addresses }) => addresses.length > 0
export const withLifetime: Fits = ({ expiresInMs }) => expiresInMs !== undefined
export const ofCreatedKey: Fits = ({ key }) => !key.initial
export const ofRefresh: Fits = ({ generation }) => generation > 0
export const ofOneSolution: Fits = ({ scope }) => scope.some(isOneSolution)
export const withApikeyScope: Fits = ({ scope }) => scope.includes('apiKey')
export const isOneSolution = (word: string): boolean => /^solution:[^*]/.test(word)

/** Whether the call shows the access token of such a pair. */
export const shows = ({ pair }: Seen, fits: Fits): boolean => pair !== undefined && fits(pair)
/** Whether the scope of the call has an entry that begins so. */
export const asks = ({ scope }: Seen, beginning: string): boolean => scope.some((word) => word.startsWith(beginning))
export const createsKey = ({ method }: Seen): boolean => method === 'manager/createApiKey'

/** Rules that answer yes or no. */
type YesNo = { [Name in keyof Rules]: ReturnType<Rules[Name]> extends boolean ? Name : never }[keyof Rules]
type Given<Name extends keyof Rules> = Parameters<Rules[Name]>

const rightly = (name: YesNo, given: unknown[]): boolean => (right[name] as (...given: unknown[]) => boolean)(...given)

/** A rule that also says yes where `more` does. */
export const also = <Name extends YesNo>(name: Name, more: (...given: Given<Name>) => boolean) =>
  ({ [name]: (...given: Given<Name>) => rightly(name, given) || more(...given) }) as unknown as Pick<Rules, Name>

/** A rule that says no where `but` does. */
export const unless = <Name extends YesNo>(name: Name, but: (...given: Given<Name>) => boolean) =>
  ({ [name]: (...given: Given<Name>) => rightly(name, given) && !but(...given) }) as unknown as Pick<Rules, Name>

/** Counts how often each thing came. */
export function counts(): (thing?: unknown) => number {
  const known = new Map<unknown, number>()
  return (thing) => {
    const count = (known.get(thing) ?? 0) + 1
    known.set(thing, count)
    return count
  }
}

/** Does something beside a grant, a refresh, the use of an access token, the creation of a key, the removal of sessions. */
export const onGrant = (act: (pair: TokenPair) => unknown): Pick<Rules, 'grantResult'> => ({
  grantResult: (result, pair) => {
    act(pair)
    return result
  },
})
export const onRefresh = (act: (old: TokenPair, result: TokenResult) => unknown): Pick<Rules, 'refreshResult'> => ({
  refreshResult: (result, old) => {
    act(old, result)
    return result
  },
})
export const onUse = (act: (pair: TokenPair, nowMs: number) => unknown): Pick<Rules, 'accessExpired'> => ({
  accessExpired: (pair, nowMs) => {
    act(pair, nowMs)
    return right.accessExpired(pair, nowMs)
  },
})
export const onNewKey = (act: (key: ApiKey) => unknown): Pick<Rules, 'storedKey'> => ({
  storedKey: (key) => {
    act(key)
    return key
  },
})
export const onRemoval = (act: (removed: Session[]) => unknown): Pick<Rules, 'sessionsRemoved'> => ({
  sessionsRemoved: (live, surplus, profile) => {
    const removed = right.sessionsRemoved(live, surplus, profile)
    act(removed)
    return removed
  },
})
/** Does something beside every answer. */
export const onAnswer = (act: (accepted: boolean, request: MockRequest, context: ServerContext) => unknown): Around =>
  answerThrough((answer, request, context) => {
    act(isAccepted(answer), request, context)
    return answer
  })

/** Members that are replaced; undefined leaves one out. */
type Changed = { [Member in keyof TokenResult]?: unknown }
const any: Fits = () => true

/** Members of the results of grants replaced. */
export const granted = (change: (result: TokenResult) => Changed, fits = any): Change => ({
  grantResult: (result, pair) => (fits(pair) ? { ...result, ...change(result) } : result),
})
/** Members of the results of refreshes replaced; `fits` is asked about the old pair. */
export const refreshed = (change: (result: TokenResult) => Changed, fits = any): Change => ({
  refreshResult: (result, old) => (fits(old) ? { ...result, ...change(result) } : result),
})
export const seconds = (ms: number) => Math.floor(ms / 1000)

export const sameHalf = (text: string, other: string): boolean =>
  other.length === text.length && other.startsWith(text.slice(0, Math.floor(text.length / 2)))

export const isGrant = (request: MockRequest): boolean => paramsOf(request).grantType === 'api_key_credentials'
/** The name in the entry session:NAME of a scope. */
export const sessionIn = (scope: string[]): string | undefined =>
  scope.find((word) => word.startsWith('session:'))?.slice('session:'.length)

/** The pair whose access token a call shows, and the pair of the refresh token in its params. */
export function shownPair(request: MockRequest, { state }: ServerContext): TokenPair | undefined {
  const token = state.tokens.get(tokenText(request))
  return token?.kind === 'access' ? token.pair : undefined
}
export function namedPair(request: MockRequest, { state }: ServerContext): TokenPair | undefined {
  const token = state.tokens.get(String(paramsOf(request).refreshToken))
  return token?.kind === 'refresh' ? token.pair : undefined
}

/** Changes the params of calls of manager/auth, which nobody signs; undefined leaves them as they are. */
export const changingParams =
  (change: (params: Members) => Members | undefined): Around =>
  (handle) =>
  (request) => {
    const params = isMethod(request, 'manager/auth') ? change(paramsOf(request)) : undefined
    return handle(params === undefined ? request : withMembers(request, { ...readCall(request), params }))
  }

/** Some calls wait until those that came together with them have arrived; `note` sees each as it arrives. */
export const waiting =
  (waits: (request: MockRequest) => boolean, note: (request: MockRequest, context: ServerContext) => unknown): Around =>
  (handle, context) =>
  (request) => {
    note(request, context)
    return waits(request) ? meet().then(() => handle(request)) : handle(request)
  }
