import type { ServerContext } from '../../context.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { answerThrough, isAccepted, meet, paramsOf, readMembers, tokenText } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod, namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'

/** An answer that tells the caller to come again after `waitMs`. */
export const waitAnswer = (status: 429 | 503, waitMs: number): MockAnswer => ({
  status,
  headers: { 'content-type': 'text/plain', 'retry-after': String(Math.max(Math.ceil(waitMs / 1000), 1)) },
  body: 'Later',
})

/** A JSON-RPC error that the server sends without a further look at the request. */
export function errorAnswer(request: MockRequest, status: number, code: number, message: string): MockAnswer {
  const id = readMembers(request.body.toString('utf8'))?.id ?? null
  return {
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }),
  }
}

export const errorCode = ({ body }: MockAnswer): unknown =>
  (readMembers(body)?.error as { code?: unknown } | undefined)?.code

/** Refusals with one error code are told only `most` times in `windowMs`; after that there is 429. */
function limitEachKindOfRefusal(most: number, windowMs: number): Around {
  const kinds = createMemory(() => new Map<unknown, number[]>())
  return answerThrough((answer, _request, context) => {
    if (isAccepted(answer)) return answer
    const nowMs = context.now()
    const code = errorCode(answer)
    const recentMs = (kinds(context).get(code) ?? []).filter((ms) => ms > nowMs - windowMs)
    if (recentMs.length >= most) return waitAnswer(429, (recentMs[0] ?? nowMs) + windowMs - nowMs)
    kinds(context).set(code, [...recentMs, nowMs])
    return answer
  })
}

/** A refused call that comes again with the same header and the same bytes within `restMs` gets 429. */
function restRepeatedRefusals(restMs: number): Around {
  const refused = createMemory(() => new Map<string, number>())
  const nameOf = ({ headers, body }: MockRequest): string =>
    JSON.stringify([headers.authorization, body.toString('base64')])
  return (handle, context) => {
    const noted = answerThrough((answer, request) => {
      if (!isAccepted(answer)) refused(context).set(nameOf(request), context.now() + restMs)
      return answer
    })(handle, context)
    return (request) => {
      const leftMs = (refused(context).get(nameOf(request)) ?? 0) - context.now()
      return leftMs > 0 ? waitAnswer(429, leftMs) : noted(request)
    }
  }
}

/** Bodies may have `most` bytes together in `windowMs`; a longer one must come alone. */
function limitBytes(most: number, windowMs: number): Around {
  const bodies = createMemory(() => ({ recent: [] as { atMs: number; bytes: number }[] }))
  return (handle, context) => (request) => {
    const memory = bodies(context)
    const nowMs = context.now()
    const bytes = request.body.length
    memory.recent = memory.recent.filter(({ atMs }) => atMs > nowMs - windowMs)
    const sum = memory.recent.reduce((total, body) => total + body.bytes, bytes)
    if (memory.recent.length > 0 && sum > most) return waitAnswer(429, windowMs)
    memory.recent.push({ atMs: nowMs, bytes })
    return handle(request)
  }
}

/** An address may name `most` different keys in `windowMs`, in whatever way; a token names no key. */
function limitKeysOfAddress(most: number, windowMs: number): Around {
  const addresses = createMemory(() => new Map<string, Map<string, number>>())
  return (handle, context) => (request) => {
    const id = namedKeyId(request)
    if (id === undefined) return handle(request)
    const nowMs = context.now()
    const before = addresses(context).get(request.remoteAddress) ?? new Map<string, number>()
    const recent = new Map([...before].filter(([, ms]) => ms > nowMs - windowMs))
    addresses(context).set(request.remoteAddress, recent)
    if (!recent.has(id) && recent.size >= most) {
      return waitAnswer(429, Math.min(...recent.values()) + windowMs - nowMs)
    }
    recent.set(id, nowMs)
    return handle(request)
  }
}

/** The key for which a grant, a refresh or a creation writes something. */
function writerOf(request: MockRequest, { state }: ServerContext): string | undefined {
  if (isMethod(request, 'manager/auth')) {
    const { apiKeyId, refreshToken } = paramsOf(request)
    return (
      state.tokens.get(String(refreshToken))?.pair.key.id ?? (apiKeyId === undefined ? undefined : String(apiKeyId))
    )
  }
  if (!isMethod(request, 'manager/createApiKey')) return undefined
  return state.tokens.get(tokenText(request))?.pair.key.id ?? namedKeyId(request)
}

/** While a key is being written, other writes for it are a conflict and do nothing. */
function refuseWritesTogether(): Around {
  const inWork = createMemory(() => new Set<string>())
  return (handle, context) => (request) => {
    const writer = writerOf(request, context)
    if (writer === undefined) return handle(request)
    const writers = inWork(context)
    if (writers.has(writer)) return errorAnswer(request, 409, 40901, 'The record was changed by another call')
    writers.add(writer)
    return meet()
      .then(() => handle(request))
      .finally(() => writers.delete(writer))
  }
}

/** Parts 7 and 8: limits that depend on what was refused, sent or in work. */
export const eleventhLimitVariants: IndependentVariant[] = [
  // Part 8 does not show rate limits, nor which answers count; right calls are not limited.
  {
    id: 'five-refusals-of-one-kind-in-two-seconds',
    questions: ['limits/rate', 'limits/lock-out', 'errors/http-status'],
    about:
      'The sixth refusal with the same error code in two seconds is 429; other refusals have a count of their own.',
    profile: { refusalStatus: 'http' },
    create: () => ({ around: limitEachKindOfRefusal(5, 2000) }),
  },
  // Part 8 does not show rate limits, and part 7 no outcome of a refused call that comes again.
  {
    id: 'refused-call-sent-again-unchanged-must-wait',
    questions: ['limits/rate', 'errors/outcomes'],
    about: 'The same header and bytes as those of a call refused within the last second get 429.',
    create: () => ({ around: restRepeatedRefusals(1000) }),
  },
  // Part 8 shows neither rate limits nor request size limits.
  {
    id: 'bytes-of-bodies-are-limited-and-not-calls',
    questions: ['limits/rate', 'limits/request-size', 'signatures/large-body'],
    about: 'Everyone together sends 6,000 bytes in two seconds, and a body has at most 16 KiB.',
    profile: { maxBodyBytes: 16 * 1024 },
    create: () => ({ around: limitBytes(6000, 2000) }),
  },
  // Part 8 does not show rate limits, nor what they count.
  {
    id: 'an-address-works-for-three-keys-in-two-seconds',
    questions: ['limits/rate', 'limits/lock-out'],
    about: 'A fourth key id from one address within two seconds gets 429, whether the key exists or not.',
    create: () => ({ around: limitKeysOfAddress(3, 2000) }),
  },
  // Part 8 does not show limits of calls in flight. One of the calls is carried out, and the others change nothing.
  {
    id: 'writes-of-one-key-in-flight-together-conflict',
    questions: ['limits/rate', 'errors/http-status', 'errors/codes'],
    about:
      'Of grants, refreshes and creations that a key has in flight together, one is carried out; the rest get 409.',
    create: () => ({ around: refuseWritesTogether() }),
  },
]
