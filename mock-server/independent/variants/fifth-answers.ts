import { chain, changeAnswers, changeErrors, changeJson, changeRefusals, httpDate } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'

const hour = 3_600_000
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** Another Date header on every answer. */
const dated = (dateOf: (nowMs: number) => string) =>
  changeAnswers((answer, _request, context) => ({
    ...answer,
    headers: { ...answer.headers, date: dateOf(context.now()) },
  }))

/** The old form of RFC 850: `Thursday, 01-Jan-26 00:00:00 GMT`. */
function obsoleteDate(nowMs: number): string {
  const [, day, month, year = '', time] = httpDate(nowMs).split(' ')
  return `${days[new Date(nowMs).getUTCDay()]}, ${day}-${month}-${year.slice(2)} ${time} GMT`
}

/** Parts 1 and 7, and the clock that answers show. */
export const fifthAnswerVariants: IndependentVariant[] = [
  {
    id: 'refusals-beside-result-false',
    questions: ['errors/shape', 'errors/http-status'],
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeJson((envelope) => (envelope.error === undefined ? envelope : { result: false, ...envelope })),
    }),
  },
  {
    id: 'refusals-end-in-the-middle-of-their-json',
    questions: ['errors/shape', 'errors/http-status'],
    profile: { refusalStatus: 'http' },
    create: () => ({ around: changeRefusals((answer) => ({ ...answer, body: '{"error":{"code":' })) }),
  },
  {
    id: 'refusals-are-an-empty-list',
    questions: ['errors/shape', 'errors/http-status'],
    profile: { refusalStatus: 'http' },
    create: () => ({ around: changeRefusals((answer) => ({ ...answer, body: '[]' })) }),
  },
  {
    id: 'refusals-with-next-id-and-fractions-as-codes',
    questions: ['errors/id', 'errors/codes'],
    create: () => ({
      around: chain(
        changeErrors(({ code, message }) => ({ code: code + 0.5, message })),
        changeJson((envelope) =>
          envelope.error === undefined ? envelope : { ...envelope, id: Number(envelope.id ?? 0) + 1 },
        ),
      ),
    }),
  },
  {
    id: 'refusals-with-status-207-list-their-statuses',
    questions: ['errors/http-status', 'errors/shape'],
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) => ({
        ...answer,
        status: 207,
        body: JSON.stringify({ responses: [{ status: answer.status }] }),
      })),
    }),
  },
  {
    id: 'listing-with-members-named-like-those-of-answers',
    questions: ['solutions/list-result', 'solutions/records'],
    create: () => ({
      rules: {
        resultMember: (method, result) =>
          method === 'solution/listSolutions'
            ? { jsonrpc: '1.0', id: -1, error: { code: 0, message: 'none' }, result }
            : result,
      },
    }),
  },
  {
    id: 'date-header-three-hours-behind',
    questions: ['signatures/time-window'],
    about: 'The header comes from a proxy whose clock is wrong; the server itself has the right time.',
    create: () => ({ around: dated((nowMs) => httpDate(nowMs - 3 * hour)) }),
  },
  {
    id: 'date-header-in-obsolete-form',
    questions: ['signatures/time-window'],
    create: () => ({ around: dated(obsoleteDate) }),
  },
]
