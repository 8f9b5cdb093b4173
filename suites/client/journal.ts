/**
 * What a client did in one scenario, as plain data, and the same prepared for the checks, which see nothing else. SECRETS INCLUDED. Times
 * are ms since 1970.
 */
import { isObject, type JsonObject, membersOf, parseJson } from '../engine/json.ts'
import { publicKeyFromPem } from '../engine/signer/pem.ts'
import type { RecordedExchange } from '../targets/bundled.ts'

export const clientAuths = ['hmac', 'ecc', 'basic', 'token'] as const
type ClientAuth = (typeof clientAuths)[number]

export interface Journal {
  /** The id of the scenario; `listen` for a server that judges every call. */
  scenario: string
  setting: Setting
  keys: readonly JournalKey[]
  /** The requests to the server, in the order in which they began to arrive. */
  exchanges: readonly Exchange[]
  /** The requests to the other origin, to which the server redirected. */
  elsewhere: readonly Exchange[]
  /** The starts of the client, one after another; null if they are unknown. */
  starts: readonly Start[] | null
}

/** The client's task, and what is special about the server. */
interface Setting {
  /** null: the client decides. */
  auth: ClientAuth | null
  /** Entries of SVC_SCOPE; null: not set. */
  scope: readonly string[] | null
  method: string
  calls: number | null
  /** null: unknown, so calls may be simultaneous. */
  parallel: number | null
  scheme: string
  tokenPrefix: string
  /** How far the server's clock is ahead. */
  clockOffsetMs: number
  /** How long the busy machine kept a program waiting. */
  lagMs: number
}

/** Of a client that decides by itself what to do. */
export const unknownSetting = {
  auth: null,
  scope: null,
  method: 'solution/listSolutions',
  calls: null,
  parallel: null,
  clockOffsetMs: 0,
  lagMs: 0,
}

/** A key that the server knows, with what is needed to check its signatures. */
export type JournalKey =
  | { kind: 'secret'; id: string; secret: string }
  /** The seed is known for the keys that the judge made. */
  | { kind: 'public'; id: string; publicKey: Uint8Array; seed?: Uint8Array }

/** One run of the command. */
export interface Start {
  fromMs: number
  toMs: number
  /** The number of lines with `ok`, and of lines with `error`. */
  ok: number
  error: number
  ended: Ending
  /** The end of what it wrote to stderr, bounded. */
  stderr: string
}

type Ending =
  | { kind: 'exit'; code: number }
  | { kind: 'signal'; signal: string }
  | { kind: 'timeout'; seconds: number }
  /** Killed because it never stopped sending requests. */
  | { kind: 'runaway'; requests: number }
  /** Killed because the whole run was interrupted. */
  | { kind: 'interrupted' }

/** A request as the server recorded it, and its answer. */
export interface Exchange extends Omit<RecordedExchange, 'body'> {
  /** Cut if it is very long; `bodyBytes` is its length. */
  body: Uint8Array
  /** What its signature shows, where that was judged when it was seen. */
  signed?: SignatureShown
}

/** What a signature shows about the checks of signatures. */
export interface SignatureShown {
  /** The ids of the checks that it shows to hold. */
  shows: readonly string[]
  /** `mistake`: the id of the known one, where one explains it. */
  faults: readonly { check: string; message: string; diagnosis: readonly string[]; mistake?: string }[]
}

/** A journal prepared for checks. `keys` includes those that the client created. */
export interface Story extends Omit<Journal, 'exchanges'> {
  /** Whole requests, in the order in which they began to arrive. */
  requests: readonly Request[]
  pairs: readonly Pair[]
  secrets: ReadonlySet<string>
}

export interface Request extends Exchange {
  kind: 'call' | 'grant' | 'refresh' | 'unread'
  /** `cut-off`: the journal holds only the beginning of the body. */
  read: 'json' | 'not-json' | 'cut-off'
  /** The body; null if it is not a JSON object. */
  rpc: JsonObject | null
  method: string | null
  /** Empty if they are not an object. */
  params: JsonObject
  authorization: Authorization
  outcome: Outcome
  /** When the client had the whole answer; Infinity: never. */
  heardMs: number
  /** Which start of the client sent it, from 0; null: unknown. */
  start: number | null
  /** The pair whose access token (a call) or refresh token (a refresh) was presented. */
  pair: Pair | null
  /** The pair that the server issued for it, whether or not the client got it. */
  issued: Pair | null
}

