import type { ServerContext } from '../../context.ts'
import type { MockAnswer, MockRequest } from '../../http-server.ts'
import { changeAnswers, changeErrors, changeRefusals, textAnswer } from '../answers.ts'
import { isAccepted } from '../calls.ts'
import type { Around, IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'
import { createMemory } from '../server-memory.ts'

/** Refuses the requests that `reason` names, before the server sees them. */
export function refuseFirst(reason: (request: MockRequest) => { status: number; text: string } | undefined): Around {
  return (handle) => (request) => {
    const refused = reason(request)
    if (refused === undefined) return handle(request)
    return { status: refused.status, headers: { 'content-type': 'text/plain' }, body: refused.text }
  }
}

/** The same numbers in other spellings: ids and error codes with a fraction, expiries with an exponent. */
export const spellNumbersOtherwise: Around = changeAnswers((answer) => ({
  ...answer,
  body: answer.body
    .replace(/^(\{"jsonrpc":"2\.0","id":-?\d+)(?=,)/, '$1.0')
    .replace(/("error":\{"code":-?\d+)(?=,)/, '$1.0')
    .replace(/("(?:access|refresh)TokenExpiry":)(\d+)/g, (_, name, ms) => name + Number(ms).toExponential()),
}))

/** Sends the body of every refused request back, with the status 400. */
export const sendRefusedBack: Around = changeRefusals((answer, { body }) =>
  textAnswer(answer, 400, body.toString('utf8'), { 'content-type': 'application/json' }),
)

/** Adds members to the results of grants, refreshes and creations that only their letter case sets apart. */
const addDecoys = <T extends object>(result: T): object => ({
  accesstoken: 'none',
  RefreshToken: null,
  ID: 0,
  ...result,
  ACCESSTOKENEXPIRY: 1,
  Secret: '',
  Scope: ['all'],
  token_type: 'mac',
})

const methodStatuses: readonly [method: string, status: number][] = [
  ['manager/createApiKey', 201],
  ['manager/auth', 202],
  ['solution/listSolutions', 203],
]

function ownStatus(answer: MockAnswer, request: MockRequest): number {
  if (!isAccepted(answer)) return 403
  return methodStatuses.find(([method]) => isMethod(request, method))?.[1] ?? answer.status
}

/** What an OpenRPC document would say. */
const description = JSON.stringify({
  openrpc: '1.2.6',
  info: { title: 'Service', version: '2.2' },
  methods: methodStatuses.map(([name]) => ({
    name,
    params: [],
    result: { name: 'result', schema: { type: 'object' } },
  })),
})

/** Closes each connection with its second answer, and says so in the first. */
function twoCallsForEachConnection(): Around {
  const connections = createMemory(() => new Map<number, number>())
  return changeAnswers((answer, { connection = 0 }, context: ServerContext) => {
    const calls = (connections(context).get(connection) ?? 0) + 1
    connections(context).set(connection, calls)
    const headers = calls % 2 === 0 ? { connection: 'close' } : { connection: 'keep-alive', 'keep-alive': 'max=1' }
    return { ...answer, headers: { ...answer.headers, ...headers } }
  })
}

const isForwarded = (name: string): boolean =>
  name.startsWith('x-forwarded-') || ['forwarded', 'via', 'x-http-method-override', 'cookie'].includes(name)

/** Parts 1, 4.3 and 7: how HTTP and JSON carry the answers, and what refusals look like. */
export const seventhAnswerVariants: IndependentVariant[] = [
  // JSON has one kind of number, so 5.0 is the integer 5: part 1 asks for the same value, and not for the same spelling.
  {
    id: 'whole-numbers-with-fractions-and-exponents',
    questions: ['envelope/encoding', 'errors/codes'],
    about: 'An id and a code are written as 5.0, an expiry as 1.7e+12.',
    create: () => ({ around: spellNumbersOtherwise }),
  },
  // Part 7 does not show the shape of errors, so one may be a number without any object around it.
  {
    id: 'refusals-are-the-code-alone-in-two-chunks',
    questions: ['errors/shape', 'errors/http-status', 'errors/id'],
    about: 'The body of a refusal is a JSON number, sent in two chunks.',
    profile: { refusalStatus: 'http' },
    create: () => ({
      around: changeRefusals((answer) => {
        const code = /"code":(-?\d+)/.exec(answer.body)?.[1] ?? '0'
        return { ...textAnswer(answer, answer.status, code, { 'content-type': 'application/json' }), chunked: true }
      }),
    }),
  },
  // Part 7 shows neither shape nor status of a refusal; the echo has no result, and its status is 400.
  {
    id: 'refusals-send-the-request-back',
    questions: ['errors/shape', 'errors/http-status'],
    about: 'A refusal is the refused body itself, as a debugging aid.',
    profile: { refusalStatus: 'http' },
    create: () => ({ around: sendRefusedBack }),
  },
  // Part 7 does not show the codes of errors, nor that the same mistake has the same code twice.
  {
    id: 'error-codes-are-never-the-same-twice',
    questions: ['errors/codes', 'errors/outcomes'],
    about: 'The code of an error is the number of its entry in a log, and the message is empty.',
    create() {
      const entries = createMemory(() => ({ count: 0 }))
      return {
        around: (handle, context) =>
          changeErrors(() => {
            const memory = entries(context)
            memory.count += 1
            return { code: memory.count * 7919, message: '' }
          })(handle, context),
      }
    },
  },
  // Part 1 gives a content type to requests, and none to answers.
  {
    id: 'answers-have-the-type-of-the-accept-header',
    questions: ['envelope/content-type', 'errors/shape'],
    about: 'The content type of an answer is the first one that the caller accepts, as written, or text/html.',
    create: () => ({
      around: changeAnswers((answer, { headers }) => {
        const type = headers.accept?.split(',')[0]?.trim() || 'text/html'
        return { ...answer, headers: { ...answer.headers, 'content-type': type, vary: 'accept' } }
      }),
    }),
  },
  // Parts 4.1 and 4.2 name members of results, and do not exclude others; names of members differ by letter case in JSON.
  {
    id: 'results-with-decoys-in-other-letter-case',
    questions: ['keys/create-result-extras', 'grants/extra-params'],
    about: 'Results also have accesstoken, Secret, Scope and the like, with other values; further params are ignored.',
    profile: { extraParams: 'ignored' },
    create: () => ({ rules: { grantResult: addDecoys, refreshResult: addDecoys, createKeyResult: addDecoys } }),
  },
  // Part 4.3 does not show the result of a listing; all of this is JSON by its grammar.
  {
    id: 'listing-with-half-characters-and-endless-numbers',
    questions: ['solutions/list-result', 'solutions/records'],
    about: 'A listing has a lone surrogate, a NUL, a line separator, 1e999 and minus zero.',
    create: () => ({
      around: changeAnswers((answer, request) => {
        if (!isAccepted(answer) || !isMethod(request, 'solution/listSolutions')) return answer
        const odd = '"result":{"half":"\\ud83d","nul":"\\u0000\\u2028","much":[1e999,-1e999,-0,1E-999],"\\udc00":{},'
        return { ...answer, body: answer.body.replace('"result":{', odd) }
      }),
    }),
  },
  // Part 7 does not show HTTP status codes, and every one here that is not 403 says that the call was carried out.
  {
    id: 'each-method-has-a-success-status-of-its-own',
    questions: ['errors/http-status', 'keys/create-result-extras'],
    about: 'A creation gives 201, a grant 202, a listing 203; every refusal 403.',
    create: () => ({
      around: changeAnswers((answer, request) => ({ ...answer, status: ownStatus(answer, request) })),
    }),
  },
  // Part 9 says that the version is not maintained any more; headers of answers are nowhere restricted.
  {
    id: 'headers-of-a-service-that-is-going-away',
    questions: ['envelope/encoding', 'limits/rate'],
    about: 'Answers warn of their end in the past, name an identity encoding and have letters beyond ASCII.',
    create: () => ({
      around: changeAnswers((answer) => ({
        ...answer,
        headers: {
          ...answer.headers,
          deprecation: 'true',
          sunset: 'Tue, 01 Jan 2019 00:00:00 GMT',
          warning: '299 - "Version 2.2 is gone"',
          'content-encoding': 'identity',
          etag: 'W/"0"',
          'x-city': 'Z\u00fcrich',
          'x-empty': '',
        },
      })),
    }),
  },
  // Part 1 says that calls are POST to {base_url}/api; what answers other requests is not shown, and this is no call.
  {
    id: 'get-shows-a-description-of-the-methods',
    questions: ['envelope/http-method', 'envelope/other-path'],
    about: 'GET and HEAD show an OpenRPC document with status 200 on any path, OPTIONS says what is allowed.',
    create: () => ({
      around: changeAnswers((answer, { method }) => {
        if (method === 'OPTIONS') return textAnswer(answer, 204, '', { allow: 'GET, HEAD, OPTIONS, POST' })
        const shown = method === 'GET' || method === 'HEAD'
        return shown ? textAnswer(answer, 200, description, { 'content-type': 'application/json' }) : answer
      }),
    }),
  },
  // Nothing is said on how many calls a connection carries, and limits are not shown (part 8).
  {
    id: 'connections-carry-two-calls-and-refusals-are-text',
    questions: ['limits/rate', 'errors/shape', 'errors/http-status'],
    about: 'Every second answer on a connection closes it, and a refusal is plain text.',
    profile: { errorBody: 'text' },
    create: () => ({ around: twoCallsForEachConnection() }),
  },
  // Part 1 leaves {base_url} open: calls go to {base_url}/api, and part 5.1 signs /api for every base URL.
  {
    id: 'base-url-that-ends-with-api-itself',
    questions: ['envelope/other-path', 'errors/http-status'],
    about: 'Calls go to /api/api, and /api alone is not found.',
    profile: { basePath: '/api', refusalStatus: 'http' },
  },
  // Part 8 does not show request size limits; a server that wants to know the size first answers 411.
  {
    id: 'bodies-of-unknown-length-get-411',
    questions: ['limits/request-size', 'errors/http-status'],
    about: 'A request without Content-Length gets 411, and a body above 32 KiB is too large.',
    profile: { maxBodyBytes: 32 * 1024 },
    create: () => ({
      around: refuseFirst(({ method, headers }) =>
        method === 'POST' && headers['content-length'] === undefined
          ? { status: 411, text: 'Length required' }
          : undefined,
      ),
    }),
  },
  // The document shows two headers of a call, Content-Type and Authorization; what becomes of others is not said.
  {
    id: 'forwarded-and-overridden-requests-refused',
    questions: ['addresses/forwarded', 'envelope/http-method'],
    about: 'A request with a forwarding header, a cookie or another HTTP method in a header gets 400.',
    create: () => ({
      around: refuseFirst(({ headers }) =>
        Object.keys(headers).some(isForwarded) ? { status: 400, text: 'Come here directly' } : undefined,
      ),
    }),
  },
]
