import { createPublicKey } from 'node:crypto'
import { isObject, isStrings, type JsonObject, parseJson } from '../../engine/json.ts'
import type { Exchange, Journal, JournalKey, Setting, Start } from '../journal.ts'

/** What the client got for a request. */
export type Outcome =
  /** A result, whole and with the right id. */
  | 'accepted'
  /** A JSON-RPC error, or a 4xx. */
  | 'refused'
  /** 429, or 503 with Retry-After. */
  | 'throttled'
  | 'redirected'
  /** The call had its effect, but the answer never arrived; or its effect is unknown. */
  | 'lost'
  /** The answer was not JSON, or had another id. */
  | 'spoilt'
  | 'broken'

/** How a request ended for the client, with the faults that the server made on purpose. */
export function outcomeOf({ answer, deliveredMs, faults }: Exchange): Outcome {
  if (answer === null || answer.status === 0 || deliveredMs === null) return 'lost'
  const { status, headers } = answer
  if (faults.includes('malformed') || faults.includes('wrong-id')) return 'spoilt'
  if (status === 429 || (status === 503 && headers['retry-after'] !== undefined)) return 'throttled'
  if (status >= 300 && status < 400) return 'redirected'
  const json = readObject(answer.body)
  if (json !== null && 'error' in json) return 'refused'
  if (status >= 400 && status < 500) return 'refused'
  return status < 300 && json !== null && 'result' in json ? 'accepted' : 'broken'
}

/** The body of a request as JSON. */
type Body = { kind: 'json'; value: unknown } | { kind: 'not-json' } | { kind: 'cut-off' }

/** `cut-off`: the journal holds only the beginning of the body. */
function readBody({ body, bodyBytes }: Pick<Exchange, 'body' | 'bodyBytes'>): Body {
  if (body.length < bodyBytes) return { kind: 'cut-off' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return { kind: 'json', value: JSON.parse(text) }
  } catch {
    return { kind: 'not-json' }
  }
}

/** A JSON text as an object; null if it is not one. */
export function readObject(text: string | undefined): JsonObject | null {
  return asObject(parseJson(text ?? ''))
}

/** A value as an object; null if it is not one, or a list. */
export function asObject(value: unknown): JsonObject | null {
  return isObject(value) ? value : null
}

/** A value as a string; null if it is not one. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** The strings of a list; null if it is not a list of strings. */
export function textsOf(value: unknown): string[] | null {
  return isStrings(value) ? value : null
}

/** The kind of an Authorization header, as it claims. */
export type Authorization =
  | { kind: 'none' }
  /** A signature, or an attempt at one. */
  | { kind: 'signature'; header: string }
  /** null: not BASE64 of `id:secret`. */
  | { kind: 'basic'; header: string; credentials: { id: string; secret: string } | null }
  | { kind: 'token'; header: string; token: string }
  | { kind: 'other'; header: string }

