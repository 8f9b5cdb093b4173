import type { ServerContext } from '../../context.ts'
import { letPass } from '../../faults.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { plainAnswer } from '../../rpc.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'

interface Lockout {
  /** Whose wrong attempts are counted; undefined: nobody's. */
  subject(request: MockRequest): string | undefined
  /** This many wrong attempts within `withinMs` lock the subject out. */
  tries: number
  withinMs: number
  lockMs: number
  /** The answer to a call while the subject is locked out. */
  locked(context: ServerContext, leftMs: number): MockAnswer
}

/** Locks a subject out for a time. Expects a profile that answers wrong credentials with HTTP 401. */
function lockOut({ subject, tries, withinMs, lockMs, locked }: Lockout): Around {
  const records = createMemory(() => new Map<string, { wrongMs: number[]; untilMs: number }>())
  return (handle, context) => async (request) => {
    const named = subject(request)
    if (named === undefined) return handle(request)
    const all = records(context)
    const record = all.get(named) ?? { wrongMs: [], untilMs: 0 }
    all.set(named, record)
    if (context.now() < record.untilMs) {
      const answer = locked(context, record.untilMs - context.now())
      await letPass(context, 25)
      return answer
    }
    const answer = await handle(request)
    if (answer.status !== 401) return answer
    const nowMs = context.now()
    record.wrongMs = [...record.wrongMs.filter((ms) => ms > nowMs - withinMs), nowMs]
    if (record.wrongMs.length >= tries) {
      record.wrongMs = []
      record.untilMs = nowMs + lockMs
    }
    return answer
  }
}

const throttled = (status: number) => (context: ServerContext, leftMs: number) => {
  const answer = plainAnswer(context, status, 'Try again later')
  return { ...answer, headers: { ...answer.headers, 'retry-after': String(Math.ceil(leftMs / 1000)) } }
}

const refused = (context: ServerContext) => plainAnswer(context, 401, 'Unauthorized')

/** Part 7: what a server does after wrong attempts. */
export const lockoutVariants: IndependentVariant[] = [
  {
    id: 'lockout-of-key-after-five-throttled',
    questions: ['errors/outcomes', 'limits/rate'],
    about: 'Five wrong tries for a key within ten seconds lock it for five seconds: 429 with Retry-After.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: lockOut({
        subject: namedKeyId,
        tries: 5,
        withinMs: 10_000,
        lockMs: 5000,
        locked: throttled(429),
      }),
    }),
  },
  {
    id: 'lockout-of-key-after-ten-refused',
    questions: ['errors/outcomes', 'errors/shape'],
    about: 'Ten wrong tries for a key within five seconds lock it for two seconds: even the right secret is refused.',
    profile: { refusalStatus: 'http', errorBody: 'text' },
    create: () => ({
      around: lockOut({
        subject: namedKeyId,
        tries: 10,
        withinMs: 5000,
        lockMs: 2000,
        locked: refused,
      }),
    }),
  },
  {
    id: 'lockout-of-address-after-thirty',
    questions: ['errors/outcomes', 'limits/rate', 'errors/http-status'],
    about: 'Thirty refused calls from an address within ten seconds lock it for two seconds: 503 with Retry-After.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: lockOut({
        subject: (request) => request.remoteAddress,
        tries: 30,
        withinMs: 10_000,
        lockMs: 2000,
        locked: throttled(503),
      }),
    }),
  },
  {
    id: 'lockout-of-key-at-one-address',
    questions: ['errors/outcomes', 'limits/rate', 'signatures/nonce-burnt'],
    about:
      'Eight wrong tries for a key from one address lock it there for three seconds; a wrong signature leaves its nonce free.',
    profile: { refusalStatus: 'http', nonceBurntByBadSignature: false },
    create: () => ({
      around: lockOut({
        subject(request) {
          const id = namedKeyId(request)
          return id === undefined ? undefined : `${id} ${request.remoteAddress}`
        },
        tries: 8,
        withinMs: 60_000,
        lockMs: 3000,
        locked: throttled(429),
      }),
    }),
  },
  {
    id: 'wrong-tries-slow-down',
    questions: ['errors/outcomes', 'limits/rate'],
    about: 'Each wrong try for a key makes its next answer 20 ms slower, up to 200 ms; a right one ends that.',
    profile: { refusalStatus: 'http' },
    create: () => ({ around: slowDown(20, 200) }),
  },
  {
    id: 'refusals-take-300-ms',
    questions: ['errors/outcomes', 'limits/rate'],
    about: 'Every refused authorization is answered after 300 ms, everything else at once.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: (handle, context) => async (request) => {
        const answer = await handle(request)
        if (answer.status === 401) await letPass(context, 300)
        return answer
      },
    }),
  },
]

function slowDown(stepMs: number, mostMs: number): Around {
  const wrongTries = createMemory(() => new Map<string, number>())
  return (handle, context) => async (request) => {
    const id = namedKeyId(request)
    if (id === undefined) return handle(request)
    const tries = wrongTries(context)
    await letPass(context, Math.min((tries.get(id) ?? 0) * stepMs, mostMs))
    const answer = await handle(request)
    if (answer.status === 401) tries.set(id, (tries.get(id) ?? 0) + 1)
    else tries.delete(id)
    return answer
  }
}
