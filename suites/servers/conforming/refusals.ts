import type { ServerContext } from '../../../mock-server/context.ts'
import type { MockAnswer } from '../../../mock-server/http-server.ts'
import { type Call, isAccepted } from '../call.ts'
import type { Change } from '../rows.ts'
import { counts } from '../rows.ts'
import { answers, html, json, textAnswer, waitAnswer } from './answers.ts'
import { errorAnswer, errorCode, errorInstead, errors, refusals, refuse, refusedJson } from './errors.ts'
import { auth, by, type ConformingRows } from './rows.ts'

const nested = (depth: number): object =>
  depth === 0 ? { reason: 'refused' } : depth % 2 === 1 ? { inner: nested(depth - 1) } : [nested(depth - 1)]

/** Answers the eleventh creation of a key in another way. */
const eleventhKey = (change: (answer: MockAnswer, context: ServerContext) => MockAnswer): Change =>
  answers((answer, call) => (errorCode(answer) === 24877 ? change(answer, call.context) : answer))

/** The forms of a refusal, in the order in which they come. */
const forms: readonly ((answer: MockAnswer) => MockAnswer)[] = [
  (answer) => ({ ...answer, status: 200 }),
  (answer) => textAnswer(answer, 401, 'Unauthorized'),
  (answer) => ({ ...answer, hangUp: true }),
  (answer) => textAnswer(answer, 500, '<h1>Oops</h1>', { 'content-type': html }),
  (answer) => textAnswer(answer, 204, '', {}),
  (answer) => textAnswer(answer, 302, '', { location: '/login' }),
]

/** What became of the key that a refused call names. */
function fateOf({ state, keyId: id }: Call): [number, number, string] | undefined {
  if (id === undefined) return undefined
  const key = state.keys.get(id)
  if (key === undefined) return [404, 4040, 'There has never been such a key']
  if (key.deleted) return [410, 4100, `The key ${key.name} was here once`]
  return key.enabled ? undefined : [423, 4230, `The key ${key.name} rests`]
}

