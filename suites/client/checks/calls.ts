/** Checks of every request: part 1 of the document. */
import { callPath } from '../../engine/document.ts'
import { groupBy } from '../../engine/group.ts'
import { parseRetryAfter } from '../../engine/judge/classify.ts'
import { percentDecoded } from '../../engine/signer/bytes.ts'
import { type Check, type Finding, finding, findingsOf } from '../check.ts'
import type { Exchange, Start } from '../journal.ts'
import { asObject, headerOf, type Request, readObject, type Story } from '../story/story.ts'

const postJson: Check = {
  id: 'request/post-json',
  level: 'document',
  title: 'Every call is a POST of JSON to /api',
  sentence:
    'Every call is an HTTP POST to {base_url}/api with the header Content-Type: application/json and a JSON body',
  source: 'interface part 1',
  judge({ story }) {
    const requests = story.requests.filter((request) => !isOutsideInterface(request))
    return { exercised: requests.length > 0, findings: requests.flatMap(postJsonFindings) }
  },
}

/** Requests that the interface does not cover: a browser sends OPTIONS first, and a client may check whether the server is up, or read its Date. */
function isOutsideInterface({ exchange, authorization }: Request): boolean {
  const { httpMethod, target, bodyBytes } = exchange
  if (httpMethod === 'OPTIONS') return true
  const isLook = httpMethod === 'HEAD' || httpMethod === 'GET'
  return isLook && bodyBytes === 0 && authorization.kind === 'none' && !target.includes('?')
}

function postJsonFindings({ exchange, body }: Request): Finding[] {
  const { httpMethod, target } = exchange
  const type = headerOf(exchange, 'content-type')
  return findingsOf(exchange, [
    httpMethod === 'POST' ? null : `The HTTP method is ${httpMethod}. Send POST`,
    target === callPath ? null : `The request goes to "${target}". Send it to {base_url}/api`,
    isJsonType(type)
      ? null
      : `The Content-Type is ${type === undefined ? 'missing' : `"${type}"`}. Send application/json`,
    body.kind === 'not-json' ? 'The body is not JSON' : null,
  ])
}

/** RFC 9110 §8.3.1: names of types are compared in any case, and parameters may follow. */
const isJsonType = (type: string | undefined): boolean => /^\s*application\/json\s*(;|$)/i.test(type ?? '')

const envelope: Check = {
  id: 'request/envelope',
  level: 'document',
  title: 'Every request has the four members of the envelope',
  sentence: 'jsonrpc is "2.0", id an integer, method <group>/<operation>, params an object ({} if there are no params)',
  source: 'interface part 1, request envelope',
  judge({ story }) {
    const requests = story.requests.filter(({ body }) => body.kind === 'json')
    return { exercised: requests.length > 0, findings: requests.flatMap(envelopeFindings) }
  },
}

function envelopeFindings({ exchange, body }: Request): Finding[] {
  const rpc = body.kind === 'json' ? asObject(body.value) : null
  if (rpc === null) return [finding('The body is not a JSON object. Send one request object', exchange)]
  return findingsOf(exchange, [
    rpc.jsonrpc === '2.0' ? null : `jsonrpc is ${shown(rpc.jsonrpc)}. Send "2.0"`,
    Number.isInteger(rpc.id) ? null : `id is ${shown(rpc.id)}. Send an integer`,
    isMethodName(rpc.method) ? null : `method is ${shown(rpc.method)}. Send <group>/<operation>`,
    asObject(rpc.params) === null ? `params is ${shown(rpc.params)}. Send an object, {} if there are no params` : null,
  ])
}

const isMethodName = (method: unknown): boolean => typeof method === 'string' && /^[^/\s]+\/[^/\s]+$/.test(method)

function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

export const requestChecks: readonly Check[] = [postJson, envelope]

/** Checks of how a client handles answers. The scenario counts `ok` lines without an accepted call. */

export const errorIn200: Check = {
  id: 'answers/error-in-200',
  level: 'practice',
  title: 'An error in an HTTP 200 is an error',
  sentence: 'A JSON-RPC answer has either a result or an error; the HTTP status says nothing about it',
  source: 'JSON-RPC 2.0 §5; interface part 7 leaves the status open',
  judge: ({ story }) => ({
    exercised: story.requests.some(
      ({ exchange, outcome }) =>
        outcome === 'refused' && exchange.answer?.status === 200 && exchange.faults.includes('refuse'),
    ),
    findings: [],
  }),
}

const foreignId: Check = {
  id: 'answers/foreign-id-rejected',
  level: 'practice',
  title: 'An answer with another id is not used',
  sentence: 'id: chosen by the caller; the response carries the same value',
  source: 'interface part 1; JSON-RPC 2.0 §5',
  judge({ story }) {
    const foreign = story.requests.filter((request) => isSpoiltBy(request, 'wrong-id'))
    const findings = foreign.flatMap((request) => usedTokens(story, request))
    return { exercised: foreign.length > 0, findings }
  },
}

