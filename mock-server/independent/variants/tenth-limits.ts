import type { ServerContext } from '../../context.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { changeAnswers } from '../answers.ts'
import { isAccepted, meet, paramsOf, readMembers, scopeOf } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'

/** The wait as Retry-After: whole seconds, at least one. */
const retryAfter = (waitMs: number): string => String(Math.max(Math.ceil(waitMs / 1000), 1))

const waitAnswer = (status: number, waitMs: number): MockAnswer => ({
  status,
  headers: { 'content-type': 'text/plain', 'retry-after': retryAfter(waitMs) },
  body: 'Later',
})

/** A JSON-RPC error for a request that the server has not looked at. */
const errorAnswer = (request: MockRequest, status: number, code: number, message: string): MockAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: readMembers(request.body.toString('utf8'))?.id ?? null,
    error: { code, message },
  }),
})

/** A throttled answer whose error says something else. */
function waitAnswerLike(request: MockRequest, waitMs: number, code: number, message: string): MockAnswer {
  const answer = errorAnswer(request, 429, code, message)
  return { ...answer, headers: { ...answer.headers, 'retry-after': retryAfter(waitMs) } }
}

interface Quota {
  /** Calls with the same name share a quota; undefined: the call is not limited. */
  nameOf(request: MockRequest): string | undefined
  mostOf(name: string): number
  windowMs: number
  answerAbove(request: MockRequest, waitMs: number): MockAnswer
}

/** Limits how many calls of each name are let through in any `windowMs`. */
export function limitCalls({ nameOf, mostOf, windowMs, answerAbove }: Quota): Around {
  const quotas = createMemory(() => new Map<string, number[]>())
  return (handle, context) => (request) => {
    const name = nameOf(request)
    if (name === undefined) return handle(request)
    const nowMs = context.now()
    const recentMs = (quotas(context).get(name) ?? []).filter((ms) => ms > nowMs - windowMs)
    if (recentMs.length >= mostOf(name)) return answerAbove(request, (recentMs[0] ?? nowMs) + windowMs - nowMs)
    quotas(context).set(name, [...recentMs, nowMs])
    return handle(request)
  }
}

const methodQuotas: { readonly [method: string]: number } = {
  'manager/createApiKey': 4,
  'manager/auth': 12,
  'solution/listSolutions': 40,
}

/** Each method has a number of calls in a second; above it there is 503 with Retry-After. */
export const limitEachMethod = (): Around =>
  limitCalls({
    nameOf: (request) => Object.keys(methodQuotas).find((method) => isMethod(request, method)),
    mostOf: (method) => methodQuotas[method] ?? 1,
    windowMs: 1000,
    answerAbove: (_request, waitMs) => waitAnswer(503, waitMs),
  })

/** A bucket of 50 that gets 25 a second: an accepted call takes one, a refused call takes five. */
function payForCalls(): Around {
  const buckets = createMemory((context: ServerContext) => ({ left: 50, atMs: context.now() }))
  const pay = changeAnswers((answer, _request, context) => {
    buckets(context).left -= isAccepted(answer) ? 1 : 5
    return answer
  })
  return (handle, context) => {
    const paid = pay(handle, context)
    return (request) => {
      const bucket = buckets(context)
      const nowMs = context.now()
      bucket.left = Math.min(50, bucket.left + ((nowMs - bucket.atMs) * 25) / 1000)
      bucket.atMs = nowMs
      return bucket.left >= 1 ? paid(request) : waitAnswer(429, (1 - bucket.left) * 40)
    }
  }
}

interface Lock {
  /** Which calls are counted and locked out. */
  isTry(request: MockRequest): boolean
  /** This many wrong tries in a row lock a key. */
  most: number
  /** How long the lock lasts, by how many locks came before it without a right try in between. */
  lockMs(earlier: number): number
  answerLocked(request: MockRequest, leftMs: number): MockAnswer
}