/** The value of a header of a request, its first one; names are compared in lower case. */
export function headerOf({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
  return headers.find(([other]) => other.toLowerCase() === name)?.[1]
}

/** Reads the Authorization header of a request. @param isToken whether the server issued this text as a token */
function readAuthorization(
  exchange: Pick<Exchange, 'headers'>,
  { auth, scheme, tokenPrefix }: Setting,
  isToken: (text: string) => boolean,
): Authorization {
  const header = headerOf(exchange, 'authorization')
  if (header === undefined || header === '') return { kind: 'none' }
  const space = header.indexOf(' ')
  const word = header.slice(0, Math.max(space, 0)).toLowerCase()
  const rest = header.slice(space + 1)
  if (word === scheme.toLowerCase()) return { kind: 'signature', header }
  if (word === 'basic') return { kind: 'basic', header, credentials: basicCredentials(rest) }
  if (isToken(rest) || word === tokenPrefix.toLowerCase()) return { kind: 'token', header, token: rest }
  const looksSigned = rest.split(/[;,]/).length >= 4
  return looksSigned || auth === 'hmac' || auth === 'ecc' ? { kind: 'signature', header } : { kind: 'other', header }
}

function basicCredentials(text: string): { id: string; secret: string } | null {
  const plain = Buffer.from(text.trim(), 'base64').toString('utf8')
  const colon = plain.indexOf(':')
  return colon < 0 ? null : { id: plain.slice(0, colon), secret: plain.slice(colon + 1) }
}

/** A journal prepared for checks: every request with its kind, its outcome, and its tokens. `keys` includes those that the client created. */
export interface Story extends Omit<Journal, 'exchanges'> {
  /** Whole requests, in the order in which they began to arrive. */
  requests: readonly Request[]
  pairs: readonly Pair[]
  secrets: ReadonlySet<string>
}

export interface Request {
  exchange: Exchange
  kind: 'call' | 'grant' | 'refresh' | 'unread'
  body: Body
  method: string | null
  params: JsonObject | null
  authorization: Authorization
  outcome: Outcome
  /** Which start of the client sent it, from 0; null: unknown. */
  start: number | null
  /** The pair whose access token (a call) or refresh token (a refresh) was presented. */
  pair: Pair | null
  /** The pair that the server issued for it, whether or not the client got it. */
  issued: Pair | null
}

/** An access token and its refresh token. */
export interface Pair {
  accessToken: string
  refreshToken: string
  accessExpiryMs: number
  refreshExpiryMs: number
  issuedBy: Request
  /** The pair that was refreshed; null for a grant. */
  parent: Pair | null
  /** When the client received it; null: never. */
  heldMs: number | null
  /** The pair that the server gave for its refresh token, whether or not the client got it. */
  successor: Pair | null
  /** The requests that presented one of its tokens where it belongs, in order. */
  uses: Request[]
  /** All pairs of one grant, itself included; they share this list. */
  family: Pair[]
}

/** With several workers, a request that arrives this soon after an answer may have been sent before it; longer on a slow machine. */
const underWayMs = 250

/** Whether a request was sent after the client had an answer, as far as the times show. */
export function isAfter({ setting }: Pick<Story, 'setting'>, request: Request, answeredMs: number): boolean {
  const { startedMs } = request.exchange
  return setting.parallel === 1 ? startedMs >= answeredMs : startedMs > answeredMs + underWayMs + setting.lagMs
}

/** When the client received a newer pair than this one; null: never. */
export function replacedMs(pair: Pair): number | null {
  return pair.successor?.heldMs ?? null
}

/** Whether the client could use the refresh token of a pair at a given time: received, not used, not refused, not expired. */
export function isGoodForRefresh(pair: Pair, atMs: number): boolean {
  if (pair.heldMs === null || pair.heldMs > atMs || pair.refreshExpiryMs <= atMs) return false
  return !pair.uses.some(
    ({ kind, exchange, outcome, issued }) =>
      kind === 'refresh' && exchange.startedMs < atMs && (issued !== null || outcome === 'refused'),
  )
}

/** Whether the client sent anything after a given time. */
export function goesOnAfter({ requests }: Pick<Story, 'requests'>, atMs: number): boolean {
  return (requests.at(-1)?.exchange.startedMs ?? 0) > atMs
}

/** Reads a journal once, for all checks. Pure. */
export function readJournal(journal: Journal): Story {
  const { setting, exchanges, elsewhere, starts } = journal
  const pairs: Pair[] = []
  const byToken = new Map<string, Pair>()
  const keys: JournalKey[] = [...journal.keys]
  const requests = exchanges
    .filter(({ receivedMs }) => receivedMs !== null)
    .map((exchange) => readRequest(exchange, journal))
  // Tokens become known by answers, so in the order of the answers.
  const inOrderOfAnswers = requests.toSorted(
    (one, other) => (one.exchange.answeredMs ?? 0) - (other.exchange.answeredMs ?? 0),
  )
  for (const request of inOrderOfAnswers) {
    const pair = issuedPair(request, byToken)
    if (pair !== null) {
      pairs.push(pair)
      byToken.set(pair.accessToken, pair).set(pair.refreshToken, pair)
    }
    const key = createdKey(request)
    if (key !== null) keys.push(key)
  }
  for (const request of requests) attachTokens(request, journal, byToken)
  return {
    scenario: journal.scenario,
    setting,
    keys,
    requests,
    elsewhere,
    starts,
    pairs,
    secrets: secretsOf(keys, pairs),
  }
}

function readRequest(exchange: Exchange, { setting, starts }: Journal): Request {
  const body = readBody(exchange)
  const rpc = body.kind === 'json' ? asObject(body.value) : null
  const method = textOf(rpc?.method)
  const params = asObject(rpc?.params)
  return {
    exchange,
    kind: kindOf(rpc, method, params),
    body,
    method,
    params,
    authorization: readAuthorization(exchange, setting, () => false),
    outcome: outcomeOf(exchange),
    start: starts === null ? null : startOf(exchange, starts),
    pair: null,
    issued: null,
  }
}

function kindOf(rpc: JsonObject | null, method: string | null, params: JsonObject | null): Request['kind'] {
  if (rpc === null) return 'unread'
  if (method !== 'manager/auth') return 'call'
  return params?.grantType === 'refresh_token' ? 'refresh' : 'grant'
}

/** A request that arrives after the end of a start was sent by it. */
function startOf({ startedMs }: Exchange, starts: readonly Start[]): number {
  const later = starts.findIndex(({ fromMs }) => fromMs > startedMs)
  return Math.max(0, (later < 0 ? starts.length : later) - 1)
}

function issuedPair(request: Request, byToken: ReadonlyMap<string, Pair>): Pair | null {
  const { exchange, kind, params, outcome } = request
  if (kind !== 'grant' && kind !== 'refresh') return null
  const result = resultOf(exchange)
  const accessToken = textOf(result?.accessToken)
  const refreshToken = textOf(result?.refreshToken)
  if (result === null || accessToken === null || refreshToken === null) return null
  const parent = kind === 'refresh' ? (byToken.get(textOf(params?.refreshToken) ?? '') ?? null) : null
  const pair: Pair = {
    accessToken,
    refreshToken,
    accessExpiryMs: Number(result.accessTokenExpiry),
    refreshExpiryMs: Number(result.refreshTokenExpiry),
    issuedBy: request,
    parent,
    heldMs: outcome === 'accepted' ? exchange.deliveredMs : null,
    successor: null,
    uses: [],
    family: parent?.family ?? [],
  }
  pair.family.push(pair)
  if (parent !== null) parent.successor ??= pair
  request.issued = pair
  return pair
}

/** The result that the server gave, even if a fault changed the answer on its way. */
const resultOf = ({ answer }: Exchange): JsonObject | null =>
  asObject(readObject(answer?.unspoilt ?? answer?.body)?.result)

function createdKey({ method, params, exchange }: Request): JournalKey | null {
  if (method !== 'manager/createApiKey') return null
  const result = resultOf(exchange)
  const id = textOf(result?.id)
  if (id === null) return null
  const pem = textOf(params?.publicKey)
  if (pem !== null) {
    const publicKey = rawPublicKey(pem)
    return publicKey === null ? null : { kind: 'public', id, publicKey }
  }
  const secret = textOf(result?.secret)
  return secret === null ? null : { kind: 'secret', id, secret }
}

function rawPublicKey(pem: string): Uint8Array | null {
  try {
    const { x } = createPublicKey(pem).export({ format: 'jwk' })
    return x === undefined ? null : Buffer.from(x, 'base64url')
  } catch {
    return null
  }
}

function attachTokens(request: Request, { setting }: Journal, byToken: ReadonlyMap<string, Pair>): void {
  request.authorization = readAuthorization(request.exchange, setting, (text) => byToken.has(text))
  const { authorization, kind, params } = request
  if (kind === 'refresh') request.pair = byToken.get(textOf(params?.refreshToken) ?? '') ?? null
  else if (authorization.kind === 'token') {
    const pair = byToken.get(authorization.token)
    if (pair?.accessToken === authorization.token) request.pair = pair
  }
  request.pair?.uses.push(request)
}

function secretsOf(keys: readonly JournalKey[], pairs: readonly Pair[]): Set<string> {
  const ofKeys = keys.flatMap((key) => (key.kind === 'secret' ? [key.secret] : []))
  return new Set([...ofKeys, ...pairs.flatMap(({ accessToken, refreshToken }) => [accessToken, refreshToken])])
}
