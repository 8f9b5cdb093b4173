import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { meet, paramsOf, scopeOf } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const addressesIn = (scope: string[]) =>
  scope.filter((word) => word.startsWith('ipAddr:')).map((word) => word.slice('ipAddr:'.length))

/** Parts 4.2, 5.3 and 5.4: access tokens, their lifetimes, addresses and scopes. */
export const thirdTokenMutants: IndependentMutant[] = [
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'grants-in-flight-share-addresses',
    breaks: 'addresses/bound',
    needsState: true,
    about: 'The address is kept in a variable of the server while a grant waits, so that the last grant sets it.',
    create: () => {
      const seen = watch()
      let shared: string[] = []
      return {
        around: seen.around,
        rules: {
          beforeEffect: (effect) => {
            if (effect !== 'session') return undefined
            shared = addressesIn(scopeOf(seen.request))
            return meet()
          },
          grantResult: (result, pair) => {
            pair.addresses = shared
            return result
          },
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR", and so usable from there
    id: 'address-with-number-above-127-never-fits',
    breaks: 'addresses/bound',
    needsState: true,
    about: 'The numbers of the connection are read as signed bytes.',
    create: () => ({
      rules: {
        addressTaken: (addresses, remoteAddress) =>
          right.addressTaken(addresses, remoteAddress) &&
          (addresses.length === 0 || remoteAddress.split('.').every((number) => Number(number) <= 127)),
      },
    }),
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'address-as-first-scope-entry-ignored',
    breaks: 'addresses/bound',
    needsState: true,
    about: 'Restrictions are looked for from the second entry on.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            pair.addresses = addressesIn(scopeOf(seen.request).slice(1))
            return result
          },
        },
      }
    },
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'first-expires-in-of-key-holds-for-its-later-grants',
    breaks: 'expires-in/reported',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ first: new Map<unknown, number>() }))
      return {
        around: seen.around,
        rules: {
          accessLifeMs: (expiresInMs, profile) => {
            const { apiKeyId } = paramsOf(seen.request)
            if (expiresInMs === undefined || apiKeyId === undefined) return right.accessLifeMs(expiresInMs, profile)
            const ms = seen.memory.first.get(apiKeyId) ?? expiresInMs
            seen.memory.first.set(apiKeyId, ms)
            return ms
          },
        },
      }
    },
  },
  {
    // "the access token's expiry time passed | access token expired"
    id: 'access-tokens-of-key-end-with-the-latest-of-them',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'The time of expiry is kept with the key.',
    create: () => {
      const seen = watch(() => ({ untilMs: new Map<string, number>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            const known = seen.memory.untilMs.get(pair.key.id) ?? 0
            seen.memory.untilMs.set(pair.key.id, Math.max(known, pair.accessExpiryMs))
            return result
          },
          accessExpired: (pair, nowMs) =>
            nowMs >= Math.max(pair.accessExpiryMs, seen.memory.untilMs.get(pair.key.id) ?? 0),
        },
      }
    },
  },
  {
    // "Access tokens have a time-to-live"
    id: 'expiry-forgotten-after-twenty-further-tokens',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'The times of expiry are in a table of twenty places; a token that is not in it is taken for a live one.',
    create: () => {
      const seen = watch(() => ({ latest: [] as TokenPair[] }))
      const note = (pair: TokenPair | undefined) => {
        if (pair === undefined) return
        seen.memory.latest.push(pair)
        seen.memory.latest.splice(0, seen.memory.latest.length - 20)
      }
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            note(pair)
            return result
          },
          refreshResult: (result) => {
            note(seen.context.state.tokens.get(result.accessToken)?.pair)
            return result
          },
          accessExpired: (pair, nowMs) => seen.memory.latest.includes(pair) && right.accessExpired(pair, nowMs),
        },
      }
    },
  },
  {
    // "Requires authorization (any method of part 5)"
    id: 'token-with-expires-in-creates-no-keys',
    breaks: 'keys/create-authorized',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          meansTaken: (means, method) =>
            means !== 'token' || method !== 'manager/createApiKey' || seen.pair?.expiresInMs === undefined,
        },
      }
    },
  },
  {
    // "Three ways to authorize a call to a method": each call by itself
    id: 'token-refused-behind-signed-call-on-connection',
    breaks: 'tokens/authorize',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ connections: new Set<number>() }))
      return {
        around: seen.around,
        rules: {
          meansTaken: (means) => {
            const { connection } = seen.request
            if (connection === undefined) return true
            if (means === 'hmac' || means === 'ecc') seen.memory.connections.add(connection)
            return means !== 'token' || !seen.memory.connections.has(connection)
          },
        },
      }
    },
  },
  {
    // "context | Token limited to the Context API"
    id: 'token-of-token-created-key-has-whole-scope-of-key',
    breaks: 'scopes/context',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ keys: new Set<unknown>() }))
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair !== undefined) seen.memory.keys.add(key.id)
            return key
          },
          grantedScope: (requested, keyScope) =>
            seen.memory.keys.has(paramsOf(seen.request).apiKeyId) ? keyScope : requested,
        },
      }
    },
  },
  {
    // "store | Token limited to the Store API"
    id: 'store-token-of-session-lists-solutions',
    breaks: 'scopes/store',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          scopeOpens: (scope, area) =>
            right.scopeOpens(scope, area) ||
            (scope === 'store' && area === 'solution' && seen.pair?.session !== undefined),
        },
      }
    },
  },
  {
    // accessTokenExpiry is the "Timestamp of expiry" of the token it came with
    id: 'newer-grant-with-expires-in-shortens-older-tokens',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'An expiresIn is stored for the key, and also ends the access tokens that the key had before.',
    create: () => {
      const seen = watch(() => ({ endMs: new WeakMap<TokenPair, number>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            if (pair.expiresInMs === undefined) return result
            for (const { pair: older } of seen.context.state.tokens.values()) {
              if (older.key === pair.key && older !== pair) seen.memory.endMs.set(older, pair.accessExpiryMs)
            }
            return result
          },
          accessExpired: (pair, nowMs) =>
            right.accessExpired(pair, nowMs) || nowMs >= (seen.memory.endMs.get(pair) ?? Number.POSITIVE_INFINITY),
        },
      }
    },
  },
]