interface Authorization {
  /** What it claims to be: `signature` is an attempt at one too. */
  kind: 'none' | 'signature' | 'basic' | 'token' | 'other'
  /** The value of the header. */
  header: string
  /** What follows its first word. */
  rest: string
}

/** What the client got for a request. */
type Outcome =
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

/** An access token and its refresh token. */
interface Pair {
  accessToken: string
  refreshToken: string
  /** On our clock. */
  accessExpiryMs: number
  refreshExpiryMs: number
  issuedBy: Request
  /** The pair that was refreshed; null for a grant. */
  parent: Pair | null
  /** When the client received it; Infinity: never. */
  heldMs: number
  /** The pair that the server gave for its refresh token, whether or not the client got it. */
  successor: Pair | null
  /** The requests that presented one of its tokens where it belongs, in order. */
  uses: Request[]
  /** All pairs of one grant, itself included; they share this list. */
  family: Pair[]
}

/** Reads a journal once, for all checks. Pure. */
export function readJournal({ exchanges, ...journal }: Journal): Story {
  const pairs: Pair[] = []
  const byToken = new Map<string, Pair>()
  const keys: JournalKey[] = [...journal.keys]
  const requests = exchanges
    .filter(({ receivedMs }) => receivedMs !== null)
    .map((exchange) => readRequest(exchange, journal.starts))
  // Tokens become known by answers, so in the order of the answers.
  for (const request of requests.toSorted((one, other) => (one.answeredMs ?? 0) - (other.answeredMs ?? 0))) {
    const pair = issuedPair(request, byToken, journal.setting)
    if (pair !== null) {
      pairs.push(pair)
      byToken.set(pair.accessToken, pair).set(pair.refreshToken, pair)
    }
    keys.push(...createdKeys(request))
  }
  for (const request of requests) attachTokens(request, journal.setting, byToken)
  const secrets = new Set([
    ...keys.flatMap((key) => (key.kind === 'secret' ? [key.secret] : [])),
    ...pairs.flatMap(({ accessToken, refreshToken }) => [accessToken, refreshToken]),
  ])
  return { ...journal, keys, requests, pairs, secrets }
}

function readRequest(exchange: Exchange, starts: Journal['starts']): Request {
  const { read, value } = readBody(exchange)
  const rpc = isObject(value) ? value : null
  const method = textOf(rpc?.method)
  const params = membersOf(rpc?.params)
  const ofToken = params.grantType === 'refresh_token' ? 'refresh' : 'grant'
  // A request that arrives after the end of a start was sent by it.
  const later = starts?.findIndex(({ fromMs }) => fromMs > exchange.startedMs) ?? 0
  return {
    ...exchange,
    kind: rpc === null ? 'unread' : method === 'manager/auth' ? ofToken : 'call',
    read,
    rpc,
    method,
    params,
    authorization: { kind: 'none', header: '', rest: '' },
    outcome: outcomeOf(exchange),
    heardMs: exchange.deliveredMs ?? Number.POSITIVE_INFINITY,
    start: starts === null ? null : Math.max(0, (later < 0 ? starts.length : later) - 1),
    pair: null,
    issued: null,
  }
}

function readBody({ body, bodyBytes }: Exchange): Pick<Request, 'read'> & { value?: unknown } {
  if (body.length < bodyBytes) return { read: 'cut-off' }
  try {
    return { read: 'json', value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) }
  } catch {
    return { read: 'not-json' }
  }
}

/** How a request ended for the client, with the faults that the server made on purpose. */
function outcomeOf({ answer, deliveredMs, faults }: Exchange): Outcome {
  if (answer === null || answer.status === 0 || deliveredMs === null) return 'lost'
  const { status, headers } = answer
  if (faults.includes('malformed') || faults.includes('wrong-id')) return 'spoilt'
  if (status === 429 || (status === 503 && headers['retry-after'] !== undefined)) return 'throttled'
  if (status >= 300 && status < 400) return 'redirected'
  const json = membersOf(parseJson(answer.body))
  if ('error' in json || (status >= 400 && status < 500)) return 'refused'
  return status < 300 && 'result' in json ? 'accepted' : 'broken'
}

