/** For tests: calls as a proxy sees them, and what is judged of them. */
import type { Judged } from '../watch/follow.ts'
import type { NamedKey, Observed } from '../watch/records.ts'
import { type Outcome, openSession, replay, type SessionOptions } from '../watch/session.ts'
import { body, hmacHeader, madeUpPair, rootKey, rootSecret, startMs } from './made-up-calls.ts'

export const scheme = 'svc-hmac-sha256'
export const root: NamedKey = { id: rootKey.id, secret: rootSecret }

interface Asked extends Partial<Observed> {
  method?: string
  params?: unknown
  authorization?: string | undefined
  /** The result; without one the call was refused. */
  result?: unknown
  /** Further headers. */
  more?: [string, string][]
  took?: number
  text?: string
}

let number = 0

/** A call that began this many ms after the start and took 5 ms, unless said otherwise. */
export function asked(
  atMs: number,
  {
    method = 'solution/listSolutions',
    params = {},
    authorization,
    result,
    more = [],
    took = 5,
    text,
    ...rest
  }: Asked = {},
): Observed {
  const sent = new TextEncoder().encode(text ?? body(method, params))
  const startedMs = startMs + atMs
  const answer =
    result === undefined
      ? { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'Unauthorized' } }
      : { jsonrpc: '2.0', id: 1, result }
  return {
    number: ++number,
    connection: 1,
    address: '127.0.0.1',
    startedMs,
    receivedMs: startedMs,
    answeredMs: startedMs + took,
    deliveredMs: startedMs + took,
    order: { from: startedMs, to: startedMs + took },
    httpMethod: 'POST',
    target: '/api',
    headers: [
      ['content-type', 'application/json'],
      ...(authorization === undefined ? [] : [['Authorization', authorization] as [string, string]]),
      ...more,
    ],
    body: sent,
    bodyBytes: sent.length,
    answer: { status: 200, headers: {}, body: JSON.stringify(answer) },
    faults: [],
    unknown: [],
    isExact: true,
    ...rest,
  }
}

export const listed = { list: [] }

/** What a grant or a refresh gives out. */
export const pairNamed = (name: string, scope = ['solution']) =>
  madeUpPair(`access-token-${name}-0123456789`, `refresh-token-${name}-0123456789`, {
    fromMs: startMs,
    refreshMs: 9_000_000,
    scope,
  })

export const granted = (atMs: number, name: string, scope = ['solution'], more: Asked = {}): Observed =>
  asked(atMs, {
    method: 'manager/auth',
    params: { grantType: 'api_key_credentials', apiKeyId: rootKey.id, apiKeySecret: rootSecret, scope },
    result: pairNamed(name, scope),
    ...more,
  })

export const renewed = (atMs: number, from: string, to: string, more: Asked = {}): Observed =>
  asked(atMs, {
    method: 'manager/auth',
    params: { grantType: 'refresh_token', refreshToken: pairNamed(from).refreshToken },
    result: pairNamed(to),
    ...more,
  })

export const withToken = (atMs: number, name: string, more: Asked = {}): Observed =>
  asked(atMs, { authorization: `Bearer ${pairNamed(name).accessToken}`, ...more })

export const signedCall = (
  atMs: number,
  { signedText, secret, ...more }: Asked & { signedText?: string; secret?: string } = {},
): Observed => {
  const text = more.text ?? body('solution/listSolutions')
  const authorization = hmacHeader(signedText ?? text, {
    timestamp: String(startMs + atMs),
    ...(secret === undefined ? {} : { secret }),
  })
  return asked(atMs, { ...more, text, authorization })
}

export const terms: SessionOptions['terms'] = { scheme, tokenPrefix: null, uri: '/api', probes: new Map() }

/** Judges calls, one list after the other. */
export function judgedTraffic(
  observed: readonly Observed[],
  { keys = [], ...more }: Partial<Pick<SessionOptions, 'keys' | 'most' | 'diagnose' | 'requirements'>> = {},
): Outcome & { calls: number; lines: Judged[]; ids: string[] } {
  const lines: Judged[] = []
  const session = openSession({
    terms,
    keys,
    requirements: [],
    onJudged: (judged) => lines.push(judged),
    ...more,
  })
  replay(session, [observed])
  const outcome = session.finish()
  return { ...outcome, lines, ids: outcome.found.map(({ id }) => id) }
}
