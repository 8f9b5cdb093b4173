import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { endPair, pairsOf } from '../../token-state.ts'
import { answerThrough, isAccepted, paramsOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

/** Parts 3 and 4.2: refreshes and what they revoke. */
export const ninthRefreshMutants: IndependentMutant[] = [
  {
    // "scope | array of string | Scopes granted", for both grant types
    id: 'refresh-result-without-scope',
    breaks: 'refresh/result',
    create: () => ({ rules: { refreshResult: (result) => ({ ...result, scope: undefined }) } }),
  },
  {
    // "the refresh token presented is valid"
    id: 'second-half-of-refresh-token-not-compared',
    breaks: 'refresh/token',
    about: 'The first half finds the record, and nothing checks the other.',
    create: () => ({
      rules: {
        tokenNamed: (text, find, all, use) => {
          const half = text.slice(0, Math.ceil(text.length / 2))
          const isAlike = (other: string) => other.length === text.length && other.startsWith(half)
          return (
            find(text) ?? all().find(({ kind, text: other }) => use === 'refresh' && kind === use && isAlike(other))
          )
        },
      },
    }),
  },
  {
    // "a new pair is returned and the old pair is revoked"
    id: 'refresh-leaves-old-access-token-of-one-solution',
    breaks: 'refresh/revokes-access',
    create: () => ({
      rules: {
        revokedTokenWorks: (kind, { scope }) => kind === 'access' && scope.some((word) => /^solution:[^*]/.test(word)),
      },
    }),
  },
  {
    // "Tokens are bound to the session"
    id: 'session-lost-by-refresh-after-access-expiry',
    breaks: 'refresh/session-kept',
    about: 'The session is read from the access token, which is gone then.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          refreshedSession: ({ accessExpiryMs, session }) => (seen.nowMs < accessExpiryMs ? session : undefined),
        },
      }
    },
  },
  {
    // "refresh token presented is valid | old pair revoked"
    id: 'refresh-after-access-expiry-renews-old-access-token',
    breaks: 'refresh/revokes-access',
    about: 'The old access token gets the new expiry.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          refreshResult: (result, old) => {
            if (seen.nowMs >= old.accessExpiryMs) {
              old.accessRevoked = false
              old.accessExpiryMs = result.accessTokenExpiry
            }
            return result
          },
        },
      }
    },
  },
  {
    // "the old pair is revoked on renewal"
    id: 'key-creation-clears-revocations',
    breaks: 'refresh/revokes-refresh',
    needsState: true,
    about: 'Revocations are kept in a cache, and a new key empties it.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          createKeyResult: (result) => {
            for (const pair of pairsOf(seen.context)) {
              pair.accessRevoked = false
              pair.refreshRevoked = false
            }
            return result
          },
        },
      }
    },
  },
  {
    // "An access token has a time-to-live and can be renewed with its refresh token."
    id: 'pair-that-was-never-used-cannot-be-refreshed',
    breaks: 'refresh/new-pair',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ used: new WeakSet<TokenPair>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            seen.memory.used.add(pair)
            return right.accessExpired(pair, nowMs)
          },
          issuedTokenWorks: (kind, pair) => kind === 'access' || seen.memory.used.has(pair),
        },
      }
    },
  },
  {
    // "a new pair of access token and refresh token is issued": without one, the old pair stays
    id: 'refresh-refused-for-its-params-ends-its-pair',
    breaks: 'refresh/new-pair',
    needsState: true,
    about: 'It revokes the old pair before it looks at the other params, such as a scope.',
    create: () => ({
      around: answerThrough((answer, request, { state }) => {
        const { grantType, refreshToken } = paramsOf(request)
        const token = state.tokens.get(typeof refreshToken === 'string' ? refreshToken : '')
        if (grantType === 'refresh_token' && token?.kind === 'refresh' && !isAccepted(answer)) endPair(token.pair)
        return answer
      }),
    }),
  },
]