function issuedPair(request: Request, byToken: ReadonlyMap<string, Pair>, { clockOffsetMs }: Setting): Pair | null {
  const { kind, params, outcome, heardMs } = request
  const { accessToken, refreshToken, accessTokenExpiry, refreshTokenExpiry } = resultOf(request)
  if (!isForTokens(request) || typeof accessToken !== 'string' || typeof refreshToken !== 'string') return null
  const parent = kind === 'refresh' ? (byToken.get(textOf(params.refreshToken) ?? '') ?? null) : null
  const pair: Pair = {
    accessToken,
    refreshToken,
    accessExpiryMs: Number(accessTokenExpiry) - clockOffsetMs,
    refreshExpiryMs: Number(refreshTokenExpiry) - clockOffsetMs,
    issuedBy: request,
    parent,
    heldMs: outcome === 'accepted' ? heardMs : Number.POSITIVE_INFINITY,
    successor: null,
    uses: [],
    family: parent?.family ?? [],
  }
  pair.family.push(pair)
  if (parent !== null) parent.successor ??= pair
  request.issued = pair
  return pair
}

/** The result that the server gave, even if a fault changed the answer afterwards; empty without a result. */
const resultOf = ({ answer }: Exchange): JsonObject =>
  membersOf(membersOf(parseJson(answer?.unspoilt ?? answer?.body ?? '')).result)

/** The key that a request created, if it did. */
function createdKeys(request: Request): JournalKey[] {
  const { id, secret } = resultOf(request)
  if (request.method !== 'manager/createApiKey' || typeof id !== 'string') return []
  const pem = textOf(request.params.publicKey)
  if (pem === null) return typeof secret === 'string' ? [{ kind: 'secret', id, secret }] : []
  try {
    return [{ kind: 'public', id, publicKey: publicKeyFromPem(pem) }]
  } catch {
    return []
  }
}

function attachTokens(request: Request, setting: Setting, byToken: ReadonlyMap<string, Pair>): void {
  request.authorization = readAuthorization(headerOf(request, 'authorization') ?? '', setting, byToken)
  const { authorization, kind, params } = request
  const token = kind === 'refresh' ? textOf(params.refreshToken) : authorization.kind === 'token' && authorization.rest
  const pair = byToken.get(token || '')
  if (pair === undefined || (kind !== 'refresh' && pair.accessToken !== token)) return
  request.pair = pair
  pair.uses.push(request)
}

function readAuthorization(
  header: string,
  { auth, scheme, tokenPrefix }: Setting,
  byToken: ReadonlyMap<string, Pair>,
): Authorization {
  const space = header.indexOf(' ')
  const word = header.slice(0, Math.max(space, 0)).toLowerCase()
  const rest = header.slice(space + 1)
  const kindOf = (): Authorization['kind'] => {
    if (header === '') return 'none'
    if (word === scheme.toLowerCase()) return 'signature'
    if (word === 'basic') return 'basic'
    if (byToken.has(rest) || word === tokenPrefix.toLowerCase()) return 'token'
    return rest.split(/[;,]/).length >= 4 || auth === 'hmac' || auth === 'ecc' ? 'signature' : 'other'
  }
  return { kind: kindOf(), header, rest }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** The value of a header of a request, its first one; names are compared in lower case. */
export function headerOf({ headers }: Pick<Exchange, 'headers'>, name: string): string | undefined {
  return headers.find(([other]) => other.toLowerCase() === name)?.[1]
}

/** Whether a request is a grant or a refresh. */
export const isForTokens = ({ kind }: Request): boolean => kind === 'grant' || kind === 'refresh'

/** When the client received a newer pair than this one; Infinity: never. */
export const replacedMs = ({ successor }: Pair): number => successor?.heldMs ?? Number.POSITIVE_INFINITY

/** Whether the client got a pair, and sent something after its access token had expired. */
export function isOutlived({ requests }: Story, { heldMs, accessExpiryMs }: Pair): boolean {
  return Number.isFinite(heldMs) && (requests.at(-1)?.startedMs ?? 0) > accessExpiryMs
}
