/** Checks of every request (part 1 of the document), of where secrets go, and of what a client does after trouble. */
import { callPath } from '../../engine/document.ts'
import { groupBy } from '../../engine/group.ts'
import { isObject, parseJson } from '../../engine/json.ts'
import { parseRetryAfter } from '../../engine/judge/classify.ts'
import { percentDecoded } from '../../engine/signer/bytes.ts'
import { type Check, each, type Finding, finding, ofEach } from '../check.ts'
import { type Exchange, headerOf, isForTokens, type Request, type Story } from '../journal.ts'

const requestChecks: readonly Check[] = [
  {
    id: 'request/post-json',
    level: 'document',
    title: 'Every call is a POST of JSON to /api',
    sentence:
      'Every call is an HTTP POST to {base_url}/api with the header Content-Type: application/json and a JSON body',
    source: 'interface part 1',
    judge: ofEach(
      (request) => !isOutsideInterface(request),
      (request) => {
        const { httpMethod, target, read } = request
        const type = headerOf(request, 'content-type')
        const given = type === undefined ? 'missing' : `"${type}"`
        return [
          httpMethod !== 'POST' && `The HTTP method is ${httpMethod}. Send POST`,
          target !== callPath && `The request goes to "${target}". Send it to {base_url}/api`,
          !isJsonType(type) && `The Content-Type is ${given}. Send application/json`,
          read === 'not-json' && 'The body is not JSON',
        ]
      },
    ),
  },
  {
    id: 'request/envelope',
    level: 'document',
    title: 'Every request has the four members of the envelope',
    sentence:
      'jsonrpc is "2.0", id an integer, method <group>/<operation>, params an object ({} if there are no params)',
    source: 'interface part 1, request envelope',
    judge: ofEach(
      ({ read }) => read === 'json',
      ({ rpc }) => {
        if (rpc === null) return ['The body is not a JSON object. Send one request object']
        const { jsonrpc, id, method, params } = rpc
        const isMethodName = typeof method === 'string' && /^[^/\s]+\/[^/\s]+$/.test(method)
        return [
          jsonrpc !== '2.0' && `jsonrpc is ${shown(jsonrpc)}. Send "2.0"`,
          !Number.isInteger(id) && `id is ${shown(id)}. Send an integer`,
          !isMethodName && `method is ${shown(method)}. Send <group>/<operation>`,
          !isObject(params) && `params is ${shown(params)}. Send an object, {} if there are no params`,
        ]
      },
    ),
  },
]

/** Requests that the interface does not cover: a browser sends OPTIONS first, and a client may check whether the server is up, or read its Date. */
function isOutsideInterface({ httpMethod, target, bodyBytes, authorization }: Request): boolean {
  if (httpMethod === 'OPTIONS') return true
  const isLook = httpMethod === 'HEAD' || httpMethod === 'GET'
  return isLook && bodyBytes === 0 && authorization.kind === 'none' && !target.includes('?')
}

/** RFC 9110 §8.3.1: names of types are compared in any case, and parameters may follow. */
const isJsonType = (type: string | undefined): boolean => /^\s*application\/json\s*(;|$)/i.test(type ?? '')

function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}