const isSpoiltBy = ({ exchange, outcome }: Request, fault: string): boolean =>
  outcome === 'spoilt' && exchange.faults.includes(fault)

/** A finding if the client uses tokens that came only in an answer with a foreign id. */
function usedTokens({ requests }: Story, foreign: Request): Finding[] {
  const use = requests.find(({ pair }) => pair !== null && pair === foreign.issued)
  if (use === undefined) return []
  const message = 'A token from an answer with another id is used. Use only answers that carry the id of the request'
  return [finding(message, foreign, use)]
}

const malformedSurvived: Check = {
  id: 'answers/malformed-survived',
  level: 'practice',
  title: 'An answer that is not JSON is an error, and the client goes on',
  sentence: 'An answer that cannot be read is a failed call, not the end of the program',
  source: 'JSON-RPC 2.0 §5',
  judge({ story }) {
    const malformed = story.requests.filter((request) => isSpoiltBy(request, 'malformed') && isNotJson(request))
    const [first] = malformed
    const findings = first === undefined ? [] : [...crashAfter(story, first), ...silentAfter(story, first)].slice(0, 1)
    return { exercised: malformed.length > 0, findings }
  },
}

const isNotJson = ({ exchange }: Request): boolean => readObject(exchange.answer?.body) === null

function crashAfter({ starts, setting }: Story, malformed: Request): Finding[] {
  const start = malformed.start === null ? undefined : starts?.[malformed.start]
  if (start === undefined || setting.calls === null) return []
  const problem = crashOf(start, setting.calls)
  if (problem === null) return []
  const message = `After an answer that is not JSON the client ${problem}. Count the call as failed and go on`
  return [finding(message, malformed)]
}

/** A finding if the client makes no further call although some are left. */
function silentAfter({ requests, setting }: Story, malformed: Request): Finding[] {
  const calls = requests.filter(({ kind }) => kind === 'call')
  const isLast = requests.at(-1) === malformed
  if (malformed.kind !== 'call' || !isLast || calls.length >= (setting.calls ?? 0)) return []
  const message =
    'After an answer that is not JSON the client makes no further call. Count the call as failed and go on'
  return [finding(message, malformed)]
}

function crashOf({ ended, ok, error }: Start, calls: number): string | null {
  if (ended.kind === 'signal') return `ended by ${ended.signal}`
  if (ended.kind !== 'exit') return null
  if (ended.code !== 0) return `ended with exit code ${ended.code}`
  return ok + error < calls ? `reported only ${ok + error} of its ${calls} calls` : null
}

export const answerChecks: readonly Check[] = [errorIn200, foreignId, malformedSurvived]

/** Checks of where secrets are sent. */

const notInUrl: Check = {
  id: 'secrets/not-in-url',
  level: 'practice',
  title: 'No URL contains a secret',
  sentence: 'Tokens are not passed in URLs, since logs and histories keep those',
  source: 'RFC 6750 §5.3',
  judge({ story }) {
    const withSecret = story.requests.filter(
      ({ authorization, kind }) => authorization.kind !== 'none' || kind === 'grant' || kind === 'refresh',
    )
    const message = 'The URL contains a secret or a token. Send it in the header or the body'
    const leaking = story.requests.filter(
      ({ exchange: { target } }) => target !== callPath && holdsSecret(target, story),
    )
    const findings = leaking.map((request) => finding(message, request))
    return { exercised: withSecret.length > 0 || findings.length > 0, findings }
  },
}

const notAfterRedirect: Check = {
  id: 'secrets/not-after-redirect',
  level: 'practice',
  title: 'No secret follows a redirect to another origin',
  sentence:
    'A client that follows a redirect leaves out Authorization and everything else that only the first origin may see',
  source: 'RFC 9110 §15.4 and §17.16.3',
  judge({ story }) {
    const redirected = story.requests.some(({ outcome }) => outcome === 'redirected')
    const findings = story.elsewhere.flatMap((exchange) => leaksElsewhere(exchange, story))
    return { exercised: redirected || findings.length > 0, findings }
  },
}

function leaksElsewhere(exchange: Exchange, story: Story): Finding[] {
  const authorization = headerOf(exchange, 'authorization') ?? ''
  const body = Buffer.from(exchange.body).toString('utf8')
  const what =
    authorization !== ''
      ? 'The Authorization header'
      : holdsSecret(body, story) || holdsSecret(exchange.target, story)
        ? 'A secret of the request'
        : exchange.headers.some(([, value]) => holdsSecret(value, story))
          ? 'A header with a secret'
          : null
  if (what === null) return []
  const redirect = story.requests.find(({ outcome }) => outcome === 'redirected')
  const message = `${what} is sent to another origin after a redirect. Do not follow it, or leave the secrets out`
  return [finding(message, ...(redirect === undefined ? [] : [redirect]), exchange)]
}

