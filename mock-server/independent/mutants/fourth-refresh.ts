import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { endPair } from '../../token-state.ts'
import { isAccepted, meet, paramsOf, tokenText } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { type Watch, watch } from '../watch.ts'

const cut = (scopes: string[]): string[] => scopes.join(' ').slice(0, 32).split(' ')

/** The pair of the refresh token in the params of the call being answered. */
function namedPair(seen: Watch<object>): TokenPair | undefined {
  const { refreshToken } = paramsOf(seen.request)
  const token = typeof refreshToken === 'string' ? seen.context.state.tokens.get(refreshToken) : undefined
  return token?.kind === 'refresh' ? token.pair : undefined
}

/** Part 3, and `refresh_token` of part 4.2. */
export const fourthRefreshMutants: IndependentMutant[] = [
  {
    // "a new pair of access token and refresh token is issued", for "the Authorization header of a call": of any call
    id: 'refreshed-token-known-on-connection-of-its-refresh-only',
    breaks: 'refresh/new-pair',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ connections: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          refreshResult: (result) => {
            const { connection } = seen.request
            if (connection !== undefined) seen.memory.connections.set(result.accessToken, connection)
            return result
          },
          issuedTokenWorks: (kind, pair) => {
            const connection = seen.memory.connections.get(pair.accessToken)
            return kind === 'refresh' || connection === undefined || connection === seen.request.connection
          },
        },
      }
    },
  },
  {
    // "a new pair is returned", and "`scope` is not sent with `refresh_token`": it is that of the grant
    id: 'refreshed-scope-cut-at-32-characters',
    breaks: 'refresh/scopes-kept',
    needsState: true,
    about: 'The scope is stored as one text; what does not fit is cut off.',
    create: () => ({
      rules: {
        refreshedScope: (old) => cut(old.scope),
        refreshedScopeEcho: (old) => cut(old.scopeEcho),
      },
    }),
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'address-lost-by-fourth-refresh',
    breaks: 'refresh/address-kept',
    needsState: true,
    create: () => ({
      rules: { refreshedAddresses: (old) => (old.generation < 3 ? old.addresses : []) },
    }),
  },
  {
    // "tokens are bound to it; access lasts for the session's lifetime"
    id: 'pair-that-was-never-used-leaves-its-session-at-refresh',
    breaks: 'refresh/session-kept',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ used: new Set<TokenPair>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            seen.memory.used.add(pair)
            return right.accessExpired(pair, nowMs)
          },
          refreshedSession: (old) => (seen.memory.used.has(old) ? old.session : undefined),
        },
      }
    },
  },
  {
    // "old pair revoked"
    id: 'revocation-kept-for-the-default-lifetime-only',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'A revoked access token with a longer expiresIn works again when its entry in the cache has ended.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          revokedTokenWorks: (kind, pair) =>
            kind === 'access' &&
            pair.revokedMs !== undefined &&
            seen.nowMs >= pair.revokedMs + seen.context.profile.accessLifeMs,
        },
      }
    },
  },
  {
    // "old pair revoked"
    id: 'refresh-from-another-address-leaves-old-access-token',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'The load balancer sends addresses to replicas, and a revocation reaches only the own replica.',
    create: () => {
      const seen = watch(() => ({ addresses: new Map<string, string>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            seen.memory.addresses.set(pair.family.id, seen.request.remoteAddress)
            return result
          },
          endedBesideRefresh: (_all, old) => {
            old.accessRevoked = seen.memory.addresses.get(old.family.id) === seen.request.remoteAddress
            return []
          },
        },
      }
    },
  },
  {
    // "old pair revoked"
    id: 'listing-in-flight-brings-its-revoked-pair-back',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'At the end of a call the row of its token is written as it was read at the beginning.',
    create: () => {
      const seen = watch()
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return (request) => {
            const answer = inner(request)
            const { pair } = seen
            if (pair === undefined || tokenText(request) === '' || !(answer instanceof Promise)) return answer
            return answer.then((late) => {
              if (isAccepted(late)) pair.accessRevoked = false
              return late
            })
          }
        },
        rules: {
          ...seen.notePair,
          beforeEffect: (effect) => (effect === 'listing' ? meet() : undefined),
        },
      }
    },
  },
  {
    // "refreshTokenExpiry | integer | Timestamp of expiry of the refresh token"
    id: 'refreshed-refresh-token-ends-with-the-first-one',
    breaks: 'refresh/own-expiry',
    needsState: true,
    about: 'A new time is reported, and the time of the first grant is in force.',
    create: () => {
      const seen = watch(() => ({ endMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            seen.memory.endMs.set(pair.family.id, pair.refreshExpiryMs)
            return result
          },
          refreshExpired: (pair, nowMs) => nowMs >= (seen.memory.endMs.get(pair.family.id) ?? pair.refreshExpiryMs),
        },
      }
    },
  },
  {
    // "the refresh token can still be used until its own expiry"
    id: 'refresh-in-session-refused-after-access-expiry',
    breaks: 'refresh/after-access-expiry',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          tokenNamed: (text, find, _all, use) => {
            const token = find(text)
            const over = token?.pair.session !== undefined && seen.nowMs >= token.pair.accessExpiryMs
            return use === 'refresh' && over ? undefined : token
          },
        },
      }
    },
  },
  {
    // "a new pair of access token and refresh token is issued"
    id: 'refreshed-access-token-begins-when-the-old-one-would-end',
    breaks: 'refresh/new-pair',
    create: () => {
      const seen = watch(() => ({ beginMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          refreshResult: (result, old) => {
            seen.memory.beginMs.set(result.accessToken, old.accessExpiryMs)
            return result
          },
          issuedTokenWorks: (kind, pair) =>
            kind === 'refresh' || seen.nowMs >= (seen.memory.beginMs.get(pair.accessToken) ?? 0),
        },
      }
    },
  },
  {
    // "`scope` is not sent with `refresh_token`"
    id: 'refresh-of-token-with-expires-in-needs-scope',
    breaks: 'refresh/no-scope',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { refreshNeedsScope: () => namedPair(seen)?.expiresInMs !== undefined },
      }
    },
  },
  {
    // "`manager/auth` with `grantType` = `refresh_token`" revokes the old pair, and no other grant type does
    id: 'call-refused-for-its-grant-type-ends-the-pair-that-it-names',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'The token is used up before the grant type is looked at.',
    create: () => {
      const seen = watch()
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return (request) => {
            const answer = inner(request)
            if (answer instanceof Promise || isAccepted(answer)) return answer
            const { grantType } = paramsOf(request)
            const pair = namedPair(seen)
            if (pair && grantType !== 'refresh_token') endPair(pair)
            return answer
          }
        },
      }
    },
  },
]
