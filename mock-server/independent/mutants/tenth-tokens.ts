import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { pairsOf } from '../../token-state.ts'
import { scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const second = 1000
const minute = 60 * second

/** Parts 4.2 and 5.3, and expiresIn of part 5.4. */
export const tenthTokenMutants: IndependentMutant[] = [
  {
    // "refreshTokenExpiry | integer | Timestamp of expiry of the refresh token.", for both grant types
    id: 'refresh-expiry-as-text-in-refreshed-pair',
    breaks: 'refresh/result',
    about: 'The two results have structures of their own, and one of them turns a large number into text.',
    create: () => ({
      rules: {
        refreshResult: (result) => ({ ...result, refreshTokenExpiry: String(result.refreshTokenExpiry) }),
      },
    }),
  },
  {
    // "the refresh token presented is valid": an access token is not one
    id: 'access-token-of-session-refreshes',
    breaks: 'tokens/access-is-no-refresh',
    about: 'In a session, only the session of a token is looked up.',
    create: () => ({
      rules: {
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          return token !== undefined && use === 'refresh' && token.pair.session !== undefined
            ? { ...token, kind: use }
            : token
        },
      },
    }),
  },
  {
    // "accessTokenExpiry | integer | Timestamp of expiry": and not before
    id: 'idle-access-token-ends-after-a-minute',
    breaks: 'tokens/authorize',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ lastMs: new WeakMap<TokenPair, number>() }))
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const { lastMs } = seen.memory
            const isIdle = nowMs - (lastMs.get(pair) ?? pair.issuedMs) > minute
            if (!isIdle) lastMs.set(pair, nowMs)
            return isIdle || right.accessExpired(pair, nowMs)
          },
        },
      }
    },
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'access-expiry-kept-in-single-precision',
    breaks: 'expires-in/enforced',
    about: 'A floating point number of 32 bits; the token ends up to 65 seconds before or after its reported expiry.',
    create: () => ({ rules: { accessExpired: (pair, nowMs) => nowMs >= Math.fround(pair.accessExpiryMs) } }),
  },
  {
    // "Access token expires after NUMBER milliseconds": counted from the grant
    id: 'expires-in-counted-from-clock-read-every-ten-seconds',
    breaks: 'expires-in/reported',
    needsState: true,
    about: 'Grants use a clock that is read again only when ten seconds have passed.',
    create: () => {
      const seen = watch(() => ({ readMs: Number.NEGATIVE_INFINITY }))
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs, profile) => {
            const { memory, nowMs } = seen
            if (nowMs - memory.readMs >= 10 * second) memory.readMs = nowMs
            return right.accessLifeMs(expiresInMs, profile) - (expiresInMs === undefined ? 0 : nowMs - memory.readMs)
          },
        },
      }
    },
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-ignored-beside-one-solution',
    breaks: 'expires-in/reported',
    about: 'An entry with a colon is the one or the other, and the search ends with the solution.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs, profile) =>
            right.accessLifeMs(
              scopeOf(seen.request).some((word) => /^solution:[^*]/.test(word)) ? undefined : expiresInMs,
              profile,
            ),
        },
      }
    },
  },
  {
    // "the refresh token can still be used until its own expiry"
    id: 'refresh-token-with-address-ends-with-access-token',
    breaks: 'refresh/after-access-expiry',
    create: () => ({
      rules: {
        refreshExpired: (pair, nowMs) =>
          right.refreshExpired(pair, nowMs) || (pair.addresses.length > 0 && nowMs >= pair.accessExpiryMs),
      },
    }),
  },
  {
    // "the old pair is revoked on renewal": a further grant is no renewal
    id: 'grant-ends-earlier-pair-of-same-key-and-address',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'The table of tokens with an address has one row for each key and address.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantResult: (result, granted) => {
            const placeOf = ({ key, addresses }: TokenPair) => `${key.id} ${addresses.join(' ')}`
            for (const pair of granted.addresses.length > 0 ? pairsOf(seen.context) : []) {
              if (pair !== granted && placeOf(pair) === placeOf(granted)) pair.accessRevoked = true
            }
            return result
          },
        },
      }
    },
  },
]
