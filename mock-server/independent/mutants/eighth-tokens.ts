import { methods } from '../../methods/index.ts'
import { rules as right } from '../../rules.ts'
import { pairsOf } from '../../token-state.ts'
import { readMembers, tokenText } from '../calls.ts'
import type { IndependentMutant } from '../independent-mutant.ts'
import { watch } from '../watch.ts'

const minute = 60_000

/** The result of part 4.2, and part 5.3. */
export const eighthTokenMutants: IndependentMutant[] = [
  {
    // "the access token's expiry time passed | access token expired"
    id: 'access-token-works-a-minute-beyond-its-expiry',
    breaks: 'tokens/expire',
    about: 'A tolerance for clocks that differ, although the server made the expiry itself.',
    create: () => ({ rules: { accessExpired: (pair, nowMs) => nowMs >= pair.accessExpiryMs + minute } }),
  },
  {
    // "Callers prove their identity with an API key (by signature or by credentials) or with an access token"
    id: 'scheme-word-without-credentials-lets-in',
    breaks: 'authorization/required',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: { forgives: () => /^[A-Za-z]+ *$/.test(seen.request.headers.authorization ?? '') },
      }
    },
  },
  {
    // "Timestamp of expiry, of the same kind as the 13-digit timestamp used in signatures."
    id: 'access-expiry-of-session-in-seconds',
    breaks: 'grants/result-access-token-expiry',
    create: () => ({
      rules: {
        grantResult: (result, { session }) =>
          session === undefined
            ? result
            : { ...result, accessTokenExpiry: Math.floor(result.accessTokenExpiry / 1000) },
      },
    }),
  },
  {
    // "tokenType | string | `Bearer`."
    id: 'token-type-missing-with-expires-in',
    breaks: 'grants/result-token-type',
    create: () => ({
      rules: {
        grantResult: (result, { expiresInMs }) =>
          expiresInMs === undefined ? result : { ...result, tokenType: undefined },
      },
    }),
  },
  {
    // "refreshToken | string | Token for renewal."
    id: 'refresh-token-with-expires-in-authorizes',
    breaks: 'tokens/refresh-is-no-access',
    create: () => ({
      rules: {
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          return use === 'access' && token?.pair.expiresInMs !== undefined ? { ...token, kind: use } : token
        },
      },
    }),
  },
  {
    // "accessToken | string | Token for the Authorization header."
    id: 'access-token-of-created-key-refreshes',
    breaks: 'tokens/access-is-no-refresh',
    create: () => ({
      rules: {
        tokenNamed: (text, find, _all, use) => {
          const token = find(text)
          return use === 'refresh' && token?.pair.key.initial === false ? { ...token, kind: use } : token
        },
      },
    }),
  },
  {
    // "An access token has a time-to-live": its own
    id: 'expired-access-token-ends-others-of-its-key',
    breaks: 'tokens/authorize',
    needsState: true,
    about: 'Who shows an expired token loses the other access tokens of the key.',
    create: () => {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          accessExpired: (pair, nowMs) => {
            const isOver = right.accessExpired(pair, nowMs)
            const others = isOver ? pairsOf(seen.context).filter(({ key }) => key === pair.key) : []
            for (const other of others) other.accessRevoked = true
            return isOver
          },
        },
      }
    },
  },
  {
    // "An access token has a time-to-live": an unknown method does not end it
    id: 'call-of-unknown-method-ends-its-token',
    breaks: 'tokens/authorize',
    needsState: true,
    create: () => ({
      around: (handle, context) => (request) => {
        const method = readMembers(request.body.toString('utf8'))?.method
        const token = context.state.tokens.get(tokenText(request))
        if (token && typeof method === 'string' && !methods.has(method)) token.pair.accessRevoked = true
        return handle(request)
      },
    }),
  },
]
