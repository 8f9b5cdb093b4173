import { rules as referenceRules } from '../../rules.ts'
import { chain, changeAnswers, changeRefusals, textAnswer } from '../answers.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { callRefusedTokensExpired } from './tenth-answers.ts'
import { storeNonces, storeNoncesOfAcceptedCalls } from './tenth-keys.ts'
import { limitEachMethod, lockLongerEachTime } from './tenth-limits.ts'
import {
  dropLongestUnused,
  withdrawAtForeignAddress,
  withdrawOutsideScope,
  withdrawShownRefreshToken,
} from './tenth-tokens.ts'

const minute = 60_000
const hour = 60 * minute

/** The JSON error that a gateway in front of gRPC writes. */
const answerLikeGrpc: Around = changeRefusals((answer) => {
  const code = { 400: 3, 401: 16, 403: 7, 404: 12 }[answer.status] ?? 2
  const body = JSON.stringify({ code, message: '', details: [] })
  return textAnswer(answer, answer.status, body, { 'content-type': 'application/json', 'grpc-status': String(code) })
})

/** The JSON error of a web framework for Java. */
const answerLikeSpring: Around = changeRefusals((answer, _request, context) => {
  const error = { 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found' }[answer.status]
  const timestamp = new Date(context.now()).toISOString().replace('Z', '+00:00')
  const body = JSON.stringify({ timestamp, status: answer.status, error, path: '/api' })
  return textAnswer(answer, answer.status, body, { 'content-type': 'application/json' })
})

/** JSON as PHP writes it: each slash, which stands only in strings, has a backslash. */
const escapeSlashes: Around = changeAnswers((answer) => ({
  ...answer,
  headers: { ...answer.headers, 'x-powered-by': 'PHP/8.2.1', via: '1.1 gateway' },
  body: answer.body.startsWith('{') ? answer.body.replaceAll('/', '\\/') : answer.body,
}))

/** Whether a timestamp is in the current minute of the server or in the one before. */
function isInLastTwoMinutes(timestamp: string, nowMs: number): boolean {
  const minutesAgo = Math.floor(nowMs / minute) - Math.floor(Number(timestamp) / minute)
  return /^[0-9]{13}$/.test(timestamp) && (minutesAgo === 0 || minutesAgo === 1)
}

/** Servers with several habits of their own. */
export const tenthCombinedVariants: IndependentVariant[] = [
  // Parts 7 and 8 show no errors, rate or bound on tokens, part 5.1 no uniqueness of nonces, part 3 no new refresh lifetime.
  {
    id: 'go-service-with-a-redis-store',
    questions: ['limits/live-tokens', 'signatures/nonce-reuse', 'errors/shape', 'refresh/lifetime-renewed'],
    about: 'A cache of 48 pairs, errors of gRPC, refresh tokens that end with their line, a nonce once for each hash.',
    profile: { refusalStatus: 'http', refreshLifetime: 'kept', refreshLifeMs: 12 * hour },
    create() {
      const cache = dropLongestUnused(48)
      const nonces = storeNonces(
        (nonce) => nonce,
        ({ status }) => status !== 401,
      )
      return {
        around: chain(...[cache.around, answerLikeGrpc, nonces.around].filter((around) => around !== undefined)),
        rules: { ...cache.rules, ...nonces.rules },
      }
    },
  },
  // Part 7 shows neither errors nor the outcome of rejected credentials, part 2 neither users nor names that come again.
  {
    id: 'java-service-with-a-lockout-library',
    questions: ['limits/lock-out', 'errors/shape', 'errors/http-status', 'sessions/reused-name', 'sessions/age'],
    about: 'Locks that double, the error page of a framework, session names that join, the longest unused leaves.',
    profile: { refusalStatus: 'http', reusedSessionName: 'joins', oldestSession: 'longest-unused' },
    create: () => ({ around: chain(lockLongerEachTime(), answerLikeSpring) }),
  },
  // Part 8 shows no rates, part 4.3 no result of a listing, part 5.3 no form of tokens; JSON allows an escaped slash.
  {
    id: 'php-pages-behind-an-api-gateway',
    questions: ['limits/rate', 'solutions/list-result', 'tokens/format', 'envelope/content-type'],
    about: 'Tokens with slashes, which JSON escapes, a quota for each method with 503, connections that close.',
    profile: { closeConnections: true, contentType: 'json-only', listShape: 'counted' },
    create: () => ({
      around: chain(escapeSlashes, limitEachMethod()),
      rules: { tokenText: (_kind, fresh) => `${fresh.slice(0, 20)}/${fresh.slice(20)}//${fresh.slice(0, 2)}=` },
    }),
  },
  // Part 2 shows neither users nor what counts as a session, part 7 no errors, part 3 no lifetime of a refreshed pair.
  {
    id: 'rewrite-with-another-session-store',
    questions: ['sessions/user', 'sessions/age', 'errors/codes', 'refresh/lifetime-renewed', 'grants/scope-echo'],
    about: 'All keys share 16 sessions, the longest unused leaves, and its tokens are said to have expired.',
    profile: {
      sessionUser: 'all-keys',
      oldestSession: 'longest-unused',
      reusedSessionName: 'joins',
      refreshLifetime: 'kept',
      scopeEcho: 'sorted',
      expiresInKept: false,
    },
    create: () => ({ around: callRefusedTokensExpired }),
  },
  // Part 7 does not show the outcome of a rejected token, scope or address, part 5.4 not who may ask for which address.
  {
    id: 'bank-that-withdraws-every-misused-token',
    questions: ['errors/outcomes', 'refresh/family', 'refresh/foreign-address', 'addresses/foreign-grant'],
    about: 'A token from a foreign address, outside its scope or in the wrong place ends, and so does a reused line.',
    profile: { reuseRevokesFamily: true, refreshChecksAddress: true },
    create: () => ({
      around: chain(withdrawAtForeignAddress, withdrawOutsideScope, withdrawShownRefreshToken),
      rules: { addressChecked: () => true },
    }),
  },
  // Part 5.1 does not show how far a timestamp may be off nor the uniqueness of nonces, part 8 shows no lifetimes.
  {
    id: 'island-with-a-clock-of-coarse-steps',
    questions: [
      'signatures/time-window',
      'signatures/nonce-burnt',
      'limits/token-lifetimes',
      'keys/limit-counts-initial',
    ],
    about: 'A timestamp is of this minute or the last, expiries are multiples of 256 ms, the clock is 20 s ahead.',
    profile: { clockOffsetMs: 20_000, initialKeyCounts: true },
    create() {
      const nonces = storeNoncesOfAcceptedCalls()
      return {
        ...nonces,
        rules: {
          ...nonces.rules,
          timestampTaken: (timestamp, nowMs) => isInLastTwoMinutes(timestamp, nowMs),
          expiry: (ms, profile) => Math.floor(referenceRules.expiry(ms, profile) / 256) * 256,
        },
      }
    },
  },
]
