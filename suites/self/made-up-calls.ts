/** For tests: calls, answers and states of the model without a target. */

import type { Exchange } from '../engine/model/explain.ts'
import { contradicts, facts, judge } from '../engine/model/judge.ts'
import { learn } from '../engine/model/learn.ts'
import type { Span } from '../engine/model/sessions.ts'
import { type Answer, type Call, initialState, type Key, type State, type Verdict } from '../engine/model/state.ts'
import { toBase64, utf8 } from '../engine/signer/bytes.ts'
import { type Random, seededRandom } from '../engine/signer/random.ts'
import { sign } from '../engine/signer/sign.ts'
import type { WireRequest } from '../engine/target.ts'
import { listenToRun } from '../explore/listen.ts'

export const rootSecret = 'root-secret-0123456789abcdef'
export const startMs = 1_700_000_000_000
const random = seededRandom(7)

export const rootKey: Key = {
  id: 'root-id',
  name: '',
  secret: rootSecret,
  publicKey: null,
  scope: null,
  doubtful: [],
  works: 'yes',
  origin: 'the initial key',
}

export function newState(more: Partial<State['terms']> = {}): State {
  const terms = {
    scheme: 'svc-hmac-sha256',
    tokenPrefix: 'Bearer',
    uri: '/api',
    probes: new Map(),
    fresh: true,
    ...more,
  }
  return initialState(terms, rootKey)
}

/** The time span of a call this many ms after the start. */
export const at = (ms: number): Span => ({ from: startMs + ms, to: startMs + ms + 2 })

