import { createNonceMemory } from '../../nonces.ts'
import { changeAnswers, changeRefusals, httpDate, textAnswer } from '../answers.ts'
import { isAccepted } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { createMemory } from '../server-memory.ts'
import { watch } from '../watch.ts'

const minute = 60_000
const year = 365 * 24 * 60 * minute

/** At most `calls` calls from one address in `windowMs`; more get 429 in JSON-RPC, with the time to wait. */
function limitAddress({ calls, windowMs }: { calls: number; windowMs: number }): Around {
  const windows = createMemory(() => new Map<string, { sinceMs: number; calls: number }>())
  return (handle, context) => (request) => {
    const nowMs = context.now()
    const known = windows(context).get(request.remoteAddress)
    const window = known && nowMs - known.sinceMs < windowMs ? known : { sinceMs: nowMs, calls: 0 }
    windows(context).set(request.remoteAddress, window)
    window.calls += 1
    if (window.calls <= calls) return handle(request)
    const leftMs = window.sinceMs + windowMs - nowMs
    return {
      status: 429,
      headers: { 'content-type': 'application/json', 'retry-after': String(Math.ceil(leftMs / 1000)) },
      body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32029,"message":"Slow down"}}',
    }
  }
}

/** Forgets every nonce at each full minute. */
function forgetNoncesEachMinute(): Around {
  const last = createMemory(() => ({ minute: 0 }))
  return (handle, context) => (request) => {
    const memory = last(context)
    const now = Math.floor(context.now() / minute)
    if (memory.minute !== now) context.state.nonces = createNonceMemory(context.bounds.nonces)
    memory.minute = now
    return handle(request)
  }
}

/** Refuses a signature that was accepted before. */
function signaturesOnce(): Around {
  const used = createMemory(() => new Set<string>())
  return (handle, context) => {
    const note = changeAnswers((answer, { headers }) => {
      if (headers.authorization?.includes(';') && isAccepted(answer)) used(context).add(headers.authorization)
      return answer
    })(handle, context)
    return (request) => {
      const { authorization = '' } = request.headers
      if (!used(context).has(authorization)) return note(request)
      return note({ ...request, headers: { ...request.headers, authorization: `${authorization}used` } })
    }
  }
}

