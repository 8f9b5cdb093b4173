import { letPass } from '../../faults.ts'
import type { MockAnswer } from '../../http-server.ts'
import { changeAnswers, changeErrors, changeJson, changeRefusals, textAnswer } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { createMemory } from '../server-memory.ts'

/** Whether an answer of the server behind is a refusal with this code. */
const hasCode = ({ body }: MockAnswer, code: number): boolean => body.includes(`"error":{"code":${code},`)

/** Parts 1, 7 and 8: answers and refusals. */
export const thirdAnswerVariants: IndependentVariant[] = [
  {
    id: 'refusals-are-json-null',
    questions: ['errors/shape', 'errors/id', 'errors/http-status'],
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, answer.status, 'null', { 'content-type': 'application/json' }),
      ),
    }),
  },
  {
    id: 'refusals-are-xml-documents',
    questions: ['errors/shape', 'errors/http-status'],
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, 400, '<?xml version="1.0"?>\n<fault><reason>refused</reason></fault>\n', {
          'content-type': 'application/xml',
        }),
      ),
    }),
  },
  {
    id: 'refused-callers-are-sent-to-a-login-page',
    questions: ['errors/shape', 'errors/http-status'],
    about: 'HTTP 303 where the caller is unknown or may not do this.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        answer.status === 401 || answer.status === 403
          ? textAnswer(answer, 303, '', { location: '/login?next=%2Fapi' })
          : answer,
      ),
    }),
  },
  {
    id: 'error-is-a-list-of-causes',
    questions: ['errors/shape', 'errors/codes'],
    create: () => ({
      around: changeErrors(({ message }) => [{ type: 'refused', detail: message }, { type: 'see-also' }]),
    }),
  },
  {
    id: 'further-members-in-every-answer',
    questions: ['keys/create-result-extras', 'errors/shape'],
    about: 'Beside the members of the document there are the time taken and the name of the node.',
    profile: { extraResultMembers: true },
    create: () => ({ around: changeJson((envelope) => ({ tookMs: 1, ...envelope, node: 'a-1', meta: null })) }),
  },
  {
    id: 'eleventh-key-is-a-conflict-without-body',
    questions: ['keys/limit-exceeded', 'errors/http-status'],
    create: () => ({
      around: changeAnswers((answer) => (hasCode(answer, 24877) ? textAnswer(answer, 409, '', {}) : answer)),
    }),
  },
  {
    id: 'eleventh-key-gets-no-answer',
    questions: ['keys/limit-exceeded'],
    about: 'The connection is closed.',
    create: () => ({
      around: changeAnswers((answer) => (hasCode(answer, 24877) ? { ...answer, hangUp: true } : answer)),
    }),
  },
  {
    id: 'unknown-methods-are-not-implemented',
    questions: ['envelope/method-not-found', 'errors/http-status'],
    about: 'HTTP 501 with a text, after the caller was found.',
    profile: { methodCheckedFirst: false },
    create: () => ({
      around: changeAnswers((answer) =>
        hasCode(answer, -32601) ? textAnswer(answer, 501, 'This method is not implemented') : answer,
      ),
    }),
  },
  {
    id: 'refusals-repeat-the-id-as-text',
    questions: ['errors/id', 'errors/codes'],
    about: 'The id of a refusal is a text, as are the codes.',
    create: () => ({
      around: changeJson(({ id, ...envelope }) => {
        const { error } = envelope
        if (typeof error !== 'object' || error === null) return { id, ...envelope }
        const code = 'code' in error ? `E${error.code}` : 'E'
        return { ...envelope, error: { ...error, code }, ...(id === undefined ? {} : { id: String(id) }) }
      }),
    }),
  },
  {
    id: 'thirty-calls-a-second-and-then-a-json-rpc-error',
    questions: ['limits/rate', 'errors/shape', 'errors/id'],
    about: 'HTTP 429 with a JSON-RPC error in the body, whose id is null.',
    profile: { callsPerSecond: 30 },
    create: () => ({
      around: changeAnswers((answer) => {
        if (answer.status !== 429) return answer
        const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32029, message: 'Slow down' } })
        return { ...answer, headers: { ...answer.headers, 'content-type': 'application/json' }, body }
      }),
    }),
  },
  {
    id: 'first-call-after-a-pause-takes-300-ms',
    questions: ['limits/rate'],
    about: 'The server goes to sleep after ten seconds without a call.',
    create() {
      const memoryOf = createMemory(() => ({ lastMs: Number.NEGATIVE_INFINITY }))
      return {
        around: (handle, context) => async (request) => {
          const memory = memoryOf(context)
          const isAsleep = context.now() - memory.lastMs > 10_000
          memory.lastMs = context.now()
          if (isAsleep) await letPass(context, 300)
          return handle(request)
        },
      }
    },
  },
]
