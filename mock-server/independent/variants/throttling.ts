import type { ServerContext } from '../../context.ts'
import { letPass } from '../../faults.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { plainAnswer } from '../../rpc.ts'
import { changeAnswers, httpDate } from '../answers.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'

/** Answers a call that came too soon. It takes 25 ms, so that a client that tries again at once gets on. */
async function tooSoon(context: ServerContext, headers: { [name: string]: string }, status = 429): Promise<MockAnswer> {
  await letPass(context, 25)
  const answer = plainAnswer(context, status, status === 429 ? 'Too many requests' : 'Service unavailable')
  return { ...answer, headers: { ...answer.headers, ...headers } }
}

interface RateLimit {
  calls: number
  /** The headers of a throttled answer, given the server's time. */
  headers(nowMs: number): { [name: string]: string }
  status?: number
  /** Calls are counted for each subject; undefined: not counted. */
  subject?(request: MockRequest): string | undefined
}

/** The maximum number of calls in each second of the server's clock. */
function limitRate({ calls, headers, status = 429, subject = () => 'all' }: RateLimit): Around {
  const counts = createMemory(() => ({ second: 0, bySubject: new Map<string, number>() }))
  return (handle, context) => (request) => {
    const counted = subject(request)
    if (counted === undefined) return handle(request)
    const memory = counts(context)
    const second = Math.floor(context.now() / 1000)
    if (memory.second !== second) {
      memory.second = second
      memory.bySubject.clear()
    }
    const count = (memory.bySubject.get(counted) ?? 0) + 1
    memory.bySubject.set(counted, count)
    return count <= calls ? handle(request) : tooSoon(context, headers(context.now()), status)
  }
}

/** The caller that a request names: in the header, or as the key of a grant. */
const claimedCaller = (request: MockRequest) => namedKeyId(request) ?? request.headers.authorization ?? 'nobody'

/** Part 8: rate limits, and calls that wait for others. Lockouts are in lockouts.ts. */
export const throttlingVariants: IndependentVariant[] = [
  {
    id: 'rate-20-retry-after-zero',
    questions: ['limits/rate'],
    create: () => ({ around: limitRate({ calls: 20, headers: () => ({ 'retry-after': '0' }) }) }),
  },
  {
    id: 'rate-20-without-retry-after',
    questions: ['limits/rate'],
    create: () => ({ around: limitRate({ calls: 20, headers: () => ({}) }) }),
  },
  {
    id: 'rate-40-retry-after-date',
    questions: ['limits/rate', 'errors/http-status'],
    about: 'Retry-After is an HTTP date, and refusals have HTTP statuses of their own.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: limitRate({ calls: 40, headers: (nowMs) => ({ 'retry-after': httpDate(nowMs + 1000) }) }),
    }),
  },
  {
    id: 'rate-40-service-unavailable',
    questions: ['limits/rate'],
    about: 'Above 40 calls a second the answer is 503 with Retry-After.',
    create: () => ({ around: limitRate({ calls: 40, status: 503, headers: () => ({ 'retry-after': '1' }) }) }),
  },
  {
    id: 'rate-15-for-each-caller',
    questions: ['limits/rate', 'errors/shape'],
    about: 'Each key and each token has 15 calls a second; refusals are plain text.',
    profile: { errorBody: 'text' },
    create: () => ({
      around: limitRate({ calls: 15, headers: () => ({ 'retry-after': '1' }), subject: claimedCaller }),
    }),
  },
  {
    id: 'rate-five-grants',
    questions: ['limits/rate', 'limits/token-lifetimes'],
    about: 'Five calls of manager/auth a second, whoever makes them; other calls are not limited.',
    profile: { accessLifeMs: 60 * 60_000 },
    create: () => ({
      around: limitRate({
        calls: 5,
        headers: () => ({ 'retry-after': '1' }),
        subject: (request) => (isMethod(request, 'manager/auth') ? 'grants' : undefined),
      }),
    }),
  },
  {
    id: 'rate-one-key-creation',
    questions: ['limits/rate', 'keys/limit-exceeded'],
    about: 'One creation of a key a second; the eleventh creation removes the oldest key.',
    profile: { eleventhKey: 'oldest-removed' },
    create: () => ({
      around: limitRate({
        calls: 1,
        headers: () => ({ 'retry-after': '1' }),
        subject: (request) => (isMethod(request, 'manager/createApiKey') ? 'creations' : undefined),
      }),
    }),
  },
  {
    id: 'grants-take-150-ms',
    questions: ['limits/rate'],
    about: 'manager/auth is slow, as where secrets are stored with a costly hash.',
    create: () => ({
      around: (handle, context) => (request) =>
        isMethod(request, 'manager/auth') ? letPass(context, 150).then(() => handle(request)) : handle(request),
    }),
  },
  {
    id: 'one-call-at-a-time',
    questions: ['limits/rate', 'limits/token-lifetimes'],
    about: 'Calls wait in line, and each takes 10 ms; expiries are rounded up to a second.',
    profile: { expiryRounding: 'up-to-second' },
    create: () => ({
      around(handle, context) {
        let last: Promise<unknown> = Promise.resolve()
        return (request) => {
          const answer = last.then(() => letPass(context, 10)).then(() => handle(request))
          last = answer.catch(() => undefined)
          return answer
        }
      },
    }),
  },
  {
    id: 'twelve-calls-at-once',
    questions: ['limits/rate'],
    about: 'A thirteenth call at the same time gets 503 with Retry-After.',
    profile: { delayMs: 20 },
    create: () => ({
      around(handle, context) {
        let running = 0
        return (request) => {
          if (running >= 12) return tooSoon(context, { 'retry-after': '1' }, 503)
          running += 1
          return Promise.resolve(handle(request)).finally(() => {
            running -= 1
          })
        }
      },
    }),
  },
  {
    id: 'answers-take-100-ms-clock-ahead',
    questions: ['limits/rate', 'signatures/time-window'],
    about: 'Every answer takes 100 ms, the clock is a minute ahead, and timestamps may be 30 seconds off.',
    profile: { delayMs: 100, clockOffsetMs: 60_000, timeWindowMs: 30_000 },
  },
  {
    id: 'eleventh-key-too-many-requests',
    questions: ['keys/limit-exceeded', 'keys/limit-counts-initial'],
    about: 'A creation beyond the tenth key, the initial one counted, is answered by 429 without Retry-After.',
    profile: { initialKeyCounts: true },
    create: () => ({
      around: changeAnswers((answer) => (answer.body.includes('"code":24877') ? { ...answer, status: 429 } : answer)),
    }),
  },
]