/** Locks a key after wrong tries that name it. Expects a profile with HTTP statuses. Tokens are not affected. */
export function lockKeys({ isTry, most, lockMs, answerLocked }: Lock): Around {
  const keys = createMemory(() => new Map<string, { wrong: number; locks: number; untilMs: number }>())
  return (handle, context) => {
    const recordOf = (request: MockRequest) => {
      const id = isTry(request) ? namedKeyId(request) : undefined
      if (id === undefined) return undefined
      const record = keys(context).get(id) ?? { wrong: 0, locks: 0, untilMs: 0 }
      keys(context).set(id, record)
      return record
    }
    const counted = changeAnswers((answer, request) => {
      const record = recordOf(request)
      if (record && isAccepted(answer)) Object.assign(record, { wrong: 0, locks: 0 })
      if (!record || answer.status !== 401) return answer
      record.wrong += 1
      if (record.wrong < most) return answer
      Object.assign(record, { wrong: 0, locks: record.locks + 1, untilMs: context.now() + lockMs(record.locks) })
      return answer
    })(handle, context)
    return (request) => {
      const leftMs = (recordOf(request)?.untilMs ?? 0) - context.now()
      return leftMs > 0 ? answerLocked(request, leftMs) : counted(request)
    }
  }
}

/** Five wrong tries in a row lock a key for a second, the next five for two seconds, and so on up to eight. */
export const lockLongerEachTime = (): Around =>
  lockKeys({
    isTry: () => true,
    most: 5,
    lockMs: (earlier) => Math.min(1000 * 2 ** earlier, 8000),
    answerLocked: (_request, leftMs) => waitAnswer(429, leftMs),
  })

const isCredentialsGrant = (request: MockRequest): boolean =>
  isMethod(request, 'manager/auth') && paramsOf(request).grantType === 'api_key_credentials'

/** Bans an address for `banMs` after `most` calls within ten seconds that name keys which do not exist. */
function banGuessers(most: number, banMs: number): Around {
  const addresses = createMemory(() => new Map<string, { guessesMs: number[]; untilMs: number }>())
  return (handle, context) => {
    const counted = changeAnswers((answer, request) => {
      const id = namedKeyId(request)
      if (id === undefined || isAccepted(answer) || context.state.keys.has(id)) return answer
      const nowMs = context.now()
      const before = addresses(context).get(request.remoteAddress)?.guessesMs ?? []
      const guessesMs = [...before.filter((ms) => ms > nowMs - 10_000), nowMs]
      const ban = guessesMs.length < most ? { guessesMs, untilMs: 0 } : { guessesMs: [], untilMs: nowMs + banMs }
      addresses(context).set(request.remoteAddress, ban)
      return answer
    })(handle, context)
    return (request) => {
      const untilMs = addresses(context).get(request.remoteAddress)?.untilMs ?? 0
      if (context.now() >= untilMs) return counted(request)
      return { status: 403, headers: { 'content-type': 'text/html' }, body: '<h1>Access from your address denied</h1>' }
    }
  }
}

/** A refresh token whose refresh is in work gets 503 until that is done. */
function refuseWhileRefreshing(): Around {
  const inWork = createMemory(() => new Set<string>())
  return (handle, context) => (request) => {
    const { grantType, refreshToken } = paramsOf(request)
    if (grantType !== 'refresh_token' || typeof refreshToken !== 'string') return handle(request)
    const tokens = inWork(context)
    if (tokens.has(refreshToken)) return waitAnswer(503, 1000)
    tokens.add(refreshToken)
    return meet()
      .then(() => handle(request))
      .finally(() => tokens.delete(refreshToken))
  }
}

