import { changeAnswers, changeErrors, changeJson, changeRefusals, textAnswer } from '../answers.ts'
import { readMembers } from '../calls.ts'
import type { IndependentVariant } from '../independent-variant.ts'

/** The text of JSON strings, each with its first letter as an escape and its slashes escaped. */
const escapeStrings = (json: string): string =>
  json.replaceAll(/"((?:[^"\\]|\\.)*)"/g, (_all, text: string) => {
    const first = text.charCodeAt(0)
    const start =
      text === '' || text.startsWith('\\') || first > 0x7f
        ? text
        : `\\u${first.toString(16).padStart(4, '0')}${text.slice(1)}`
    return `"${start.replaceAll(/(?<!\\)\//g, '\\/')}"`
  })

/** Parts 1 and 7: how answers and refusals are written. */
export const secondAnswerVariants: IndependentVariant[] = [
  {
    id: 'refusals-as-problem-details',
    questions: ['errors/shape', 'errors/http-status', 'errors/id'],
    about: 'A refusal has an HTTP status and the members type, title and status of application/problem+json.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, answer.status, JSON.stringify({ type: 'about:blank', title: 'No', status: answer.status }), {
          'content-type': 'application/problem+json',
        }),
      ),
    }),
  },
  {
    id: 'error-is-a-text',
    questions: ['errors/shape'],
    create: () => ({ around: changeErrors(({ message }) => message) }),
  },
  {
    id: 'refusals-with-result-null',
    questions: ['errors/shape', 'errors/codes'],
    about: 'As in the first JSON-RPC, a refusal has both members, and the result is null.',
    create: () => ({
      around: changeJson((envelope) =>
        envelope.error === undefined ? envelope : { id: envelope.id ?? null, result: null, error: { code: -1 } },
      ),
    }),
  },
  {
    id: 'errors-with-a-long-trace',
    questions: ['errors/shape', 'errors/outcomes'],
    about: 'The data of an error is a list of 500 lines.',
    create: () => ({
      around: changeErrors((error) => ({
        ...error,
        data: Array.from({ length: 500 }, (_none, line) => `at service.handle (line ${line})`),
      })),
    }),
  },
  {
    id: 'error-codes-are-words-at-status-422',
    questions: ['errors/codes', 'errors/http-status'],
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: (handle, context) =>
        changeRefusals((answer) => ({ ...answer, status: 422 }))(
          changeErrors(({ message }) => ({ code: message.toUpperCase().replaceAll(' ', '_') }))(handle, context),
          context,
        ),
    }),
  },
  {
    id: 'unreadable-request-gets-a-500-page',
    questions: ['errors/http-status', 'errors/shape'],
    about: 'A body that is not JSON or not a request gets HTTP 500 and a page.',
    create: () => ({
      around: changeAnswers((answer) => {
        const error = readMembers(answer.body)?.error as { code?: unknown } | undefined
        return error?.code === -32700
          ? textAnswer(answer, 500, '<h1>Internal error</h1>', { 'content-type': 'text/html' })
          : answer
      }),
    }),
  },
  {
    id: 'json-strings-with-escapes',
    questions: ['solutions/list-result'],
    about: 'The first letter of each string and each slash is escaped, also in names of members.',
    create: () => ({ around: changeAnswers((answer) => ({ ...answer, body: escapeStrings(answer.body) })) }),
  },
  {
    id: 'answers-in-chunks-as-plain-text',
    questions: ['envelope/content-type'],
    about: 'Answers have no length and the type text/plain.',
    create: () => ({
      around: changeAnswers((answer) => ({
        ...answer,
        headers: { ...answer.headers, 'content-type': 'text/plain' },
        chunked: true,
      })),
    }),
  },
  {
    id: 'answers-with-many-headers',
    questions: ['envelope/content-type'],
    about: 'The type is application/json-rpc, and there are a cookie and a header of four thousand letters.',
    create: () => ({
      around: changeAnswers((answer) => ({
        ...answer,
        headers: {
          ...answer.headers,
          'content-type': 'application/json-rpc',
          'set-cookie': 'visit=1; Path=/; HttpOnly',
          'cache-control': 'no-store',
          vary: 'authorization, origin',
          'x-trace': 't'.repeat(4000),
        },
      })),
    }),
  },
  {
    id: 'error-is-true-with-a-reason',
    questions: ['errors/shape', 'errors/id', 'errors/codes'],
    create: () => ({
      around: changeJson((envelope) => (envelope.error === undefined ? envelope : { error: true, reason: 'refused' })),
    }),
  },
  {
    id: 'refusals-are-an-empty-object',
    questions: ['errors/shape', 'errors/http-status', 'errors/outcomes'],
    about: 'Every refusal is {} with HTTP 403; only a header has a word more.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, 403, '{}', { 'content-type': 'application/json', 'x-error': 'refused' }),
      ),
    }),
  },
  {
    id: 'refusals-challenge-and-close',
    questions: ['errors/http-status', 'errors/shape'],
    about: 'Every refusal is 401 with WWW-Authenticate and no body, and closes the connection.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, 401, '', { 'www-authenticate': 'Basic realm="service", Bearer', connection: 'close' }),
      ),
    }),
  },
  {
    id: 'listing-is-an-empty-object',
    questions: ['solutions/list-result'],
    create: () => ({
      rules: { resultMember: (method, result) => (method === 'solution/listSolutions' ? {} : result) },
    }),
  },
  {
    id: 'listing-of-two-thousand-by-id',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'The result has one member for each solution, named by its id, and is 100 KB long.',
    create: () => ({
      rules: {
        resultMember: (method, result) =>
          method === 'solution/listSolutions'
            ? Object.fromEntries(
                Array.from({ length: 2000 }, (_none, index) => [`solution-${index}`, { title: 'A solution' }]),
              )
            : result,
      },
    }),
  },
]
