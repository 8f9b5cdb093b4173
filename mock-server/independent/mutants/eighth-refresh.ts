import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { pairsOf } from '../../token-state.ts'
import { paramsOf, readMembers, withMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Undoes a part of what a refresh has just revoked. */
const leave = (part: 'accessRevoked' | 'refreshRevoked', isLeft: (old: TokenPair) => boolean) => ({
  rules: {
    endedBesideRefresh: (_all: unknown, old: TokenPair): TokenPair[] => {
      if (isLeft(old)) old[part] = false
      return []
    },
  },
})

/** Part 3, and `refresh_token` of part 4.2. */
export const eighthRefreshMutants: IndependentMutant[] = [
  {
    // "refreshToken | string | yes"
    id: 'refresh-token-in-a-list-accepted',
    breaks: 'grants/params',
    about: 'A list with the refresh token in it is accepted like the token itself.',
    create: () => ({
      around: (handle) => (request) => {
        const { refreshToken, ...others } = paramsOf(request)
        if (!Array.isArray(refreshToken) || refreshToken.length !== 1) return handle(request)
        const params = { ...others, refreshToken: refreshToken[0] }
        return handle(withMembers(request, { ...readMembers(request.body.toString('utf8')), params }))
      },
    }),
  },
  {
    // "accessToken | string | Token for the Authorization header.", "refreshToken | string | Token for renewal."
    id: 'refresh-answers-with-its-tokens-swapped',
    breaks: 'refresh/new-pair',
    create: () => ({
      rules: {
        refreshResult: (result) => ({
          ...result,
          accessToken: result.refreshToken,
          refreshToken: result.accessToken,
        }),
      },
    }),
  },
  {
    // "scope | array of string | Scopes granted"
    id: 'refreshed-scope-reported-as-one-text',
    breaks: 'refresh/result',
    create: () => ({ rules: { refreshResult: (result) => ({ ...result, scope: result.scope.join(' ') }) } }),
  },
  {
    // "old pair revoked"
    id: 'refresh-leaves-old-access-token-with-address',
    breaks: 'refresh/revokes-access',
    create: () => leave('accessRevoked', ({ addresses }) => addresses.length > 0),
  },
  {
    // "old pair revoked"
    id: 'refresh-leaves-old-refresh-token-with-expires-in',
    breaks: 'refresh/revokes-refresh',
    create: () => leave('refreshRevoked', ({ expiresInMs }) => expiresInMs !== undefined),
  },
  {
    // "a new pair of access token and refresh token is issued": with the scopes that were granted
    id: 'refresh-in-session-loses-last-scope',
    breaks: 'refresh/scopes-kept',
    create: () => ({
      rules: {
        refreshedScope: ({ session, scope }) =>
          session !== undefined && scope.length > 1 ? scope.slice(0, -1) : scope,
      },
    }),
  },
  {
    // "accessTokenExpiry | integer | Timestamp of expiry": that of the new token
    id: 'refreshed-access-token-ends-with-the-old-one',
    breaks: 'refresh/new-pair',
    needsState: true,
    about: 'The new expiry is reported, and the old one is still in force.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const old = pairsOf(seen.context).find(({ id }) => id === pair.parent)
            return right.accessExpired(pair, nowMs) || (old !== undefined && right.accessExpired(old, nowMs))
          },
        },
      }
    },
  },
  {
    // "An access token has a time-to-live": it does not end because somebody shows a wrong refresh token
    id: 'refused-refresh-ends-newest-pair',
    breaks: 'tokens/authorize',
    needsState: true,
    create: () => ({
      rules: { endedByRefusal: (all, key) => (key === undefined ? all().slice(-1) : []) },
    }),
  },
]
