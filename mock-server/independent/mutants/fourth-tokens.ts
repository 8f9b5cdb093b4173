import type { MockAnswer } from '../../http-server.ts'
import { rules as right } from '../../rules.ts'
import type { TokenPair } from '../../state.ts'
import { answerFor, isAccepted, tokenText } from '../calls.ts'
import { callerOf } from '../creators.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { isMethod } from '../requests.ts'
import { watch } from '../watch.ts'

/** Parts 4.2, 5.3 and 5.4: access tokens, their lifetimes and their addresses. */
export const fourthTokenMutants: IndependentMutant[] = [
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-cut-to-six-digits',
    breaks: 'expires-in/reported',
    about: 'The number is in a column of six characters.',
    create: () => ({
      rules: {
        accessLifeMs: (expiresInMs, profile) =>
          right.accessLifeMs(expiresInMs === undefined ? undefined : Number(String(expiresInMs).slice(0, 6)), profile),
      },
    }),
  },
  {
    // "Access token expires after NUMBER milliseconds"
    id: 'expires-in-below-ten-thousand-taken-for-seconds',
    breaks: 'expires-in/reported',
    create: () => ({
      rules: {
        accessLifeMs: (expiresInMs, profile) =>
          right.accessLifeMs(
            expiresInMs !== undefined && expiresInMs < 10_000 ? expiresInMs * 1000 : expiresInMs,
            profile,
          ),
      },
    }),
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'address-not-checked-with-session-and-expires-in',
    breaks: 'addresses/bound',
    about: 'Three restrictions together: the last of them to be stored overwrites the first.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          addressTaken: (addresses, remoteAddress) =>
            right.addressTaken(addresses, remoteAddress) ||
            (seen.pair?.session !== undefined && seen.pair.expiresInMs !== undefined),
        },
      }
    },
  },
  {
    // "Token usable only from connections from the IPv4 address ADDR"
    id: 'address-forgotten-once-its-token-created-a-key',
    breaks: 'addresses/bound',
    needsState: true,
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          ...seen.notePair,
          storedKey: (key) => {
            if (seen.pair !== undefined) seen.pair.addresses = []
            return key
          },
        },
      }
    },
  },
  {
    // "refreshToken | string | Token for renewal", and the access token is for "the Authorization header"
    id: 'access-token-of-third-pair-refreshes',
    breaks: 'tokens/access-is-no-refresh',
    needsState: true,
    create: () => ({
      rules: {
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          return use === 'refresh' && token?.pair.generation === 2 ? { ...token, kind: 'refresh' } : token
        },
      },
    }),
  },
  {
    // "refreshToken | string | Token for renewal"; what goes into the header is the access token
    id: 'refresh-token-of-session-with-address-authorizes',
    breaks: 'tokens/refresh-is-no-access',
    create: () => ({
      rules: {
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          const mixed = token?.pair.session !== undefined && token.pair.addresses.length > 0
          return use === 'access' && token && mixed ? { ...token, kind: 'access' } : token
        },
      },
    }),
  },
  {
    // "context | Token limited to the Context API": the token of that grant, whatever was granted beside it
    id: 'pairs-of-same-key-and-millisecond-share-scope',
    breaks: 'scopes/context',
    needsState: true,
    about: 'The scope is stored under the key and the time of the grant; the later grant overwrites it.',
    create: () => {
      const seen = watch(() => ({ pairs: new Map<string, TokenPair[]>() }))
      return {
        around: seen.around,
        rules: {
          grantResult: (result, pair) => {
            const place = `${pair.key.id} ${pair.issuedMs}`
            const pairs = [...(seen.memory.pairs.get(place) ?? []), pair]
            seen.memory.pairs.set(place, pairs)
            for (const one of pairs) one.scope = pair.scope
            return result
          },
        },
      }
    },
  },
  {
    // "Access tokens have a time-to-live"; only a refresh and the expiry move a pair out of "valid" (part 3)
    id: 'refused-key-creation-ends-its-token',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'The transaction that is rolled back holds the token too.',
    create: () => {
      const seen = watch()
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return (request) => {
            const answer = inner(request)
            const { pair } = seen
            if (pair && !(answer instanceof Promise) && isMethod(request, 'manager/createApiKey'))
              pair.accessRevoked ||= !isAccepted(answer)
            return answer
          }
        },
        rules: seen.notePair,
      }
    },
  },
  {
    // "the access token's expiry time passed | access token expired"
    id: 'refused-call-keeps-its-token-alive',
    breaks: 'tokens/expire',
    needsState: true,
    about: 'The error path writes the time of the last use, from which the lifetime counts.',
    create: () => {
      const seen = watch(() => ({ usedMs: new Map<TokenPair, number>() }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return (request) => {
            const answer = inner(request)
            const { pair } = seen
            if (pair && !(answer instanceof Promise) && !isAccepted(answer)) seen.memory.usedMs.set(pair, context.now())
            return answer
          }
        },
        rules: {
          accessExpired: (pair, nowMs) => {
            seen.notePair.accessExpired(pair, nowMs)
            const usedMs = seen.memory.usedMs.get(pair) ?? pair.issuedMs
            return nowMs >= pair.accessExpiryMs - pair.issuedMs + usedMs
          },
        },
      }
    },
  },
  {
    // "Access tokens have a time-to-live"
    id: 'access-tokens-of-key-made-by-created-key-never-expire',
    breaks: 'tokens/expire',
    needsState: true,
    create: () => {
      const seen = watch(() => ({ keys: new Set<string>() }))
      return {
        around: seen.around,
        rules: {
          storedKey: (key) => {
            if (callerOf(seen)?.initial === false) seen.memory.keys.add(key.id)
            return key
          },
          accessExpired: (pair, nowMs) =>
            seen.notePair.accessExpired(pair, nowMs) && !seen.memory.keys.has(pair.key.id),
        },
      }
    },
  },
  {
    // "old pair revoked"
    id: 'accepted-listing-cached-by-token-for-a-minute',
    breaks: 'refresh/revokes-access',
    needsState: true,
    about: 'A proxy repeats the answer to a token that it knows, with the id of the call.',
    create: () => {
      const seen = watch(() => ({ answers: new Map<string, { answer: MockAnswer; untilMs: number }>() }))
      return {
        around: (handle, context) => {
          const inner = seen.around(handle, context)
          return async (request) => {
            const token = isMethod(request, 'solution/listSolutions') ? tokenText(request) : ''
            const known = seen.memory.answers.get(token)
            if (known && context.now() < known.untilMs) return answerFor(known.answer, request)
            const answer = await inner(request)
            if (token !== '' && isAccepted(answer))
              seen.memory.answers.set(token, { answer, untilMs: context.now() + 60_000 })
            return answer
          }
        },
      }
    },
  },
]
