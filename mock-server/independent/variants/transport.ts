import { changeAnswers, changeJson, textAnswer } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'

/** Part 1: how HTTP carries the calls, and how JSON is written. */
export const transportVariants: IndependentVariant[] = [
  {
    id: 'http-other-methods-405',
    questions: ['envelope/http-method'],
    about: 'Other HTTP methods get 405 with Allow, and every connection is closed after its answer.',
    profile: { closeConnections: true },
    create: () => ({
      around: changeAnswers((answer, request) =>
        request.method === 'POST' ? answer : textAnswer(answer, 405, '', { allow: 'POST', connection: 'close' }),
      ),
    }),
  },
  {
    id: 'http-other-methods-show-a-page',
    questions: ['envelope/http-method', 'envelope/other-path'],
    about: 'GET and HEAD get a page with status 200, on any path.',
    create: () => ({
      around: changeAnswers((answer, request) =>
        request.method === 'GET' || request.method === 'HEAD'
          ? textAnswer(answer, 200, '<!doctype html><title>Service</title>', { 'content-type': 'text/html' })
          : answer,
      ),
    }),
  },
  {
    id: 'http-slash-and-query-taken',
    questions: ['envelope/other-path', 'signatures/query'],
    about: 'A slash at the end and a query are left out of the path; the signed URI stays /api.',
    create: () => ({
      rules: {
        isCall: (httpMethod, path, callPath) =>
          httpMethod === 'POST' && path.replace(/\?.*$/s, '').replace(/\/$/, '') === callPath,
      },
    }),
  },
  {
    id: 'http-base-path-gone-elsewhere',
    questions: ['envelope/other-path', 'envelope/http-method'],
    about: 'The service lives below a path, and everything else is gone (410).',
    profile: { basePath: '/service/v1' },
    create: () => ({
      around: changeAnswers((answer) =>
        answer.status === 404 && answer.body === 'Not found' ? textAnswer(answer, 410, 'Gone') : answer,
      ),
    }),
  },
  {
    id: 'http-created-and-accepted',
    questions: ['keys/create-result-extras', 'errors/http-status'],
    about: 'A created key has status 201 and a Location, a refusal that of its kind.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeAnswers((answer, request) =>
        answer.status === 200 && isMethod(request, 'manager/createApiKey')
          ? { ...answer, status: 201, headers: { ...answer.headers, location: '/keys' } }
          : answer,
      ),
    }),
  },
  {
    id: 'http-every-fifth-answer-closes',
    questions: ['limits/rate'],
    about: 'Every fifth answer closes its connection.',
    create() {
      let answers = 0
      return {
        around: changeAnswers((answer) => {
          answers += 1
          return answers % 5 === 0 ? { ...answer, headers: { ...answer.headers, connection: 'close' } } : answer
        }),
      }
    },
  },
  {
    id: 'http-repeated-headers-cookies',
    questions: ['errors/shape', 'envelope/content-type'],
    about: 'Answers have repeated headers, cookies and a content type with parameters in an unusual form.',
    create: () => ({
      around: changeAnswers((answer) => ({
        ...answer,
        headers: Object.assign({}, answer.headers, {
          'set-cookie': ['visit=1; Path=/; HttpOnly', 'lang=en'],
          'x-served-by': ['edge-1', 'origin-2'],
          vary: 'Origin, Authorization',
          ...(answer.body.startsWith('{') ? { 'content-type': 'Application/JSON ;charset="UTF-8"' } : {}),
        }),
      })),
    }),
  },
  {
    id: 'http-rate-headers-on-success',
    questions: ['limits/rate'],
    about: 'Every answer tells of a rate limit, with nothing left, and of Retry-After, though nothing is limited.',
    create: () => ({
      around: changeAnswers((answer) => ({
        ...answer,
        headers: { ...answer.headers, 'x-ratelimit-remaining': '0', 'retry-after': '1' },
      })),
    }),
  },
  {
    id: 'json-in-chunks-other-type',
    questions: ['envelope/encoding', 'errors/shape'],
    about: 'Answers come in chunks, as application/json-rpc.',
    create: () => ({
      around: changeAnswers((answer) =>
        answer.body.startsWith('{')
          ? { ...answer, chunked: true, headers: { ...answer.headers, 'content-type': 'application/json-rpc' } }
          : answer,
      ),
    }),
  },
  {
    id: 'json-spread-over-lines-in-reverse',
    questions: ['envelope/encoding', 'solutions/list-result'],
    about: 'JSON is written over several lines with the last member first, and ends with a line feed.',
    create: () => ({
      around: changeAnswers((answer) =>
        answer.body.startsWith('{')
          ? { ...answer, body: `\r\n\t${JSON.stringify(reversed(JSON.parse(answer.body)), null, 4)}\n\n` }
          : answer,
      ),
    }),
  },
  {
    id: 'json-escaped',
    questions: ['envelope/encoding', 'errors/shape'],
    about: 'JSON is written in ASCII, with escaped slashes and with escapes in the member names.',
    create: () => ({
      around: changeAnswers((answer) =>
        answer.body.startsWith('{') ? { ...answer, body: escaped(answer.body) } : answer,
      ),
    }),
  },
  {
    id: 'json-large-answers',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'A listing has 3,000 solutions with names in several scripts.',
    create: () => ({
      around: changeJson((envelope) => {
        const { result } = envelope as { result?: { list?: unknown[] } }
        if (!result?.list) return envelope
        const more = Array.from({ length: 3000 }, (_, index) => ({ id: `s${index}`, name: `Lösung 解 ${index} 🧩` }))
        return { ...envelope, result: { list: [...result.list, ...more] } }
      }),
    }),
  },
]

/** The members of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  )
}

/** The same JSON with more escapes. */
function escaped(json: string): string {
  const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return json
    .replaceAll('/', '\\/')
    .replace(/[\u007f-\uffff]/g, unicode)
    .replace(
      /"(jsonrpc|id|result|error|accessToken|secret)":/g,
      (_, name: string) => `"${unicode(name)}${name.slice(1)}":`,
    )
}