/** Parts 5.1, 7 and 8, and servers with several habits of their own. */
export const sixthCombinedVariants: IndependentVariant[] = [
  {
    id: 'nonces-of-16-bytes-and-timestamps-of-five-seconds',
    questions: ['signatures/nonce-length', 'signatures/time-window'],
    about:
      'A nonce is BASE64 of 16 bytes at least, a timestamp is at most 5 s old or 2 s ahead, and the clock is behind.',
    profile: { clockOffsetMs: -20 * minute, closeConnections: true },
    create: () => ({
      rules: {
        nonceTaken: (nonce) => /^[A-Za-z0-9+/]{22,64}={0,2}$/.test(nonce) && Buffer.from(nonce, 'base64').length >= 16,
        timestampTaken: (timestamp, nowMs) =>
          /^[0-9]{13}$/.test(timestamp) && Number(timestamp) >= nowMs - 5000 && Number(timestamp) <= nowMs + 2000,
      },
    }),
  },
  {
    id: 'nonces-forgotten-at-every-full-minute',
    questions: ['signatures/nonce-reuse', 'signatures/nonce-burnt'],
    about: 'The list of nonces is emptied by the clock, and only an accepted signature uses its nonce up.',
    profile: { nonceBurntByBadSignature: false },
    create: () => ({ around: forgetNoncesEachMinute() }),
  },
  {
    id: 'signatures-and-not-nonces-are-used-once',
    questions: ['signatures/nonce-reuse', 'signatures/base64-padding'],
    about: 'The same header is refused the second time; a nonce can come again in another signature.',
    profile: { nonceReuse: 'accepted', unpaddedSignatures: 'accepted' },
    create: () => ({ around: signaturesOnce() }),
  },
  {
    id: 'clock-twenty-years-ahead',
    questions: ['signatures/time-window', 'limits/token-lifetimes'],
    about: 'The battery of the clock is empty; refresh tokens live for a year, and so do access tokens.',
    profile: { clockOffsetMs: 20 * year, accessLifeMs: year, refreshLifeMs: year },
  },
  {
    id: 'date-header-of-the-last-full-minute',
    questions: ['signatures/time-window', 'errors/id'],
    about: 'The Date of answers is made once a minute, and a timestamp may be 90 seconds off.',
    profile: { timeWindowMs: 90_000, errorId: 'null' },
    create: () => ({
      around: changeAnswers((answer, _request, context) => {
        const date = httpDate(Math.floor(context.now() / minute) * minute)
        return { ...answer, headers: { ...answer.headers, date } }
      }),
    }),
  },
  {
    id: 'sessions-end-after-five-minutes-and-names-add',
    questions: ['sessions/lifetime', 'sessions/reused-name', 'sessions/age'],
    about: 'A session lasts five minutes whatever is refreshed, and the longest unused one makes room.',
    profile: { reusedSessionName: 'adds', oldestSession: 'longest-unused' },
    create() {
      const seen = watch()
      return {
        around: seen.around,
        rules: {
          issuedTokenWorks: (_kind, { session }) =>
            session === undefined || seen.nowMs < session.createdMs + 5 * minute,
        },
      }
    },
  },
  {
    id: 'hotel-with-one-life-for-both-tokens-and-one-guest-book',
    questions: ['limits/token-lifetimes', 'sessions/user', 'sessions/reused-name', 'sessions/lifetime'],
    about: 'Both tokens live for 30 seconds, all keys are one user, and the name of a live session is refused.',
    profile: { accessLifeMs: 30_000, refreshLifeMs: 30_000, sessionUser: 'all-keys' },
    create: () => ({ rules: { reusedSessionName: () => 'refused' } }),
  },
  {
    id: 'school-with-token-alone-and-a-kind-reader',
    questions: [
      'tokens/prefix',
      'envelope/jsonrpc-version',
      'envelope/params-type',
      'envelope/id-types',
      'envelope/missing-id',
      'envelope/batch',
      'scopes/case',
      'grants/unknown-scope',
      'grants/empty-scope',
      'grants/scope-echo',
    ],
    about: 'Whatever can be understood is taken, and the token stands alone in the header.',
    profile: {
      tokenPrefix: '',
      schemeCase: 'any',
      strictEnvelope: false,
      idTypes: 'any',
      notifications: 'no-body',
      batch: 'answered',
      scopeCase: 'any',
      unknownScopes: 'left-out',
      emptyScope: 'whole-key',
      scopeEcho: 'as-requested',
    },
    settings: { tokenPrefix: '' },
  },
  {
    id: 'bakery-with-thirty-calls-in-five-seconds',
    questions: ['limits/rate', 'errors/shape', 'errors/http-status'],
    about: 'Each address has thirty calls in five seconds and is told how long to wait; other refusals are text.',
    profile: { errorBody: 'text' },
    create: () => ({ around: limitAddress({ calls: 30, windowMs: 5000 }) }),
  },
  {
    id: 'large-bodies-and-long-headers-get-no-answer',
    questions: ['limits/request-size', 'signatures/large-body', 'signatures/nonce-length'],
    about: 'A firewall cuts the connection for a body above 4 KiB or an Authorization header above 1 KiB.',
    create: () => ({
      around: (handle) => (request) =>
        request.body.length > 4096 || (request.headers.authorization ?? '').length > 1024
          ? { status: 0, headers: {}, body: '', hangUp: true }
          : handle(request),
    }),
  },
  {
    id: 'each-way-to-authorize-is-refused-by-another-library',
    questions: ['errors/shape', 'errors/http-status', 'errors/outcomes'],
    about: 'Signatures get no body, Basic a challenge, tokens the words of OAuth, grants JSON-RPC, strangers a page.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer, request) => {
        const { authorization = '' } = request.headers
        if (isMethod(request, 'manager/auth')) return { ...answer, status: 200 }
        if (authorization === '') return textAnswer(answer, 404, '<h1>Not found</h1>', { 'content-type': 'text/html' })
        if (authorization.startsWith('Basic '))
          return textAnswer(answer, 401, 'Unauthorized', { 'www-authenticate': 'Basic realm="api"' })
        if (!authorization.startsWith('Bearer ')) return textAnswer(answer, 401, '', {})
        return textAnswer(answer, 400, '{"error":"invalid_token"}', { 'content-type': 'application/json' })
      }),
    }),
  },
  {
    id: 'farm-with-one-spelling-and-no-more-rights-than-given',
    questions: [
      'scopes/apikey-spelling',
      'keys/scope-above-creator',
      'grants/authorization-header',
      'addresses/foreign-grant',
    ],
    about: 'Only apikey is known, nobody gives more than they have, and an address is granted to its own caller only.',
    profile: {
      apikeySpelling: 'apikey',
      keyScopeAboveCreator: 'refused',
      authHeaderOnGrant: 'judged',
    },
    create: () => ({ rules: { addressChecked: () => true } }),
  },
  {
    id: 'eleventh-key-gets-202-and-no-body',
    questions: ['keys/limit-exceeded', 'errors/shape', 'errors/http-status'],
    about: 'A creation beyond the tenth is left to a person who never comes; other refusals have statuses.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) => (answer.body.includes('24877') ? textAnswer(answer, 202, '', {}) : answer)),
    }),
  },
]
