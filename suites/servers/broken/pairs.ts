import { type Rules, rules as right, type TokenResult } from '../../../mock-server/rules.ts'
import type { ApiKey, Session, TokenPair } from '../../../mock-server/state.ts'
import { type Around, type Change, isOneSolution, type Members, meets, type Seen } from '../operators.ts'

type Fits = (pair: TokenPair) => boolean

export const inSession: Fits = ({ session }) => session !== undefined
export const withAddress: Fits = ({ addresses }) => addresses.length > 0
export const withLifetime: Fits = ({ expiresInMs }) => expiresInMs !== undefined
export const ofCreatedKey: Fits = ({ key }) => !key.initial
export const ofRefresh: Fits = ({ generation }) => generation > 0
export const ofOneSolution: Fits = ({ scope }) => scope.some(isOneSolution)
export const withApikeyScope: Fits = ({ scope }) => scope.includes('apiKey')

/** Whether the call shows the access token of such a pair. */
export const shows = ({ pair }: Seen, fits: Fits): boolean => pair !== undefined && fits(pair)
/** Whether the scope of the call has an entry that begins so. */
export const asks = ({ scope }: Seen, beginning: string): boolean => scope.some((word) => word.startsWith(beginning))

/** Does something beside a refresh, the use of an access token, the creation of a key, the removal of sessions. */
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

export const sameHalf = (text: string, other: string): boolean =>
  other.length === text.length && other.startsWith(text.slice(0, Math.floor(text.length / 2)))

/** Changes the params of calls of manager/auth, which nobody signs; undefined leaves them as they are. */
export const changingParams = (change: (params: Members) => Members | undefined): Around =>
  meets((call, next) => {
    const params = call.is('manager/auth') ? change(call.params) : undefined
    return next(params && call.withParams(params))
  })