/** How a client handles answers. The scenario counts `ok` lines without an accepted call. */
const answerChecks: readonly Check[] = [
  {
    id: 'answers/error-in-200',
    level: 'practice',
    title: 'An error in an HTTP 200 is an error',
    sentence: 'A JSON-RPC answer has either a result or an error; the HTTP status says nothing about it',
    source: 'JSON-RPC 2.0 §5; interface part 7 leaves the status open',
    judge: ofEach(
      ({ outcome, answer, faults }) => outcome === 'refused' && answer?.status === 200 && faults.includes('refuse'),
      () => [],
    ),
  },
  {
    id: 'answers/foreign-id-rejected',
    level: 'practice',
    title: 'An answer with another id is not used',
    sentence: 'id: chosen by the caller; the response carries the same value',
    source: 'interface part 1; JSON-RPC 2.0 §5',
    judge: ofEach(
      (request) => isSpoiltBy(request, 'wrong-id'),
      (foreign, { requests }) => {
        const use = requests.find(({ pair }) => pair !== null && pair === foreign.issued)
        const message =
          'A token from an answer with another id is used. Use only answers that carry the id of the request'
        return [use !== undefined && finding(message, foreign, use)]
      },
    ),
  },
  {
    id: 'answers/malformed-survived',
    level: 'practice',
    title: 'An answer that is not JSON is an error, and the client goes on',
    sentence: 'An answer that cannot be read is a failed call, not the end of the program',
    source: 'JSON-RPC 2.0 §5',
    judge({ story }) {
      const malformed = story.requests.filter(
        (request) => isSpoiltBy(request, 'malformed') && !isObject(parseJson(request.answer?.body ?? '')),
      )
      const [first] = malformed
      const problem = first && (crashAfter(story, first) ?? silenceAfter(story, first))
      const message = `After an answer that is not JSON the client ${problem}. Count the call as failed and go on`
      return { exercised: malformed.length > 0, findings: first && problem ? [finding(message, first)] : [] }
    },
  },
]

const isSpoiltBy = ({ outcome, faults }: Request, fault: string): boolean =>
  outcome === 'spoilt' && faults.includes(fault)

function crashAfter({ starts, setting: { calls } }: Story, malformed: Request): string | null {
  const start = malformed.start === null ? undefined : starts?.[malformed.start]
  if (start === undefined || calls === null) return null
  const { ended, ok, error } = start
  if (ended.kind === 'signal') return `ended by ${ended.signal}`
  if (ended.kind !== 'exit') return null
  if (ended.code !== 0) return `ended with exit code ${ended.code}`
  return ok + error < calls ? `reported only ${ok + error} of its ${calls} calls` : null
}

/** The client makes no further call although some are left. */
function silenceAfter({ requests, setting }: Story, malformed: Request): string | null {
  const calls = requests.filter(({ kind }) => kind === 'call')
  const isLast = requests.at(-1) === malformed && malformed.kind === 'call'
  return isLast && calls.length < (setting.calls ?? 0) ? 'makes no further call' : null
}

const secretChecks: readonly Check[] = [
  {
    id: 'secrets/not-in-url',
    level: 'practice',
    title: 'No URL contains a secret',
    sentence: 'Tokens are not passed in URLs, since logs and histories keep those',
    source: 'RFC 6750 §5.3',
    judge: ({ story }) => ({
      exercised: story.requests.some((request) => request.authorization.kind !== 'none' || isForTokens(request)),
      findings: each(story.requests, ({ target }) => [
        target !== callPath &&
          holdsSecret(target, story) &&
          'The URL contains a secret or a token. Send it in the header or the body',
      ]),
    }),
  },
  {
    id: 'secrets/not-after-redirect',
    level: 'practice',
    title: 'No secret follows a redirect to another origin',
    sentence:
      'A client that follows a redirect leaves out Authorization and everything else that only the first origin may see',
    source: 'RFC 9110 §15.4 and §17.16.3',
    judge({ story }) {
      const redirects = story.requests.filter(({ outcome }) => outcome === 'redirected')
      const findings = story.elsewhere.flatMap((exchange) => {
        const what = secretIn(exchange, story)
        const message = `${what} is sent to another origin after a redirect. Do not follow it, or leave the secrets out`
        return what === null ? [] : [finding(message, ...redirects.slice(0, 1), exchange)]
      })
      return { exercised: redirects.length > 0, findings }
    },
  },
  {
    id: 'secrets/refresh-token-only-to-auth',
    level: 'practice',
    title: 'A refresh token is sent to manager/auth only',
    sentence: 'Refresh tokens are for the authorization server and are never sent to resource servers',
    source: 'RFC 6749 §1.5',
    judge({ story }) {
      const tokens = new Set(story.pairs.map(({ refreshToken }) => refreshToken))
      const firstHeldMs = Math.min(...story.pairs.map(({ heldMs }) => heldMs))
      const later = story.requests.filter(({ startedMs }) => startedMs >= firstHeldMs)
      const message = 'A refresh token is sent with a call. Send it as refreshToken of manager/auth only'
      return { exercised: later.length > 0, findings: each(later, (one) => [straysIn(one, tokens) && message]) }
    },
  },
]

