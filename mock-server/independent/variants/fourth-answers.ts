import type { MockAnswer } from '../../http-server.ts'
import { changeAnswers, changeErrors, changeJson, changeRefusals, httpDate, textAnswer } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { createMemory } from '../server-memory.ts'

const capitals = (name: string): string => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())

/** The answer to a caller who has to wait for some seconds. */
const wait = (nowMs: number, seconds: number): MockAnswer => ({
  status: 429,
  headers: { date: httpDate(nowMs), 'retry-after': String(seconds) },
  body: '',
})

/** Part 7, the answers of part 4, and rates. */
export const fourthAnswerVariants: IndependentVariant[] = [
  {
    id: 'error-data-holds-a-result',
    questions: ['errors/shape'],
    about: 'Beside the message stands an answer as it would have been, with empty values.',
    create: () => ({
      around: changeErrors((error) => ({
        ...error,
        data: { result: { list: [], accessToken: '', id: '' }, jsonrpc: '2.0' },
      })),
    }),
  },
  {
    id: 'refusals-in-json-rpc-1-1',
    questions: ['errors/shape', 'errors/id'],
    create: () => ({
      around: changeJson((envelope) =>
        envelope.error === undefined
          ? envelope
          : { version: '1.1', error: { name: 'JSONRPCError', code: 100, message: 'Refused' } },
      ),
    }),
  },
  {
    id: 'refusals-without-content-type',
    questions: ['errors/shape', 'errors/http-status'],
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals(({ status, headers: { 'content-type': _, ...headers }, body }) => ({
        status,
        headers,
        body,
      })),
    }),
  },
  {
    id: 'refusals-say-ok',
    questions: ['errors/codes'],
    about: 'A result is the only sign of success: code 0 and the message OK stand in every error.',
    create: () => ({ around: changeErrors(() => ({ code: 0, message: 'OK' })) }),
  },
  {
    id: 'refusal-is-a-list-of-one-error',
    questions: ['errors/shape', 'errors/id'],
    create: () => ({
      around: changeJson((envelope) => (envelope.error === undefined ? envelope : [{ error: envelope.error }])),
    }),
  },
  {
    id: 'status-of-refusal-tells-the-way-to-authorize',
    questions: ['errors/http-status', 'errors/outcomes'],
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer, { headers: { authorization = '' } }) => {
        const status = authorization === '' ? 407 : authorization.startsWith('Basic') ? 404 : 418
        return textAnswer(answer, authorization.includes(';') ? 400 : status, 'refused')
      }),
    }),
  },
  {
    id: 'listing-with-null-for-a-list',
    questions: ['solutions/list-result'],
    create: () => ({
      rules: {
        resultMember: (method, result) => (method === 'solution/listSolutions' ? { list: null, count: 0 } : result),
      },
    }),
  },
  {
    id: 'listing-with-members-named-like-those-of-tokens',
    questions: ['solutions/list-result', 'solutions/records'],
    create: () => ({
      rules: {
        resultMember: (method, result) =>
          method === 'solution/listSolutions'
            ? { accessToken: null, scope: [], error: null, secret: 'none', ...(result as object) }
            : result,
      },
    }),
  },
  {
    id: 'eleventh-key-gets-507-and-a-time-to-wait',
    questions: ['keys/limit-exceeded', 'errors/http-status'],
    create: () => ({
      around: changeAnswers((answer) =>
        answer.body.includes('limit exceeded')
          ? { ...answer, status: 507, headers: { ...answer.headers, 'retry-after': '86400' } }
          : answer,
      ),
    }),
  },
  {
    id: 'header-names-in-capitals-and-bodies-in-chunks',
    questions: ['errors/http-status'],
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeAnswers((answer) => ({
        ...answer,
        chunked: true,
        headers: Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [capitals(name), value])),
      })),
    }),
  },
  {
    id: 'bucket-of-sixty-calls-filled-with-thirty-a-second',
    questions: ['limits/rate'],
    create() {
      const bucketOf = createMemory(({ now }) => ({ left: 60, ms: now() }))
      return {
        around: (handle, context) => (request) => {
          const bucket = bucketOf(context)
          const nowMs = context.now()
          bucket.left = Math.min(60, bucket.left + (nowMs - bucket.ms) * 0.03)
          bucket.ms = nowMs
          if (bucket.left < 1) return wait(nowMs, 1)
          bucket.left -= 1
          return handle(request)
        },
      }
    },
  },
  {
    id: 'fifteen-wrong-tokens-lock-token-callers-out',
    questions: ['limits/lock-out', 'errors/outcomes'],
    about: 'For three seconds, callers with a token at the same address have to wait.',
    profile: { refusalStatus: 'http' },
    create() {
      const memoryOf = createMemory(() => ({ addresses: new Map<string, { wrong: number; untilMs: number }>() }))
      return {
        around: (handle, context) => async (request) => {
          if (!request.headers.authorization?.startsWith('Bearer ')) return handle(request)
          const { addresses } = memoryOf(context)
          const state = addresses.get(request.remoteAddress) ?? { wrong: 0, untilMs: 0 }
          addresses.set(request.remoteAddress, state)
          if (context.now() < state.untilMs) return wait(context.now(), 3)
          const answer = await handle(request)
          state.wrong = answer.status === 401 ? state.wrong + 1 : 0
          if (state.wrong >= 15) Object.assign(state, { wrong: 0, untilMs: context.now() + 3000 })
          return answer
        },
      }
    },
  },
]