export function body(method: string, params: unknown = {}, id = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

export const listBody = body('solution/listSolutions')
const from = '127.0.0.1'

export const listWith = (authorization: string | undefined, text = listBody, address = from): Call => ({
  authorization,
  body: text,
  from: address,
})

export const basicHeader = (id = rootKey.id, secret = rootSecret): string =>
  `Basic ${toBase64(utf8(`${id}:${secret}`))}`

export function hmacHeader(
  text = listBody,
  change: { timestamp?: string; nonce?: string; secret?: string } = {},
): string {
  const key = { kind: 'secret' as const, secret: change.secret ?? rootSecret }
  const { timestamp = String(startMs), nonce = toBase64(random.bytes(18)) } = change
  return sign({
    scheme: 'svc-hmac-sha256',
    keyId: rootKey.id,
    key,
    method: 'POST',
    uri: '/api',
    body: utf8(text),
    timestamp,
    nonce,
  }).header
}

export const grantCall = (scope: readonly string[], more: object = {}): Call => ({
  authorization: undefined,
  body: body('manager/auth', {
    grantType: 'api_key_credentials',
    apiKeyId: rootKey.id,
    apiKeySecret: rootSecret,
    scope,
    ...more,
  }),
  from,
})

export const refreshCall = (refreshToken: string): Call => ({
  authorization: undefined,
  body: body('manager/auth', { grantType: 'refresh_token', refreshToken }),
  from,
})

export const createCall = (params: object, authorization = basicHeader()): Call => ({
  authorization,
  body: body('manager/createApiKey', params),
  from,
})

export const refused: Answer = { kind: 'refused' }
export const lost: Answer = { kind: 'broken', reason: 'no answer' }
export const accepted = (result: unknown = { list: [] }): Answer => ({
  kind: 'accepted',
  jsonrpc: '2.0',
  id: 1,
  result,
})

interface MadeUpPair {
  fromMs: number
  lifeMs?: number | undefined
  refreshMs?: number | undefined
  scope?: readonly string[]
}

/** The result of a grant or a refresh. */
export const madeUpPair = (
  accessToken: string,
  refreshToken: string,
  { fromMs, lifeMs = 900_000, refreshMs = 7 * 86_400_000, scope = ['solution'] }: MadeUpPair,
) => ({
  accessToken,
  accessTokenExpiry: fromMs + lifeMs,
  refreshToken,
  refreshTokenExpiry: fromMs + refreshMs,
  tokenType: 'Bearer',
  scope,
})

export const tokensOf = (name: string): { access: string; refresh: string } => ({
  access: `${name}-access-token-0123456789`,
  refresh: `${name}-refresh-token-0123456789`,
})

/** An accepted grant or refresh whose tokens carry a name. */
export function pairAnswer(
  name: string,
  scope: readonly string[],
  made: Span,
  lifeMs?: number,
  refreshMs?: number,
): Answer {
  const { access, refresh } = tokensOf(name)
  return accepted(madeUpPair(access, refresh, { fromMs: made.from, scope, lifeMs, refreshMs }))
}

export const tokenHeader = (name: string): string => `Bearer ${tokensOf(name).access}`

/** A call with the access token of a pair. */
export const use = (name: string): Call => listWith(tokenHeader(name))

export const judged = (state: State, call: Call, span: Span): Verdict => judge(state, facts(state, call, span))

/** The verdict on a call in one word. */
export const verdict = (state: State, call: Call, ms = 0): Verdict['is'] => judged(state, call, at(ms)).is

/** The verdict on a call and its reason: `refused: scopes/context (must)`. */
export function ruling(state: State, call: Call, ms = 0): string {
  const { is, requirement, level } = judged(state, call, at(ms))
  return `${is}: ${requirement} (${level})`
}

/** A call, its answer, and when it was made: in ms after the start. */
export type Event = readonly [call: Call, answer: Answer, when: number | Span]

/** What is known after these calls. */
export const after = (state: State, ...events: readonly Event[]): State =>
  events.reduce(
    (known, [call, answer, when]) => learn(known, call, answer, typeof when === 'number' ? at(when) : when),
    state,
  )

interface Granting {
  readonly ms?: number
  /** The scope that the answer names; the requested one by default. */
  readonly said?: readonly string[]
  readonly lifeMs?: number
  readonly refreshMs?: number
  /** Params that differ, such as another key. */
  readonly params?: object
}

/** A grant that gives the pair of this name. */
export const granted = (
  name: string,
  scope: readonly string[] = ['solution'],
  { ms = 0, said = scope, lifeMs, refreshMs, params }: Granting = {},
): Event => [grantCall(scope, params), pairAnswer(name, said, at(ms), lifeMs, refreshMs), ms]

/** A refresh of one pair that gives another. */
export const refreshed = (from: string, to: string, ms: number, said: readonly string[] = ['solution']): Event => [
  refreshCall(tokensOf(from).refresh),
  pairAnswer(to, said, at(ms)),
  ms,
]

/** The state after a calibrating grant and the named grants. */
export const afterGrants = (state: State, names: readonly string[], scope: readonly string[], ms = 0): State =>
  after(
    state,
    granted('clock', ['solution', 'expiresIn:15000'], { ms, said: ['solution'], lifeMs: 15_000 }),
    ...names.map((name, index) => granted(name, scope, { ms: ms + index })),
  )

/** A conversation with a target, to which the model listens. */

export type Conversation = ReturnType<typeof conversation>

/** A run whose calls and answers are made by hand, on a clock that the test moves. */
export function conversation() {
  const { listener, judgeRefusal, counts, take } = listenToRun({
    isShared: true,
    state: { ...newState({ fresh: false }), sessions: [] },
    seenFrom: { first: '127.0.0.1', second: undefined },
    ownHeaders: new Set(),
    requirements: [],
  })
  const lostPreparation = (refused: WireRequest) => {
    const judged = judgeRefusal(refused)
    return judged?.is === 'required' ? judged.because : undefined
  }
  let nowMs = startMs
  let id = 0
  const begin = (method: string, params: object, authorize?: (text: string) => string, path = '/api'): WireRequest => {
    const text = body(method, params, ++id)
    const request: WireRequest = {
      method: 'POST',
      path,
      headers: [
        ['content-type', 'application/json'],
        ...(authorize === undefined ? [] : [['authorization', authorize(text)] as [string, string]]),
      ],
      body: utf8(text),
    }
    listener({ kind: 'exchange-begun', request })
    return request
  }
  const end = (request: WireRequest, result: object | null): void => {
    const { id } = JSON.parse(new TextDecoder().decode(request.body)) as { id: number }
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...(result === null ? { error: { code: 1 } } : { result }) })
    const answer = { kind: 'answer', status: 200, headers: {}, body: utf8(text) } as const
    listener({ kind: 'exchange-made', request, answer, sentAtMs: nowMs, answeredAtMs: nowMs })
  }
  const made = (request: WireRequest, result: object | null): WireRequest => {
    end(request, result)
    return request
  }
  const pair = (name: string, lifeMs?: number) =>
    madeUpPair(`${name}-access-token`, `${name}-refresh-token`, { fromMs: nowMs, lifeMs })
  const credentials = { grantType: 'api_key_credentials', apiKeyId: rootKey.id, apiKeySecret: rootSecret }
  const refreshing = (name: string) =>
    begin('manager/auth', { grantType: 'refresh_token', refreshToken: `${name}-refresh-token` })
  const using = (name: string) => begin('solution/listSolutions', {}, () => `Bearer ${name}-access-token`)
  return {
    wait: (ms: number) => {
      nowMs += ms
    },
    begin,
    end,
    using,
    refreshing,
    grant: (name: string, scope: string[] = [], result: object | null = pair(name)) =>
      end(begin('manager/auth', { ...credentials, scope: ['solution', ...scope] }), result),
    grantSessions: (names: string[]) => {
      for (const name of names) end(begin('manager/auth', { ...credentials, scope: [`session:${name}`] }), pair(name))
    },
    refresh: (from: string, to: string) => end(refreshing(from), pair(to)),
    use: (name: string) => end(using(name), {}),
    pair,
    counts,
    whyUse: (name: string) => lostPreparation(made(using(name), null)),
    whyRefresh: (name: string) => lostPreparation(made(refreshing(name), null)),
    lostPreparation,
    /** The ids of what was found since it was last asked. */
    found: () => take().map((finding) => finding.id),
    judgeRefusal,
    judgeUse: (name: string) => judgeRefusal(made(using(name), null)),
  }
}