/** Parts 7 and 8: quotas and locks, and what they look like. */
export const tenthLimitVariants: IndependentVariant[] = [
  // Part 8 does not show rate limits, and part 7 does not show what an error says.
  {
    id: 'throttled-grants-look-like-a-wrong-secret',
    questions: ['limits/rate', 'errors/codes', 'errors/shape'],
    about: 'The seventh grant of a key in two seconds gets 429 with the error of a wrong secret.',
    create: () => ({
      around: limitCalls({
        nameOf: (request) => (isCredentialsGrant(request) ? String(paramsOf(request).apiKeyId) : undefined),
        mostOf: () => 6,
        windowMs: 2000,
        answerAbove: (request, waitMs) => waitAnswerLike(request, waitMs, 24876, 'Invalid credentials'),
      }),
    }),
  },
  // Part 8 does not show rate limits. The limit of ten keys is another one, though the error is the same.
  {
    id: 'throttled-creations-look-like-the-key-limit',
    questions: ['limits/rate', 'keys/limit-exceeded', 'errors/codes'],
    about: 'The fourth creation in five seconds gets 429 and the error of the eleventh key.',
    create: () => ({
      around: limitCalls({
        nameOf: (request) => (isMethod(request, 'manager/createApiKey') ? 'creation' : undefined),
        mostOf: () => 3,
        windowMs: 5000,
        answerAbove: (request, waitMs) => waitAnswerLike(request, waitMs, 24877, 'Api keys limit exceeded'),
      }),
    }),
  },
  // Part 8 does not show rate limits, nor which calls count.
  {
    id: 'refused-calls-cost-five-times-as-much',
    questions: ['limits/rate', 'limits/lock-out'],
    about: 'Everyone shares 50 calls that grow back by 25 a second, and a mistake counts as five of them.',
    create: () => ({ around: payForCalls() }),
  },
  // Part 8 does not show rate limits, and part 2 does not show what using a session name again does.
  {
    id: 'session-name-granted-four-times-in-five-seconds',
    questions: ['limits/rate', 'sessions/reused-name'],
    about: 'The name of a session joins it, and a fifth grant of this name in five seconds gets 429.',
    profile: { reusedSessionName: 'joins' },
    create: () => ({
      around: limitCalls({
        nameOf: (request) => {
          const name = scopeOf(request).find((word) => word.startsWith('session:'))
          return isMethod(request, 'manager/auth') ? name : undefined
        },
        mostOf: () => 4,
        windowMs: 5000,
        answerAbove: (_request, waitMs) => waitAnswer(429, waitMs),
      }),
    }),
  },
  // Part 7 does not show the outcome of rejected credentials; the lock ends by itself.
  {
    id: 'lock-doubles-with-every-five-wrong-tries',
    questions: ['limits/lock-out', 'limits/rate', 'errors/http-status'],
    about: 'A key waits one second after five wrong tries, then two, four and eight, until a right one comes.',
    profile: { refusalStatus: 'http' },
    create: () => ({ around: lockLongerEachTime() }),
  },
  // Part 7 does not show the outcome of rejected credentials, nor what its error says.
  {
    id: 'locked-key-is-said-not-to-exist',
    questions: ['limits/lock-out', 'errors/outcomes', 'errors/codes'],
    about: 'For two seconds after seven wrong tries in a row, a key is refused like one that was deleted.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: lockKeys({
        isTry: () => true,
        most: 7,
        lockMs: () => 2000,
        answerLocked: (request) => errorAnswer(request, 401, 24875, 'Api key does not exist'),
      }),
    }),
  },
  // Part 7 does not show the outcome of rejected credentials. Basic, signatures and tokens go on during the lock.
  {
    id: 'wrong-grants-lock-only-the-grants-of-a-key',
    questions: ['limits/lock-out', 'errors/outcomes'],
    about: 'After six wrong grants in a row, even a right grant of the key has a wrong secret for two seconds.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: lockKeys({
        isTry: isCredentialsGrant,
        most: 6,
        lockMs: () => 2000,
        answerLocked: (request) => errorAnswer(request, 401, 24876, 'Invalid credentials'),
      }),
    }),
  },
  // Part 7 does not show the outcome of a credential that names no key.
  {
    id: 'guessed-key-ids-ban-their-address',
    questions: ['limits/lock-out', 'errors/http-status', 'errors/shape'],
    about: 'Eight unknown key ids within ten seconds close the service to their address for two seconds, with 403.',
    create: () => ({ around: banGuessers(8, 2000) }),
  },
  // Part 8 does not show rate limits. Of several refreshes with one token one succeeds, and the rest fail when they come again.
  {
    id: 'refresh-in-work-makes-the-others-come-again',
    questions: ['limits/rate', 'refresh/lifetime-renewed', 'errors/http-status'],
    about: 'A refresh locks its row, and others with the same token get 503; the end of the line stays.',
    profile: { refreshLifetime: 'kept' },
    create: () => ({ around: refuseWhileRefreshing() }),
  },
]
