import { setTimeout as sleep } from 'node:timers/promises'
import { chain, changeErrors, changeRefusals, textAnswer } from '../answers.ts'
import { readMembers, tokenText } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { namedKeyId } from '../requests.ts'
import { createMemory } from '../server-memory.ts'

/** Answers `status` once a key has made `most` calls within a second of the server's clock. */
function limitEachKey(most: number, status: 429 | 503): Around {
  const memoryOf = createMemory(() => ({ second: 0, calls: new Map<string, number>() }))
  return (handle, context) => (request) => {
    const memory = memoryOf(context)
    const second = Math.floor(context.now() / 1000)
    if (second !== memory.second) Object.assign(memory, { second, calls: new Map() })
    const key = namedKeyId(request) ?? context.state.tokens.get(tokenText(request))?.pair.key.id
    if (key === undefined) return handle(request)
    const calls = (memory.calls.get(key) ?? 0) + 1
    memory.calls.set(key, calls)
    if (calls <= most) return handle(request)
    return { status, headers: { 'content-type': 'text/plain', 'retry-after': '1' }, body: 'Later' }
  }
}

/** Each refusal makes later refusals slower, up to 40 ms. */
function slowRefusals(): Around {
  const memoryOf = createMemory(() => ({ refusals: 0 }))
  return (handle, context) => async (request) => {
    const answer = await handle(request)
    if (readMembers(answer.body)?.error === undefined) return answer
    const memory = memoryOf(context)
    memory.refusals += 1
    await sleep(Math.min(memory.refusals * 5, 40))
    return answer
  }
}

/** Parts 1, 4.2 and 8: which requests are accepted, and how fast. */
export const secondRequestVariants: IndependentVariant[] = [
  {
    id: 'content-type-exactly-application-json',
    questions: ['envelope/content-type'],
    about: 'Another type, a charset and a missing header get 415.',
    create: () => ({ rules: { contentTypeTaken: (type) => type?.toLowerCase() === 'application/json' } }),
  },
  {
    id: 'requests-with-four-members-and-whole-ids',
    questions: ['envelope/extra-members', 'envelope/id-types', 'envelope/content-type'],
    profile: { extraMembers: 'refused', idTypes: 'integers', contentType: 'json-only', refusalStatus: 'http' },
  },
  {
    id: 'requests-taken-as-they-come',
    questions: [
      'envelope/jsonrpc-version',
      'envelope/batch',
      'envelope/missing-id',
      'envelope/params-type',
      'envelope/id-types',
    ],
    profile: { strictEnvelope: false, batch: 'answered', notifications: 'answered', idTypes: 'any', errorId: 'null' },
  },
  {
    id: 'bodies-up-to-six-kib',
    questions: ['limits/request-size', 'signatures/large-body'],
    profile: { maxBodyBytes: 6 * 1024 },
  },
  {
    id: 'unknown-method-looks-like-missing-scope',
    questions: ['envelope/method-not-found', 'errors/outcomes', 'errors/http-status'],
    about: 'Authorization comes first, and then both get the same error and HTTP 403.',
    profile: { methodCheckedFirst: false, refusalStatus: 'http' },
    create: () => ({
      around: chain(
        changeErrors((error) =>
          error.code === -32601 || error.code === 24878 ? { code: 9, message: 'Forbidden' } : error,
        ),
        changeRefusals((answer) => ({ ...answer, status: answer.status === 404 ? 403 : answer.status })),
      ),
    }),
  },
  {
    id: 'grant-judges-header-and-ignores-params',
    questions: ['grants/authorization-header', 'grants/extra-params', 'grants/scope-with-refresh'],
    profile: { authHeaderOnGrant: 'judged', extraParams: 'ignored', scopeOnRefresh: 'ignored' },
  },
  {
    id: 'every-key-has-thirty-calls-a-second',
    questions: ['limits/rate'],
    about: 'Further calls of the key get 503 with Retry-After; other keys are not concerned.',
    create: () => ({ around: limitEachKey(30, 503) }),
  },
  {
    id: 'forty-calls-for-each-key-and-slow-clock',
    questions: ['limits/rate', 'signatures/time-window', 'errors/shape'],
    about: 'Further calls of the key get 429; the clock is 20 seconds behind, and refusals are texts.',
    profile: { clockOffsetMs: -20_000, timeWindowMs: 60_000, errorBody: 'text' },
    create: () => ({ around: limitEachKey(40, 429) }),
  },
  {
    id: 'refusals-get-slower',
    questions: ['limits/lock-out'],
    create: () => ({ around: slowRefusals() }),
  },
  {
    id: 'calls-take-time-and-timestamps-are-short-lived',
    questions: ['signatures/time-window', 'limits/rate'],
    about: 'A call takes 30 ms; a timestamp may be 15 seconds behind and 5 seconds ahead.',
    profile: { delayMs: 30 },
    create: () => ({
      rules: {
        timestampTaken: (timestamp, nowMs) =>
          /^[0-9]{13}$/.test(timestamp) && Number(timestamp) > nowMs - 15_000 && Number(timestamp) < nowMs + 5000,
      },
    }),
  },
  {
    id: 'wrong-paths-get-204-and-refusals-no-body',
    questions: ['envelope/http-method', 'envelope/other-path', 'errors/shape', 'errors/http-status'],
    about: 'Wrong paths and HTTP methods get 204, refusals HTTP 400, all without a body.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: chain(changeRefusals((answer) => textAnswer(answer, answer.body === 'Not found' ? 204 : 400, ''))),
    }),
  },
]