/** Names of sessions. */
export const names = (count: number, word = 'more'): string[] =>
  Array.from({ length: count }, (_none, at) => `${word}-${at}`)

interface HistoryOptions {
  readonly random: Random
  /** Which reading of the open questions about sessions the server has: an index of `sessions`. */
  readonly reading: number
  /** Whether a tenth of the answers is lost. */
  readonly lossy: boolean
  readonly calls: number
}

/** Simultaneous calls, answered as the document says: each takes effect somewhere between its start and its end. */
export function correctHistory(start: State, { random, reading, lossy, calls }: HistoryOptions): Exchange[] {
  let server: State = { ...start, sessions: start.sessions.slice(reading, reading + 1) }
  const names = ['a', 'b', 'c']
  const history: Exchange[] = []
  for (let n = 0; n < calls; n++) {
    const effect = 100 + n * 10
    const call = anyCall(random, names)
    const verdict = judge(server, facts(server, call, at(effect)))
    const fine = verdict.is === 'accepted' || (verdict.is === 'open' && random.below(2) === 0)
    const answer = fine ? answerOf(call, effect, n) : refused
    if (contradicts(verdict, answer)) throw new Error('The server of the history contradicts itself')
    server = learn(server, call, answer, at(effect))
    const seen = lossy && random.below(10) === 0 ? lost : answer
    // Tokens that never arrived are not used.
    if (seen === answer && answer.kind === 'accepted' && call.body.includes('manager/auth')) names.push(`n${n}`)
    const [from, to] = [effect - random.below(40), effect + 1 + random.below(40)]
    history.push({ call, answer: seen, span: { from: at(from).from, to: at(to).from }, like: `${n}` })
  }
  return history
}

function answerOf(call: Call, effect: number, n: number): Answer {
  if (call.body.includes('createApiKey')) return accepted({ id: `k${n}`, secret: `s${n}` })
  if (!call.body.includes('manager/auth')) return accepted()
  return pairAnswer(`n${n}`, ['solution'], at(effect))
}

function anyCall(random: Random, names: readonly string[]): Call {
  const name = names[random.below(names.length)] ?? 'a'
  const calls = [
    listWith(tokenHeader(name)),
    listWith(tokenHeader(name)),
    refreshCall(tokensOf(name).refresh),
    grantCall(['solution']),
    grantCall(['solution', `session:s${random.below(20)}`]),
    listWith(basicHeader()),
    listWith(undefined),
    createCall({ name: 'n', scope: ['solution'] }),
  ]
  return calls[random.below(calls.length)] ?? listWith(undefined)
}
