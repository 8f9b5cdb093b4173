import { rules as right } from '../../rules.ts'
import { scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 3, 4.2, 5.3 and 5.4: tokens, their refresh and their restrictions. */
export const twelfthTokenMutants: IndependentMutant[] = [
  {
    // "Timestamp of expiry, of the same kind as the 13-digit timestamp used in signatures."
    id: 'access-expiry-reported-in-microseconds',
    breaks: 'grants/result-access-token-expiry',
    create: () => ({ rules: { reportedAccessExpiry: (pair) => right.reportedAccessExpiry(pair) * 1000 } }),
  },
  {
    // "NUMBER must not exceed the time-to-live of the refresh token."
    id: 'expires-in-beyond-refresh-lifetime-taken-in-session',
    breaks: 'expires-in/within-refresh-lifetime',
    about: 'In a session, the lifetime is to be compared with that of the session, which is not set yet.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          expiresInTooLong: (profile) =>
            scopeOf(seen.request).some((word) => word.startsWith('session:'))
              ? 'taken'
              : right.expiresInTooLong(profile),
        },
      }
    },
  },
  {
    // "Access tokens have a time-to-live"
    id: 'refreshed-token-with-address-never-expires',
    breaks: 'tokens/expire',
    about: 'The expiry is reported. A refresh copies the row of a token with an address without its time.',
    create: () => ({
      rules: {
        accessExpired: (pair, nowMs) =>
          right.accessExpired(pair, nowMs) && (pair.generation === 0 || pair.addresses.length === 0),
      },
    }),
  },
  {
    // "a new pair is returned": an altered token is neither of the two
    id: 'refreshed-access-token-compared-by-32-characters',
    breaks: 'tokens/authorize',
    about: 'The index of renewed tokens holds 32 characters, and nobody compares the rest.',
    create: () => ({
      rules: {
        tokenNamed: (text, find, all, use) =>
          find(text) ??
          (use === 'access' && text.length >= 32
            ? all().find(
                (token) =>
                  token.kind === 'access' && token.pair.generation > 0 && token.text.slice(0, 32) === text.slice(0, 32),
              )
            : undefined),
      },
    }),
  },
  {
    // "Obtained with `manager/auth` (part 4.2) and placed in the Authorization header of a call."
    id: 'overlong-token-lets-in',
    breaks: 'tokens/authorize',
    about:
      'A token above 512 characters does not fit into its column, and the handler of that error goes on with the call.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          forgives: (stage) =>
            stage === 'token/unknown' && (seen.request.headers.authorization?.length ?? 0) > 512 + 'Bearer '.length,
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR."
    id: 'address-not-checked-when-refreshed-token-creates-key',
    breaks: 'addresses/bound',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          addressChecked: (during) =>
            during === 'call' && !((seen.pair?.generation ?? 0) > 0 && isMethod(seen.request, 'manager/createApiKey')),
        },
      }
    },
  },
  {
    // "`context` | Token limited to the Context API."
    id: 'scopes-of-tokens-cached-in-sixteen-slots',
    breaks: 'scopes/context',
    needsState: true,
    about: 'A slot belongs to all tokens whose hash ends alike, and the first of them fills it.',
    create: () => {
      const seen = watch(() => ({ slots: new Map<number, string[]>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) => {
            if (seen.pair === undefined) return right.scopeOpens(scope, area)
            const { slots } = seen.memory
            const slot = seen.pair.accessToken.charCodeAt(0) % 16
            const scopes = slots.get(slot) ?? seen.pair.scope
            slots.set(slot, scopes)
            return scopes.some((one) => right.scopeOpens(one, area))
          },
        },
      }
    },
  },
  {
    // "the refresh token presented is valid": an access token is not one
    id: 'expired-access-token-refreshes',
    breaks: 'tokens/access-is-no-refresh',
    needsState: true,
    about: 'A token that is over is only good for a refresh, so nobody looks what it was.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          tokenNamed: (text, find, _all, use) => {
            const token = find(text)
            return token?.kind === 'access' && use === 'refresh' && right.accessExpired(token.pair, seen.nowMs)
              ? { ...token, kind: use }
              : token
          },
        },
      }
    },
  },
  {
    // "refreshToken | string | Token for renewal.", and the old pair is revoked
    id: 'used-refresh-token-authorizes',
    breaks: 'tokens/refresh-is-no-access',
    needsState: true,
    about:
      'A refresh moves the row of its token to an archive, where kind and state have their defaults: access, valid.',
    create: () => ({
      rules: {
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          return token?.kind === 'refresh' && token.pair.refreshRevoked && use === 'access'
            ? { ...token, kind: use, pair: { ...token.pair, accessRevoked: false } }
            : token
        },
      },
    }),
  },
  {
    // "old pair revoked", both tokens of it, whoever created the key
    id: 'old-refresh-token-of-key-created-by-token-lives-on',
    breaks: 'refresh/revokes-refresh',
    create: () => {
      const seen = watch(() => ({ ids: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair !== undefined) seen.memory.ids.add(key.id)
            return key
          },
          revokedTokenWorks: (kind, pair) => kind === 'refresh' && seen.memory.ids.has(pair.key.id),
        },
      }
    },
  },
]
