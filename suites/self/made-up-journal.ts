/** Journals made by hand, for the tests of the checks of clients. Times are ms after a fixed start. */
import { createHmac } from 'node:crypto'
import { judgeSignatures } from '../client/checks/signatures.ts'
import { type Exchange, type Journal, readJournal, type Start } from '../client/journal.ts'
import { checks } from '../client/judge.ts'
import { diagnose } from '../lab/diagnose.ts'
import { madeUpPair } from './made-up-calls.ts'

const beginMs = Date.UTC(2026, 0, 1)
export const key = { kind: 'secret', id: 'key-1', secret: 'not-a-secret-0001' } as const

export interface Entry {
  at: number
  /** From the request to the answer; 5 ms by default. */
  took?: number
  method?: string
  params?: unknown
  authorization?: string
  result?: unknown
  error?: number
  status?: number
  answerHeaders?: { [name: string]: string }
  faults?: string[]
  stage?: string
  /** The answer never arrived. */
  lost?: boolean
  connection?: number
  httpMethod?: string
  target?: string
  contentType?: string
  headers?: [string, string][]
  /** Instead of the envelope with method and params. */
  body?: string
}

const pairOf = (name: string, lifeMs: number, at: number, scope: readonly string[]) =>
  madeUpPair(`access-token-${name}`, `refresh-token-${name}`, {
    fromMs: beginMs + at,
    lifeMs,
    refreshMs: 600_000,
    scope,
  })

interface Giving extends Partial<Entry> {
  lifeMs?: number
  scope?: string[]
  granted?: string[]
}

/** A grant that gives the pair of this name. */
export function grant(
  at: number,
  name: string,
  { lifeMs = 1000, scope = ['solution'], granted, ...more }: Giving = {},
): Entry {
  const params = { grantType: 'api_key_credentials', scope, apiKeyId: key.id, apiKeySecret: key.secret }
  return { at, method: 'manager/auth', params, result: pairOf(name, lifeMs, at, granted ?? scope), ...more }
}

/** A refresh of the pair `from` that gives the pair `to`; null: it is refused. */
export function refresh(at: number, from: string, to: string | null, { lifeMs = 1000, ...more }: Giving = {}): Entry {
  const params = { grantType: 'refresh_token', refreshToken: `refresh-token-${from}` }
  const outcome = to === null ? { error: 21 } : { result: pairOf(to, lifeMs, at, ['solution']) }
  return { at, method: 'manager/auth', params, ...outcome, ...more }
}

/** A call with the access token of a pair. */
export function call(at: number, name: string, more: Partial<Entry> = {}): Entry {
  return { at, authorization: `Bearer access-token-${name}`, ...more }
}

/** A call; with a right signature by default. */
export function signed(
  at: number,
  nonce: string,
  more: Partial<Entry> & { header?: (right: string) => string; uri?: string } = {},
): Entry {
  const { header = (right: string) => right, uri = '/api', ...rest } = more
  const body =
    rest.body ?? `{"jsonrpc":"2.0","id":${at},"method":"${rest.method ?? 'solution/listSolutions'}","params":{}}`
  const timestamp = beginMs + at
  const data = `${timestamp};${nonce};POST\n${uri}\n${body}\n`
  const mac = createHmac('sha256', key.secret).update(data).digest().subarray(0, 20).toString('base64')
  return { at, body, authorization: header(`svc-hmac-sha256 ${key.id};1;${timestamp};${nonce};${mac}`), ...rest }
}

/** A call that was refused. */
export const refused = { error: 24879 } as const

function exchangeOf(entry: Entry, index: number): Exchange {
  const { at, took = 5, method = 'solution/listSolutions', params = {}, lost = false } = entry
  const body = entry.body ?? JSON.stringify({ jsonrpc: '2.0', id: index, method, params })
  const error = entry.error === undefined ? undefined : { code: entry.error, message: 'Refused' }
  const answer = { jsonrpc: '2.0', id: index, ...(error === undefined ? { result: entry.result ?? {} } : { error }) }
  const text = JSON.stringify(answer)
  const faults = entry.faults ?? (lost ? ['drop'] : [])
  const sent = faults.includes('malformed') ? text.slice(0, -5) : text
  const endMs = beginMs + at + took
  return {
    number: index + 1,
    connection: entry.connection ?? 1,
    startedMs: beginMs + at,
    receivedMs: beginMs + at,
    answeredMs: endMs,
    deliveredMs: lost ? null : endMs,
    httpMethod: entry.httpMethod ?? 'POST',
    target: entry.target ?? '/api',
    headers: [
      ['Content-Type', entry.contentType ?? 'application/json'],
      ...(entry.authorization === undefined ? [] : [['Authorization', entry.authorization] as [string, string]]),
      ...(entry.headers ?? []),
    ],
    body: Buffer.from(body),
    bodyBytes: Buffer.byteLength(body),
    answer: {
      status: lost ? 0 : (entry.status ?? 200),
      headers: entry.answerHeaders ?? {},
      body: lost ? '' : sent,
      ...(lost || faults.length > 0 ? { unspoilt: text } : {}),
    },
    ...(entry.stage === undefined ? {} : { stage: entry.stage }),
    faults,
  }
}

export const start = (more: Partial<Start> = {}): Start => ({
  fromMs: beginMs - 50,
  toMs: beginMs + 60_000,
  ok: 0,
  error: 0,
  ended: { kind: 'exit', code: 0 },
  stderr: '',
  ...more,
})

/** A start this many ms after the beginning of the journal. */
export const startAt = (at: number): Start => start({ fromMs: beginMs + at })

export function journal(
  entries: readonly Entry[],
  setting: Partial<Journal['setting']> = {},
  more: Partial<Journal> = {},
): Journal {
  return {
    scenario: 'made-up/token',
    setting: {
      auth: 'token',
      scope: ['solution'],
      method: 'solution/listSolutions',
      calls: 4,
      parallel: 1,
      scheme: 'svc-hmac-sha256',
      tokenPrefix: 'Bearer',
      clockOffsetMs: 0,
      lagMs: 0,
      ...setting,
    },
    keys: [key],
    exchanges: entries.map(exchangeOf),
    elsewhere: [],
    starts: [start()],
    ...more,
  }
}

/** The requests at the other origin. */
export const elsewhere = (entries: readonly Entry[]): Pick<Journal, 'elsewhere'> => ({
  elsewhere: entries.map(exchangeOf),
})

/** `passed`, `not exercised`, or the first finding. */
export function judged(id: string, made: Journal): string {
  return judgedBy([id], made)[0] ?? ''
}

/** The same for several checks. */
export function judgedBy(
  ids: readonly string[],
  made: Journal,
  explain: Parameters<typeof judgeSignatures>[1] = diagnose,
): string[] {
  const story = readJournal(made)
  const evidence = { story, signed: judgeSignatures(story, explain) }
  return ids.map((id) => {
    const check = checks.find((one) => one.id === id)
    if (check === undefined) throw new RangeError(`There is no check "${id}"`)
    const { exercised, findings } = check.judge(evidence)
    return findings[0]?.message ?? (exercised ? 'passed' : 'not exercised')
  })
}
