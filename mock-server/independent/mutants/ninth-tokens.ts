import { rules as right } from '../../rules.ts'
import { pairsOf } from '../../token-state.ts'
import { readMembers } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { namedKeyId } from '../requests.ts'
import { watch } from '../watch.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** Parts 4.2 and 5.3, and expiresIn of part 5.4. */
export const ninthTokenMutants: IndependentMutant[] = [
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-rounded-up-to-whole-minutes',
    breaks: 'expires-in/reported',
    create: () => ({
      rules: {
        accessLifeMs: (expiresInMs, profile) =>
          expiresInMs === undefined
            ? right.accessLifeMs(expiresInMs, profile)
            : Math.ceil(expiresInMs / minute) * minute,
      },
    }),
  },
  {
    // "placed in the Authorization header of a call"
    id: 'token-in-auth-member-of-body-taken',
    breaks: 'authorization/required',
    about: 'As other JSON-RPC services do it: `"auth": "<token>"` beside `method`.',
    create: () => ({
      rules: {
        headerOf: ({ headers, body }) => {
          const auth = headers.authorization ?? readMembers(body.toString('utf8'))?.auth
          return headers.authorization === undefined && typeof auth === 'string'
            ? `Bearer ${auth}`
            : headers.authorization
        },
      },
    }),
  },
  {
    // "refreshTokenExpiry | integer | Timestamp of expiry of the refresh token."
    id: 'access-expiry-reported-as-refresh-expiry',
    breaks: 'refresh/own-expiry',
    create: () => ({ rules: { reportedRefreshExpiry: ({ accessExpiryMs }) => accessExpiryMs } }),
  },
  {
    // "refreshToken | string | Token for renewal."
    id: 'refresh-token-of-refreshed-pair-authorizes',
    breaks: 'tokens/refresh-is-no-access',
    create: () => ({
      rules: {
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          return use === 'access' && token !== undefined && token.pair.generation > 0 ? { ...token, kind: use } : token
        },
      },
    }),
  },
  {
    // "NUMBER in milliseconds"
    id: 'expires-in-of-created-key-in-seconds',
    breaks: 'expires-in/reported',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          expiresInMs: (text) => {
            const ms = right.expiresInMs(text)
            const isCreated = seen.context.state.keys.get(namedKeyId(seen.request) ?? '')?.initial === false
            return ms !== undefined && isCreated ? ms * 1000 : ms
          },
        },
      }
    },
  },
  {
    // "the access token's expiry time passed | access token expired"
    id: 'refresh-extends-other-access-tokens-of-its-key',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'The update has the key as its only condition.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          endedBesideRefresh: (all, old) => {
            const expiryMs = seen.nowMs + right.accessLifeMs(undefined, seen.context.profile)
            for (const pair of all()) {
              if (pair.key === old.key) pair.accessExpiryMs = Math.max(pair.accessExpiryMs, expiryMs)
            }
            return []
          },
        },
      }
    },
  },
  {
    // "Access token expires after NUMBER milliseconds": and not before
    id: 'grant-clears-access-tokens-that-end-within-a-minute',
    breaks: 'expires-in/enforced',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantResult: (result, granted) => {
            for (const pair of pairsOf(seen.context)) {
              if (pair !== granted && pair.accessExpiryMs < seen.nowMs + minute) pair.accessRevoked = true
            }
            return result
          },
        },
      }
    },
  },
  {
    // "the access token's expiry time passed | access token expired"
    id: 'access-expiry-compared-without-its-date',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'A token that lives over midnight (UTC) is refused before it, and works again on the next day.',
    create: () => ({ rules: { accessExpired: (pair, nowMs) => nowMs % day >= pair.accessExpiryMs % day } }),
  },
]