const refreshTokenOnlyToAuth: Check = {
  id: 'secrets/refresh-token-only-to-auth',
  level: 'practice',
  title: 'A refresh token is sent to manager/auth only',
  sentence: 'Refresh tokens are for the authorization server and are never sent to resource servers',
  source: 'RFC 6749 §1.5',
  judge({ story }) {
    const tokens = new Set(story.pairs.map(({ refreshToken }) => refreshToken))
    const firstHeld = Math.min(...story.pairs.map(({ heldMs }) => heldMs ?? Number.POSITIVE_INFINITY))
    const later = story.requests.filter(({ exchange }) => exchange.startedMs >= firstHeld)
    const message = 'A refresh token is sent with a call. Send it as refreshToken of manager/auth only'
    const straying = later.filter((request) => straysIn(request, tokens))
    return { exercised: later.length > 0, findings: straying.map((request) => finding(message, request)) }
  },
}

function straysIn({ exchange, kind, body, params }: Request, tokens: ReadonlySet<string>): boolean {
  if (tokens.size === 0) return false
  const inHeaders = exchange.headers.some(([, value]) => value.split(/[\s;,="]+/).some((word) => tokens.has(word)))
  if (inHeaders) return true
  const json = body.kind === 'json' ? asObject(body.value) : null
  // The secret's own place is left out; the rest of the body is searched.
  const rest = kind === 'refresh' ? { ...json, params: { ...params, refreshToken: null } } : json
  return textsWithin(rest).some((text) => tokens.has(text))
}

function textsWithin(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsWithin)
}

/** Looks for the secrets of a story in a text, also as BASE64 of `id:secret` and with percent signs taken out. */
function holdsSecret(text: string, { secrets, keys }: Story): boolean {
  const basic = keys.flatMap((key) =>
    key.kind === 'secret' ? [Buffer.from(`${key.id}:${key.secret}`).toString('base64').replace(/=+$/, '')] : [],
  )
  const plain = percentDecoded(text)
  return [...secrets, ...basic].some((secret) => text.includes(secret) || plain.includes(secret))
}

export const secretChecks: readonly Check[] = [notInUrl, notAfterRedirect, refreshTokenOnlyToAuth]

/** Checks of retries. */

/** A tolerance: timers may fire early, and the clocks of two processes are read at different times. In ms. */
const toleranceMs = 20

const retryAfterKept: Check = {
  id: 'retry/after-is-kept',
  level: 'practice',
  title: 'Nothing is sent before the time that Retry-After names',
  sentence: 'Retry-After says how long a client ought to wait before it makes a follow-up request',
  source: 'RFC 9110 §10.2.3',
  judge({ story }) {
    // With several workers a request may have been under way.
    if (story.setting.parallel !== 1) return { exercised: false, findings: [] }
    const throttled = story.requests.filter(({ outcome }) => outcome === 'throttled')
    return { exercised: throttled.length > 0, findings: throttled.flatMap((one) => tooEarly(story, one)) }
  },
}

function tooEarly({ requests }: Story, throttled: Request): Finding[] {
  const { answeredMs, deliveredMs, answer } = throttled.exchange
  const waitMs = parseRetryAfter(answer?.headers['retry-after'], answeredMs ?? 0)
  if (waitMs === undefined || answeredMs === null || deliveredMs === null) return []
  const early = requests.find(
    ({ exchange }) => exchange.startedMs >= deliveredMs && exchange.startedMs < answeredMs + waitMs - toleranceMs,
  )
  if (early === undefined) return []
  const afterMs = Math.round(early.exchange.startedMs - answeredMs)
  const message = `Retry-After names ${waitMs} ms, the next request came after ${afterMs} ms. Send nothing earlier`
  return [finding(message, throttled, early)]
}

const signedAnew: Check = {
  id: 'retry/signed-anew',
  level: 'practice',
  title: 'A request that is sent again is signed again',
  sentence: 'A signature is valid for one timestamp and one nonce; a server that has seen the nonce refuses it',
  source: 'interface part 5.1; RFC 9421 §7.2.2',
  judge({ story }) {
    const signed = signedRequests(story)
    const message =
      'A request is sent again with its old signature or nonce. Choose a new timestamp and nonce, and sign again'
    const troubled = signed.findIndex(({ outcome }) => outcome !== 'accepted' && outcome !== 'refused')
    const repeats = [
      ...groupsBy(signed, headerText).filter((same) => same.length > 1),
      ...groupsBy(signed, nonceOf).filter(([first, second]) => first !== undefined && isRetry(first, second)),
    ]
    return {
      exercised: (troubled >= 0 && troubled < signed.length - 1) || repeats.length > 0,
      findings: repeats.map((same) => finding(message, ...same.slice(0, 2))),
    }
  },
}

const nonceUnique: Check = {
  id: 'nonce/unique',
  level: 'practice',
  title: 'Every signature has its own nonce',
  sentence: 'A nonce is used once, so that a server can tell a request from its copy',
  source: 'RFC 9421 §2.3; interface part 5.1 leaves the rule to the server',
  judge({ story }) {
    const signed = signedRequests(story)
    // A whole signature that is sent again is another check.
    const once = groupsBy(signed, headerText).flatMap(([first]) => (first === undefined ? [] : [first]))
    const repeats = groupsBy(once, nonceOf).filter((same) => same.length > 1)
    const message = 'Two signatures have the same nonce. Make a new random nonce for each'
    return { exercised: once.length > 1, findings: repeats.map((same) => finding(message, ...same.slice(0, 2))) }
  },
}

const createKeyOnce: Check = {
  id: 'retry/create-key-not-repeated',
  level: 'practice',
  title: 'A key creation whose answer was lost is not repeated',
  sentence:
    'A client should not automatically retry a request with a method that is not idempotent; there are ten places for keys',
  source: 'RFC 9110 §9.2.2; interface part 8',
  judge({ story }) {
    const creations = story.requests.filter(({ method }) => method === 'manager/createApiKey')
    const lost = creations.find(({ outcome }) => outcome === 'lost' || outcome === 'spoilt')
    const wanted = story.setting.method === 'manager/createApiKey' ? story.setting.calls : null
    if (lost === undefined || wanted === null) return { exercised: false, findings: [] }
    const message =
      'A key creation is sent again although its answer was lost and it may have worked. Report the loss instead'
    return {
      exercised: true,
      findings: creations.slice(wanted, wanted + 1).map((again) => finding(message, lost, again)),
    }
  },
}

const skewSurvived: Check = {
  id: 'clock/skew-survived',
  level: 'practice',
  title: 'A wrong clock costs one refused call at most',
  sentence: "The Date header gives the server's time; a client corrects its timestamps by it",
  source: 'RFC 9110 §6.6.1; interface part 5.1 needs timestamps that agree',
  judge({ story }) {
    // A timestamp in seconds or with letters is another check.
    const refused = story.requests.filter(
      (request) => request.exchange.stage === 'signature/timestamp' && /^\d{13}$/.test(timestampOf(request)),
    )
    const accepted = signedRequests(story).some(({ outcome }) => outcome === 'accepted')
    const findings = refused.length > 1 ? [refusedAgain(refused)] : givenUp(story, refused[0])
    return { exercised: findings.length > 0 || (story.setting.clockOffsetMs !== 0 && accepted), findings }
  },
}

function refusedAgain(refused: readonly Request[]): Finding {
  const message = `${refused.length} calls are refused because the clocks differ. Correct the timestamp by the Date header of the first refusal`
  return finding(message, ...refused.slice(0, 2))
}

/** A finding if the client sends nothing after the first refusal although calls are left. */
function givenUp({ requests, setting }: Story, refused: Request | undefined): Finding[] {
  if (refused === undefined || requests.at(-1) !== refused || (setting.calls ?? 0) < 2) return []
  const message =
    'After a call that was refused because the clocks differ, no further call is made. Correct the timestamp by the Date header of the refusal'
  return [finding(message, refused)]
}

/** The second request repeats the first, which failed. */
function isRetry(first: Request, second: Request | undefined): boolean {
  const hasFailed = first.outcome !== 'accepted' && first.outcome !== 'refused'
  return hasFailed && second?.method === first.method && headerText(first) !== headerText(second)
}

const signedRequests = ({ requests }: Story): Request[] =>
  requests.filter(({ authorization }) => authorization.kind === 'signature')

const headerText = ({ authorization }: Request): string =>
  authorization.kind === 'signature' ? authorization.header : ''

/** The fourth of five fields; otherwise the whole header, which says nothing about nonces. */
function nonceOf(request: Request): string {
  const fields = headerText(request).split(';')
  return fields.length === 5 ? `nonce ${fields[3]}` : headerText(request)
}

const timestampOf = (request: Request): string => headerText(request).split(';')[2] ?? ''

const groupsBy = (requests: readonly Request[], nameOf: (request: Request) => string): Request[][] => [
  ...groupBy(requests, nameOf).values(),
]

export const retryChecks: readonly Check[] = [retryAfterKept, signedAnew, nonceUnique, createKeyOnce, skewSurvived]
