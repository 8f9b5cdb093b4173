import type { ServerContext } from '../../context.ts'
import { letPass } from '../../faults.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { isAccepted, meet, tokenText } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'

const hour = 3_600_000

/** The id of the key that a call names or that its token belongs to; empty for strangers. */
const keyIdOf = (request: MockRequest, { state }: ServerContext): string =>
  state.tokens.get(tokenText(request))?.pair.key.id ?? namedKeyId(request) ?? ''

const later = (status: number, seconds: number): MockAnswer => ({
  status,
  headers: { 'content-type': 'text/plain', 'retry-after': String(seconds) },
  body: 'Later',
})

/** The first call of each key takes `ms`. */
function loadKeysSlowly(ms: number): Around {
  const loaded = createMemory(() => new Set<string>())
  return (handle, context) => (request) => {
    const id = keyIdOf(request, context)
    if (loaded(context).has(id)) return handle(request)
    loaded(context).add(id)
    return letPass(context, ms).then(() => handle(request))
  }
}

/** Refusals are sent after `ms`, and close their connection. */
function refuseSlowly(ms: number): Around {
  return (handle, context) => async (request) => {
    const answer = await handle(request)
    if (isAccepted(answer)) return answer
    await letPass(context, ms)
    return { ...answer, headers: { ...answer.headers, connection: 'close' } }
  }
}

/** Calls of one key are answered one after the other, in the order in which they came. */
function answerInLine(ms: number): Around {
  const lines = createMemory(() => new Map<string, Promise<unknown>>())
  return (handle, context) => (request) => {
    const id = keyIdOf(request, context)
    const before = lines(context).get(id) ?? Promise.resolve()
    const answer = before.then(() => letPass(context, ms)).then(() => handle(request))
    lines(context).set(
      id,
      answer.catch(() => undefined),
    )
    return answer
  }
}

/** At most `most` calls are in work at once; more get 503. */
function limitCallsInWork(most: number): Around {
  const work = createMemory(() => ({ calls: 0 }))
  return (handle, context) => async (request) => {
    const memory = work(context)
    if (memory.calls >= most) return later(503, 1)
    memory.calls += 1
    try {
      await meet()
      return await handle(request)
    } finally {
      memory.calls -= 1
    }
  }
}

/** Answers one call in `interval` with 503, before it has any effect. */
function shedEvery(interval: number): Around {
  const calls = createMemory(() => ({ count: 0 }))
  return (handle, context) => (request) => {
    const memory = calls(context)
    memory.count += 1
    return memory.count % interval === 0 ? later(503, 1) : handle(request)
  }
}

/** Parts 1, 2, 7 and 8: servers that let calls wait, and servers with several habits. */
export const sixthMoreCombinedVariants: IndependentVariant[] = [
  {
    id: 'first-call-of-each-key-takes-1500-ms',
    questions: ['limits/rate', 'refresh/lifetime-renewed'],
    about: 'A key is loaded from far away when it is used first; a refresh keeps the end of the refresh token.',
    profile: { refreshLifetime: 'kept' },
    create: () => ({ around: loadKeysSlowly(1500) }),
  },
  {
    id: 'refusals-take-one-second-and-close-the-connection',
    questions: ['limits/lock-out', 'errors/http-status', 'errors/codes'],
    about: 'Whoever is wrong has to wait and to connect again.',
    profile: { refusalStatus: 'http', errorBody: 'none' },
    create: () => ({ around: refuseSlowly(1000) }),
  },
  {
    id: 'calls-of-one-key-wait-for-each-other',
    questions: ['limits/rate', 'envelope/method-not-found'],
    about: 'Each key has one worker, which takes 15 ms for a call and looks at the caller first.',
    profile: { methodCheckedFirst: false },
    create: () => ({ around: answerInLine(15) }),
  },
  {
    id: 'four-calls-in-work-at-once',
    questions: ['limits/rate', 'errors/http-status'],
    about: 'A small server has four threads and no queue.',
    profile: { refusalStatus: 'http', closeConnections: true },
    create: () => ({ around: limitCallsInWork(4) }),
  },
  {
    id: 'every-fortieth-call-must-come-again',
    questions: ['limits/rate', 'sessions/user'],
    about: 'Load is shed by lot, and all keys are one user.',
    profile: { sessionUser: 'all-keys' },
    create: () => ({ around: shedEvery(40) }),
  },
  {
    id: 'kiosk-with-one-kib-and-nothing-further',
    questions: [
      'limits/request-size',
      'signatures/large-body',
      'envelope/extra-members',
      'envelope/id-types',
      'envelope/content-type',
      'grants/authorization-header',
    ],
    about: 'A body has at most 1 KiB and exactly what the document shows; everything else is refused.',
    profile: {
      maxBodyBytes: 1024,
      extraMembers: 'refused',
      idTypes: 'integers',
      contentType: 'json-only',
      authHeaderOnGrant: 'refused',
    },
  },
  {
    id: 'museum-where-every-grant-is-a-session-of-all',
    questions: [
      'sessions/user',
      'sessions/counting',
      'sessions/reused-name',
      'refresh/foreign-address',
      'refresh/expires-in-kept',
      'limits/token-lifetimes',
    ],
    about: 'All keys share sixteen places, which named and unnamed grants take alike, for most of a day.',
    profile: {
      sessionUser: 'all-keys',
      unnamedCountAsSessions: true,
      reusedSessionName: 'joins',
      refreshChecksAddress: true,
      expiresInKept: false,
      accessLifeMs: 10 * hour,
      refreshLifeMs: 11 * hour,
    },
  },
]