function secretIn(exchange: Exchange, story: Story): string | null {
  const texts = [Buffer.from(exchange.body).toString('utf8'), exchange.target]
  if ((headerOf(exchange, 'authorization') ?? '') !== '') return 'The Authorization header'
  if (texts.some((text) => holdsSecret(text, story))) return 'A secret of the request'
  return exchange.headers.some(([, value]) => holdsSecret(value, story)) ? 'A header with a secret' : null
}

function straysIn({ headers, kind, rpc, params }: Request, tokens: ReadonlySet<string>): boolean {
  const words = headers.flatMap(([, value]) => value.split(/[\s;,="]+/))
  // The secret's own place is left out; the rest of the body is searched.
  const rest = kind === 'refresh' ? { ...rpc, params: { ...params, refreshToken: null } } : rpc
  return [...words, ...textsWithin(rest)].some((text) => tokens.has(text))
}

function textsWithin(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value !== 'object' || value === null ? [] : Object.values(value).flatMap(textsWithin)
}

/** Looks for the secrets of a story in a text, also as BASE64 of `id:secret` and with percent signs taken out. */
function holdsSecret(text: string, { secrets, keys }: Story): boolean {
  const basic = keys.flatMap((key) =>
    key.kind === 'secret' ? [Buffer.from(`${key.id}:${key.secret}`).toString('base64').replace(/=+$/, '')] : [],
  )
  const plain = percentDecoded(text)
  return [...secrets, ...basic].some((secret) => text.includes(secret) || plain.includes(secret))
}

/** A tolerance: timers may fire early, and the clocks of two processes are read at different times. In ms. */
const toleranceMs = 20

const retryChecks: readonly Check[] = [
  {
    id: 'retry/after-is-kept',
    level: 'practice',
    title: 'Nothing is sent before the time that Retry-After names',
    sentence: 'Retry-After says how long a client ought to wait before it makes a follow-up request',
    source: 'RFC 9110 §10.2.3',
    // With several workers a request may have been under way.
    judge: ofEach(({ outcome }, { setting }) => outcome === 'throttled' && setting.parallel === 1, tooEarly),
  },
  {
    id: 'retry/signed-anew',
    level: 'practice',
    title: 'A request that is sent again is signed again',
    sentence: 'A signature is valid for one timestamp and one nonce; a server that has seen the nonce refuses it',
    source: 'interface part 5.1; RFC 9421 §7.2.2',
    judge({ story }) {
      const signed = signedRequests(story)
      const message =
        'A request is sent again with its old signature or nonce. Choose a new timestamp and nonce, and sign again'
      const repeats = [...repeated(signed, headerOfSignature), ...repeated(signed, nonceOf).filter(isRetry)]
      return {
        exercised: signed.slice(0, -1).some(isTroubled),
        findings: repeats.map((same) => finding(message, ...same.slice(0, 2))),
      }
    },
  },
  {
    id: 'nonce/unique',
    level: 'practice',
    title: 'Every signature has its own nonce',
    sentence: 'A nonce is used once, so that a server can tell a request from its copy',
    source: 'RFC 9421 §2.3; interface part 5.1 leaves the rule to the server',
    judge({ story }) {
      // A whole signature that is sent again is another check.
      const sameHeaders = [...groupBy(signedRequests(story), headerOfSignature).values()]
      const once = sameHeaders.flatMap((same) => same.slice(0, 1))
      const message = 'Two signatures have the same nonce. Make a new random nonce for each'
      const findings = repeated(once, nonceOf).map((same) => finding(message, ...same.slice(0, 2)))
      return { exercised: once.length > 1, findings }
    },
  },
  {
    id: 'retry/create-key-not-repeated',
    level: 'practice',
    title: 'A key creation whose answer was lost is not repeated',
    sentence:
      'A client should not automatically retry a request with a method that is not idempotent; there are ten places for keys',
    source: 'RFC 9110 §9.2.2; interface part 8',
    judge({ story: { requests, setting } }) {
      const creations = requests.filter(({ method }) => method === 'manager/createApiKey')
      const lost = creations.find(({ outcome }) => outcome === 'lost' || outcome === 'spoilt')
      if (lost === undefined || setting.method !== 'manager/createApiKey' || setting.calls === null)
        return { exercised: false, findings: [] }
      const again = creations[setting.calls]
      const message =
        'A key creation is sent again although its answer was lost and it may have worked. Report the loss instead'
      return { exercised: true, findings: again === undefined ? [] : [finding(message, lost, again)] }
    },
  },
  {
    id: 'clock/skew-survived',
    level: 'practice',
    title: 'A wrong clock costs one refused call at most',
    sentence: "The Date header gives the server's time; a client corrects its timestamps by it",
    source: 'RFC 9110 §6.6.1; interface part 5.1 needs timestamps that agree',
    judge({ story }) {
      const accepted = signedRequests(story).some(({ outcome }) => outcome === 'accepted')
      return { exercised: story.setting.clockOffsetMs !== 0 && accepted, findings: skewFindings(story) }
    },
  },
]

function tooEarly(throttled: Request, { requests }: Story): Finding[] {
  const { answeredMs, heardMs, answer } = throttled
  const waitMs = parseRetryAfter(answer?.headers['retry-after'], answeredMs ?? 0)
  if (waitMs === undefined || answeredMs === null) return []
  const early = requests.find(({ startedMs }) => startedMs >= heardMs && startedMs < answeredMs + waitMs - toleranceMs)
  if (early === undefined) return []
  const afterMs = Math.round(early.startedMs - answeredMs)
  const message = `Retry-After names ${waitMs} ms, the next request came after ${afterMs} ms. Send nothing earlier`
  return [finding(message, throttled, early)]
}

function skewFindings({ requests, setting }: Story): Finding[] {
  // A timestamp in seconds or with letters is another check.
  const refused = requests.filter(
    ({ stage, authorization }) =>
      stage === 'signature/timestamp' && /^\d{13}$/.test(authorization.header.split(';')[2] ?? ''),
  )
  const [first] = refused
  if (refused.length > 1) {
    const message = `${refused.length} calls are refused because the clocks differ. Correct the timestamp by the Date header of the first refusal`
    return [finding(message, ...refused.slice(0, 2))]
  }
  if (first === undefined || requests.at(-1) !== first || (setting.calls ?? 0) < 2) return []
  const message =
    'After a call that was refused because the clocks differ, no further call is made. Correct the timestamp by the Date header of the refusal'
  return [finding(message, first)]
}

const signedRequests = ({ requests }: Story): Request[] =>
  requests.filter(({ authorization }) => authorization.kind === 'signature')

const headerOfSignature = ({ authorization }: Request): string => authorization.header

/** Groups of requests that share a text. */
const repeated = (requests: readonly Request[], textOf: (request: Request) => string): Request[][] =>
  [...groupBy(requests, textOf).values()].filter((same) => same.length > 1)

/** The second request repeats the first, which failed, and is not the same to the last byte. */
function isRetry([first, second]: readonly Request[]): boolean {
  if (first === undefined || second === undefined || !isTroubled(first)) return false
  return second.method === first.method && first.authorization.header !== second.authorization.header
}

/** The fourth of five fields; otherwise the whole header, which says nothing about nonces. */
function nonceOf({ authorization: { header } }: Request): string {
  const fields = header.split(';')
  return fields.length === 5 ? `nonce ${fields[3]}` : header
}

export const callChecks: readonly Check[] = [...requestChecks, ...retryChecks, ...secretChecks, ...answerChecks]

/** Another answer than a result or a refusal: the client may send the call again. */
const isTroubled = ({ outcome }: Request): boolean => outcome !== 'accepted' && outcome !== 'refused'