/** Part 7: what refusals look like. */
export const refusalsRows: ConformingRows = {
  'http-statuses': by.own('errors/http-status refusalStatus=http'),
  'refusals-as-text': by.own('errors/shape errors/http-status errorBody=text'),
  'refusals-without-body': by.own('errors/shape errors/http-status errorBody=none'),
  'error-ids-null': by.own('errors/id errorId=null'),
  'error-ids-left-out': by.own('errors/id errorId=none'),
  // A message of 20,000 characters, and data nested 60 levels deep.
  'errors-long-messages-nested-data': by.first('errors/shape errors/codes', [
    errors(({ code, message }) => ({
      code,
      message: `${message}. `.repeat(20_000 / message.length),
      data: nested(60),
    })),
  ]),
  // The message holds escaped control characters, a terminal sequence, half a surrogate pair and markup.
  'errors-with-control-characters': by.first('errors/shape', [
    errors(({ code, message }) => ({
      code,
      message: `\u001b[31m${message}\u001b[0m\u0000\r\n\u2028\ud800</script><b>`,
      data: ['\u0007', { '\u202e': '|`$(true)' }],
    })),
  ]),
  // One error for everything, with id null; nothing is told before authorization.
  'errors-all-alike': by.first(
    'errors/outcomes errors/codes envelope/method-not-found errors/id methodCheckedFirst=false errorId=null',
    [errors(() => ({ code: -32000, message: 'Request failed' }))],
  ),
  // As in JSON-RPC 1.0: a refusal has result null beside its error.
  'errors-beside-null-result': by.first('errors/shape errors/id', [
    refusedJson(({ id = null, error }) => ({ result: null, error, id })),
  ]),
  // The error object is empty.
  'errors-empty-object': by.first('errors/shape errors/codes', [errors(() => ({}))]),
  // A refused signature or token gets no answer: the connection is closed. Everything else is answered.
  'refusals-hang-up-on-signatures-and-tokens': by.first('errors/http-status errors/outcomes', [
    refusals((answer, call) => {
      const { authorization = '' } = call.request.headers
      const isJudged = authorization !== '' && !/^basic/i.test(authorization) && !call.is(auth)
      return answer.status === 401 && isJudged ? { ...answer, hangUp: true } : answer
    }),
  ]),
  // A refused authorization and a missing scope get 200 with an empty body.
  'refusals-empty-with-status-200': by.first('errors/http-status errors/shape errors/outcomes', [
    refuse({ on: [401, 403], status: 200, body: '' }),
  ]),
  // 401 brings WWW-Authenticate for all schemes, with a text body.
  'refusals-challenge-basic': by.first('errors/http-status errors/shape errorBody=text', [
    refuse({ on: [401], headers: { 'www-authenticate': 'Basic realm="svc", Bearer error="invalid_token"' } }),
  ]),
  // Refusals are JSON-RPC errors with status 202.
  'refusals-accepted-status-with-error': by.first('errors/http-status', [refuse({ status: 202 })]),
  // A body that is not JSON or not a request gets HTTP 500 and a page.
  'unreadable-request-gets-a-500-page': by.second('errors/http-status errors/shape', [
    answers((answer) =>
      errorCode(answer) === -32700
        ? textAnswer(answer, 500, '<h1>Internal error</h1>', { 'content-type': html })
        : answer,
    ),
  ]),
  // Authorization comes first, and then both get the same error and HTTP 403.
  'unknown-method-looks-like-missing-scope': by.second(
    'envelope/method-not-found errors/outcomes errors/http-status methodCheckedFirst=false',
    [
      errors((error) => (error.code === -32601 || error.code === 24878 ? { code: 9, message: 'Forbidden' } : error)),
      refuse({ on: [404], status: 403 }),
    ],
  ),
  // The connection is closed.
  'eleventh-key-gets-no-answer': by.third('keys/limit-exceeded', [
    eleventhKey((answer) => ({ ...answer, hangUp: true })),
  ]),
  // The id of a refusal is a text, as are the codes.
  'refusals-repeat-the-id-as-text': by.third('errors/id errors/codes', [
    refusedJson(({ id, error, ...envelope }) => ({
      ...envelope,
      error: { ...(error as object), code: `E${(error as { code: number }).code}` },
      ...(id === undefined ? {} : { id: String(id) }),
    })),
  ]),
  // Beside the message stands an answer as it would have been, with empty values.
  'error-data-holds-a-result': by.fourth('errors/shape', [
    errors((error) => ({ ...error, data: { result: { list: [], accessToken: '', id: '' }, jsonrpc: '2.0' } })),
  ]),
  // A result is the only sign of success: code 0 and the message OK stand in every error.
  'refusals-say-ok': by.fourth('errors/codes', [errors(() => ({ code: 0, message: 'OK' }))]),
  'refusal-is-a-list-of-one-error': by.fourth('errors/shape errors/id', [refusedJson(({ error }) => [{ error }])]),
  'refusals-with-next-id-and-fractions-as-codes': by.fifth('errors/id errors/codes', [
    errors(({ code, message }) => ({ code: code + 0.5, message })),
    refusedJson(({ id, ...envelope }) => ({ ...envelope, id: Number(id ?? 0) + 1 })),
  ]),
  // A gateway renews its cookie by a redirect (307) to the address that was called.
  'refusals-redirect-to-the-same-address': by.sixth('errors/shape errors/http-status', [
    refusals((answer, call) => textAnswer(answer, 307, '', { location: call.request.target, 'set-cookie': 'gate=1' })),
  ]),
  // A front end adds Retry-After to every refusal, which nobody there ever reads.
  'refusals-401-tell-to-come-back-in-an-hour': by.sixth('errors/http-status errors/outcomes', [
    refuse({ status: 401, headers: { 'retry-after': '3600' } }),
  ]),
  // The status 403 is the refusal; the body is made by the same code as that of an answer.
  'refusals-forbidden-beside-a-result-that-explains': by.sixth('errors/shape errors/http-status', [
    refusals((answer, call) => ({
      ...answer,
      status: 403,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: call.members.id ?? null,
        result: { granted: false, reason: 'policy' },
      }),
    })),
  ]),
  // A typed serializer writes the empty result class beside the error, at status 200.
  'refusals-beside-results-with-empty-members': by.sixth('errors/shape', [
    refusedJson((envelope) => ({
      ...envelope,
      result: { accessToken: '', refreshToken: '', accessTokenExpiry: 0, scope: [] },
    })),
  ]),
  // A framework in debug mode sends its whole configuration page, as bytes of no known kind.
  'refusals-of-half-a-megabyte': by.sixth('errors/shape errors/http-status', [
    refuse({ status: 500, body: '{"result":{}}\n'.repeat(36_000), type: 'application/octet-stream' }),
  ]),
  // A creation beyond the tenth is left to a person who never comes; other refusals have statuses.
  'eleventh-key-gets-202-and-no-body': by.sixth(
    'keys/limit-exceeded errors/shape errors/http-status refusalStatus=http',
    [eleventhKey((answer) => textAnswer(answer, 202, '', {}))],
  ),
  // Part 7 does not show the shape of errors, so one may be a number without any object around it.
  // The body of a refusal is a JSON number, sent in two chunks.
  'refusals-are-the-code-alone-in-two-chunks': by.seventh('errors/shape errors/http-status errors/id', [
    refusals((answer) => ({
      ...textAnswer(answer, answer.status, String(errorCode(answer) ?? 0), { 'content-type': json }),
      chunked: true,
    })),
  ]),
  // Part 7 shows neither shape nor status of a refusal; the echo has no result, and its status is 400.
  // A refusal is the refused body itself, as a debugging aid.
  'refusals-send-the-request-back': by.seventh('errors/shape errors/http-status', [
    refusals((answer, call) => textAnswer(answer, 400, call.request.body.toString('utf8'), { 'content-type': json })),
  ]),
  // Part 7 does not show the codes of errors, nor that the same mistake has the same code twice.
  // The code of an error is the number of its entry in a log, and the message is empty.
  'error-codes-are-never-the-same-twice': by.seventh('errors/codes errors/outcomes', (_seen, next = counts()) =>
    errors(() => ({ code: next() * 7919, message: '' })),
  ),
  // Part 7 does not show the outcome of a rejected token. The call is not carried out, however often it comes again.
  // Whoever shows an expired or revoked access token is told to wait a second, each time.
  'ended-tokens-get-503-and-a-time-to-wait': by.tenth('errors/http-status errors/outcomes limits/rate', [
    answers((answer, { shownPair: pair, nowMs }) => {
      if (isAccepted(answer) || pair === undefined) return answer
      const isRevoked = pair.accessRevoked || pair.family.revoked || pair.session?.removed === true
      return isRevoked || nowMs >= pair.accessExpiryMs ? waitAnswer(503, 1000, 'Renew the token first') : answer
    }),
  ]),
  // Part 7 does not show errors, so they need not be true. Part 2 does not say who a user is.
  // Removed, revoked and unknown tokens are all said to have expired; all keys share 16 sessions.
  'every-refused-token-is-called-expired': by.tenth(
    'errors/codes errors/outcomes sessions/user sessions/reused-name sessionUser=all-keys reusedSessionName=adds',
    answers((answer, call) => {
      const code = errorCode(answer)
      const isAboutToken = (call.token !== '' && code === 24879) || (call.isRefresh && code === 21)
      return isAboutToken ? errorInstead(answer, 40101, 'The token has expired') : answer
    }),
  ),
  // Part 8 does not show the behaviour when the limit of ten keys is exceeded, and part 7 no error codes.
  // While the list of keys is full, createApiKey is answered with 404 and -32601.
  'eleventh-creation-finds-no-such-method': by.tenth(
    'keys/limit-exceeded errors/codes errors/http-status refusalStatus=http',
    [eleventhKey((answer) => ({ ...errorInstead(answer, -32601, 'Method not found'), status: 404 }))],
  ),
  // Part 7 shows neither error objects nor HTTP statuses, so a refusal that is asked for twice may have two forms.
  // An error, a text, a closed connection, a page with 500, nothing and a redirect come in turn.
  'refusals-have-another-form-each-time': by.eleventh(
    'errors/shape errors/http-status errors/outcomes',
    (_seen, next = counts()) =>
      answers((answer) => (isAccepted(answer) ? answer : (forms[(next() - 1) % forms.length]?.(answer) ?? answer))),
  ),
  // Part 7: "error codes, HTTP status codes, and the outcome of a rejected signature, credential [...]: not shown."
  // A key that was deleted gets 410, a disabled one 423, and one that never was 404, whatever the secret.
  'refusals-tell-what-became-of-the-named-key': by.twelfth('errors/outcomes errors/http-status errors/codes', [
    answers((answer, call) => {
      const fate = errorCode(answer) === 24879 || errorCode(answer) === 24875 ? fateOf(call) : undefined
      return fate === undefined ? answer : errorAnswer(call, ...fate)
    }),
  ]),
}
