import { createPublicKey } from 'node:crypto'
import type { JsonObject } from '../../engine/json.ts'
import type { Exchange, Journal, JournalKey, Start } from '../journal.ts'
import { readAuthorization } from './authorization.ts'
import { outcomeOf } from './outcome.ts'
import { asObject, readBody, readObject, textOf } from './rpc.ts'
import type { Pair, Request, Story } from './story.ts'

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
