import { changeAnswers, changeErrors, changeJson, changeRefusals, textAnswer } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'

/** Part 7: the content of the error object, and the members beside it. */
export const errorObjectVariants: IndependentVariant[] = [
  {
    id: 'errors-string-codes',
    questions: ['errors/codes', 'errors/shape'],
    create: () => ({
      around: changeErrors(({ code, message }) => ({
        code: `E_${message.toUpperCase().replaceAll(' ', '_')}`,
        status: code,
      })),
    }),
  },
  {
    id: 'errors-long-messages-nested-data',
    questions: ['errors/shape', 'errors/codes'],
    about: 'A message of 20,000 characters, and data nested 60 levels deep.',
    create: () => ({
      around: changeErrors(({ code, message }) => ({
        code,
        message: `${message}. `.repeat(Math.ceil(20_000 / (message.length + 2))),
        data: nested(60),
      })),
    }),
  },
  {
    id: 'errors-in-chinese',
    questions: ['errors/shape', 'errors/codes'],
    create: () => ({
      around: changeErrors(({ code }) => ({
        code: -Math.abs(code),
        message: '请求被拒绝：凭据无效或权限不足。',
        data: null,
      })),
    }),
  },
  {
    id: 'errors-with-control-characters',
    questions: ['errors/shape'],
    about: 'The message holds escaped control characters, a terminal sequence, half a surrogate pair and markup.',
    create: () => ({
      around: changeErrors(({ code, message }) => ({
        code,
        message: `\u001b[31m${message}\u001b[0m\u0000\r\n\u2028\ud800</script><b>`,
        data: ['\u0007', { '\u202e': '|`$(true)' }],
      })),
    }),
  },
  {
    id: 'errors-all-alike',
    questions: ['errors/outcomes', 'errors/codes', 'envelope/method-not-found', 'errors/id'],
    about: 'One error for everything, with id null; nothing is told before authorization.',
    profile: { methodCheckedFirst: false, errorId: 'null' },
    create: () => ({ around: changeErrors(() => ({ code: -32000, message: 'Request failed' })) }),
  },
  {
    id: 'errors-name-every-cause',
    questions: ['errors/outcomes', 'errors/codes', 'errors/http-status'],
    about: 'Each refusal has a code and an HTTP status of its own, and names what was looked at.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeErrors(({ code, message, data }) => ({
        code: 700_000 + code,
        message,
        data: { cause: data ?? message, help: 'https://docs.example/errors', retry: false },
      })),
    }),
  },
  {
    id: 'errors-beside-null-result',
    questions: ['errors/shape', 'errors/id'],
    about: 'As in JSON-RPC 1.0: a refusal has result null beside its error.',
    create: () => ({
      around: changeJson((envelope) =>
        envelope.error === undefined ? envelope : { result: null, error: envelope.error, id: envelope.id ?? null },
      ),
    }),
  },
  {
    id: 'errors-are-words',
    questions: ['errors/shape', 'errors/http-status', 'errors/id'],
    about: 'As in OAuth 2.0: status 4xx, an error word and a description, no envelope.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(answer, answer.status, '{"error":"access_denied","error_description":"The request was refused"}', {
          'content-type': 'application/json',
          'cache-control': 'no-store',
        }),
      ),
    }),
  },
  {
    id: 'errors-with-own-ids',
    questions: ['errors/id', 'envelope/id-types'],
    about: 'Every error has an id of the server, a string.',
    create() {
      let count = 0
      return {
        around: changeJson((envelope) => {
          if (envelope.error === undefined) return envelope
          count += 1
          return { ...envelope, id: `error-${count}` }
        }),
      }
    },
  },
  {
    id: 'errors-empty-object',
    questions: ['errors/shape', 'errors/codes'],
    about: 'The error object is empty.',
    create: () => ({ around: changeErrors(() => ({})) }),
  },
  {
    id: 'errors-sent-as-text',
    questions: ['errors/http-status', 'errors/shape'],
    about: 'Errors are JSON sent as text/plain with status 403, and forbid caching.',
    create: () => ({
      around: changeAnswers((answer) =>
        answer.body.includes('"error":{')
          ? {
              ...answer,
              status: 403,
              headers: { ...answer.headers, 'content-type': 'text/plain', 'cache-control': 'no-store' },
            }
          : answer,
      ),
    }),
  },
]

function nested(depth: number): object {
  let value: object = { reason: 'refused' }
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? { inner: value } : [value]
  return value
}
