import type { MockAnswer } from '../../http-server.ts'
import { changeAnswers, changeRefusals, textAnswer } from '../answers.ts'
import type { IndependentVariant } from '../independent-variant.ts'
import { isMethod } from '../requests.ts'

/** The profile of a server whose refusals are changed by their HTTP status. */
const byStatus = { refusalStatus: 'http' } as const

const html = { 'content-type': 'text/html' }

/** Maps the HTTP statuses of refusals to others. */
const mapStatuses = (statuses: { [status: number]: number }) =>
  changeRefusals((answer) => ({ ...answer, status: statuses[answer.status] ?? answer.status }))

const page = (answer: MockAnswer) =>
  textAnswer(answer, answer.status, `<html><body><h1>${answer.status}</h1></body></html>`, html)

/** Part 7: the HTTP status of refusals. The error objects are in error-objects.ts. */
export const refusalVariants: IndependentVariant[] = [
  {
    id: 'refusals-internal-server-error',
    questions: ['errors/http-status', 'errors/shape', 'errors/outcomes'],
    about: 'Every refusal is a plain 500.',
    profile: byStatus,
    create: () => ({ around: changeRefusals((answer) => textAnswer(answer, 500, 'Internal Server Error')) }),
  },
  {
    id: 'refusals-hang-up-on-signatures-and-tokens',
    questions: ['errors/http-status', 'errors/outcomes'],
    about: 'A refused signature or token gets no answer: the connection is closed. Everything else is answered.',
    profile: byStatus,
    create: () => ({
      around: changeRefusals((answer, request) => {
        const { authorization = '' } = request.headers
        const judged = authorization !== '' && !/^basic/i.test(authorization) && !isMethod(request, 'manager/auth')
        return answer.status === 401 && judged ? { ...answer, hangUp: true } : answer
      }),
    }),
  },
  {
    id: 'refusals-hang-up-on-scope',
    questions: ['errors/http-status', 'errors/outcomes'],
    about: 'A listing outside the scope of the caller gets no answer: the connection is closed.',
    profile: byStatus,
    create: () => ({
      around: changeRefusals((answer, request) =>
        answer.status === 403 && isMethod(request, 'solution/listSolutions') ? { ...answer, hangUp: true } : answer,
      ),
    }),
  },
  {
    id: 'refusals-empty-with-status-200',
    questions: ['errors/http-status', 'errors/shape', 'errors/outcomes'],
    about: 'A refused authorization and a missing scope get 200 with an empty body.',
    profile: byStatus,
    create: () => ({
      around: changeRefusals((answer) =>
        answer.status === 401 || answer.status === 403 ? textAnswer(answer, 200, '', {}) : answer,
      ),
    }),
  },
  {
    id: 'refusals-login-page',
    questions: ['errors/http-status', 'errors/shape', 'errors/outcomes'],
    about: 'A refused authorization gets an HTML page to log in, with status 200.',
    profile: byStatus,
    create: () => ({
      around: changeRefusals((answer) =>
        answer.status === 401
          ? textAnswer(answer, 200, '<!doctype html><title>Log in</title><form></form>', html)
          : answer,
      ),
    }),
  },
  {
    id: 'refusals-challenge-basic',
    questions: ['errors/http-status', 'errors/shape'],
    about: '401 brings WWW-Authenticate for all schemes, with a text body.',
    profile: { errorBody: 'text' },
    create: () => ({
      around: changeRefusals((answer) =>
        answer.status === 401
          ? {
              ...answer,
              headers: { ...answer.headers, 'www-authenticate': 'Basic realm="svc", Bearer error="invalid_token"' },
            }
          : answer,
      ),
    }),
  },
  {
    id: 'refusals-all-forbidden',
    questions: ['errors/http-status', 'errors/outcomes', 'envelope/method-not-found'],
    about: 'Everything refused is 403 with an empty body, an unknown method too, and authorization is looked at first.',
    profile: { errorBody: 'none', methodCheckedFirst: false },
    create: () => ({ around: changeRefusals((answer) => textAnswer(answer, 403, '', {})) }),
  },
  {
    id: 'refusals-all-not-found',
    questions: ['errors/http-status', 'errors/outcomes', 'envelope/method-not-found'],
    about: 'Whoever is not authorized is told that there is nothing here.',
    profile: { ...byStatus, methodCheckedFirst: false },
    create: () => ({
      around: changeRefusals((answer) =>
        answer.status === 401 || answer.status === 403 ? textAnswer(answer, 404, 'Not found') : answer,
      ),
    }),
  },
  {
    id: 'refusals-all-bad-request',
    questions: ['errors/http-status', 'errors/id', 'errors/outcomes'],
    about: 'Every refusal is 400 with a JSON-RPC error without id.',
    profile: { ...byStatus, errorId: 'none' },
    create: () => ({ around: changeRefusals((answer) => ({ ...answer, status: 400 })) }),
  },
  {
    id: 'refusals-unusual-statuses',
    questions: ['errors/http-status'],
    about: '422, 451, 410 and 418 in place of the usual four.',
    profile: byStatus,
    create: () => ({ around: mapStatuses({ 400: 422, 401: 418, 403: 451, 404: 410 }) }),
  },
  {
    id: 'refusals-server-statuses-with-error',
    questions: ['errors/http-status', 'errors/outcomes'],
    about: 'Refusals are JSON-RPC errors with status 500 or 501.',
    profile: byStatus,
    create: () => ({ around: mapStatuses({ 400: 500, 401: 500, 403: 500, 404: 501 }) }),
  },
  {
    id: 'refusals-accepted-status-with-error',
    questions: ['errors/http-status'],
    about: 'Refusals are JSON-RPC errors with status 202.',
    create: () => ({
      around: changeAnswers((answer) => (answer.body.includes('"error":{') ? { ...answer, status: 202 } : answer)),
    }),
  },
  {
    id: 'refusals-html-pages',
    questions: ['errors/shape', 'errors/http-status'],
    about: 'Refusals are HTML pages, as of a proxy in front.',
    profile: { errorBody: 'text' },
    create: () => ({ around: changeRefusals(page) }),
  },
  {
    id: 'refusals-problem-json',
    questions: ['errors/shape', 'errors/http-status'],
    about: 'Refusals are problem details (RFC 9457), not JSON-RPC.',
    profile: byStatus,
    create: () => ({
      around: changeRefusals((answer) =>
        textAnswer(
          answer,
          answer.status,
          JSON.stringify({ type: 'about:blank', title: 'Refused', status: answer.status }),
          {
            'content-type': 'application/problem+json',
          },
        ),
      ),
    }),
  },
]
