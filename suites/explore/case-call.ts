/** An exchange as the model sees it: what it touches, how it is told, and whether calls at the same time have an order that the document allows. */

import { isObject, isStrings } from '../engine/json.ts'
import { type Classified, classify } from '../engine/judge/classify.ts'
import { explain } from '../engine/model/explain.ts'
import { facts, judge } from '../engine/model/judge.ts'
import { doubtLine, forgetSessions, learn } from '../engine/model/learn.ts'
import { authorizationOf, findPair, presentedIn, readBody } from '../engine/model/read-call.ts'
import type { Span } from '../engine/model/sessions.ts'
import type { Answer, Call, Pair, State } from '../engine/model/state.ts'
import type { WireAnswer } from '../engine/target.ts'
import { notAllowed } from './words.ts'

export function modelAnswer(answer: Classified): Answer {
  switch (answer.outcome) {
    case 'accepted':
      return { kind: 'accepted', result: answer.result, jsonrpc: answer.json.jsonrpc, id: answer.json.id }
    case 'refused':
      return { kind: 'refused', said: `HTTP ${answer.status}${errorText(answer.error)}` }
    case 'broken':
      return { kind: 'broken', reason: answer.reason }
    default:
      return { kind: 'unread' }
  }
}

/** More of an error is not kept: a server may send anything, with each of thousands of answers. */
const mostOfError = 100

function errorText(error: unknown): string {
  if (error === undefined) return ''
  const { code, message } = isObject(error) ? error : {}
  const number = typeof code === 'number' ? ` ${code}` : ''
  // A slice would keep the whole text in memory.
  const text = typeof message === 'string' ? `: ${Buffer.from(message.slice(0, mostOfError))}` : ''
  return number === '' && text === '' ? '' : `, error${number}${text}`
}

// An exchange of a case, as the model sees calls.

export interface CaseCall {
  readonly call: Call
  readonly answer: Answer
  readonly span: Span
  /** Its start and its end among all starts and ends, which tells the order where the clock does not move. */
  readonly order: Span
  /** The document shows such a request; how any other one is answered is open. */
  readonly isPlain: boolean
}

/** No address is this one, so nothing that depends on the address is certain. */
export const unknownAddress = ''

/** @returns null where the target did nothing: the call was throttled */
export function answerOf(wire: WireAnswer): Answer | null {
  if (wire.kind === 'answer' && wire.cut !== undefined) return { kind: 'unread' }
  const classified = classify(wire, 0)
  if (classified.outcome === 'throttled') return null
  const answer = modelAnswer(classified)
  // A text where an object belongs is wrong whatever it says, and it may be megabytes long, so it is not kept.
  return answer.kind === 'accepted' && typeof answer.result === 'string' ? { ...answer, result: '' } : answer
}

// Which part of a target's state an exchange touches, and what is known no longer when its order among others is not
// known.

type Touched = ReturnType<typeof touchedBy>

function touchedBy(state: State, { call }: Pick<CaseCall, 'call'>) {
  const { method, params } = readBody(call.body)
  const { refreshToken: text } = presentedIn(call)
  const auth = authorizationOf(state, call)
  const pair =
    typeof text === 'string'
      ? findPair(state, text, 'refresh')
      : auth.kind === 'token'
        ? findPair(state, auth.token, 'access')
        : undefined
  const isUnknown = typeof text === 'string' || auth.kind === 'other-scheme'
  return {
    /** The line of pairs whose token it presents; `unknown`: a token that no judged exchange has issued. */
    line: pair?.pair.line ?? (isUnknown ? ('unknown' as const) : undefined),
    isRefresh: typeof text === 'string',
    /** It may end a session. */
    isGrant: method === 'manager/auth' && typeof text !== 'string' && state.sessions.length > 0,
    isCreation: method === 'manager/createApiKey',
    /** It presents the id of a key. */
    hasKey: auth.kind === 'basic' || auth.kind === 'signature' || (isObject(params) && 'apiKeyId' in params),
  }
}

/** Whether the order of two exchanges matters: of one line of pairs one is a refresh, or one makes what the other uses up. */
const conflict = (one: Touched, other: Touched): boolean => dependsOn(one, other) || dependsOn(other, one)

function dependsOn(one: Touched, other: Touched): boolean {
  if (other.line === undefined) return one.isCreation && other.hasKey
  // A token that is unknown may be of any line.
  if (one.isGrant) return true
  const mayBeOne = one.line !== undefined && (one.line === other.line || [one.line, other.line].includes('unknown'))
  return mayBeOne && (one.isRefresh || other.line === 'unknown')
}

/** What is remembered of an exchange. A result may be megabytes long, and only the token in it is asked for later. */
export function withShortAnswer(caseCall: CaseCall): CaseCall {
  const { answer } = caseCall
  if (answer.kind !== 'accepted') return caseCall
  const accessToken = isObject(answer.result) ? answer.result.accessToken : undefined
  return { ...caseCall, answer: { ...answer, result: { accessToken }, jsonrpc: undefined, id: undefined } }
}

/** Whether an earlier exchange granted or refreshed the pair that a later one presents. */
export function made(state: State, { answer }: CaseCall, later: CaseCall): boolean {
  const { line } = touchedBy(state, later)
  const result = answer.kind === 'accepted' && isObject(answer.result) ? answer.result : {}
  const text = typeof result.accessToken === 'string' ? result.accessToken : undefined
  return text !== undefined && findPair(state, text, 'access')?.pair.line === line
}

/** Nothing that these exchanges touch is known any more. */
export function doubtTouched(state: State, calls: readonly Pick<CaseCall, 'call' | 'span'>[]): State {
  const touched = calls.map((one) => touchedBy(state, one))
  let next = state
  for (const { line } of touched) if (typeof line === 'number') next = doubtLine(next, line)
  if (!touched.some(({ isGrant }) => isGrant)) return next
  const until = Math.max(...calls.map(({ span }) => span.to))
  return forgetSessions(next, { from: until, to: until })
}

/** The Date header has a resolution of a second; a larger difference is another clock. */
export const notableJumpMs = 3000

/** The target's clock minus ours after an answer with this Date header; the known offset where the clock was not set. */
export function offsetAfter(known: number | null, date: string | undefined, answeredMs: number): number | null {
  const offset = Date.parse(date ?? '') - answeredMs
  return Number.isNaN(offset) || Math.abs(offset - (known ?? Number.NaN)) < notableJumpMs ? known : offset
}

/** The server's clock was set: reported times can no longer be converted to ours. */
export function forgetClocks(state: State): State {
  const pairs = state.pairs
    .entries()
    .map(([index, pair]): [number, Pair] => [index, { ...pair, accessEnds: null, refreshEnds: null }])
  return { ...state, tokenClock: null, signatureClock: null, pairs: state.pairs.with(pairs) }
}

/** A method that the document does not show may have disabled or deleted the keys that it names. */
export function doubtNamedKeys(state: State, { call }: CaseCall): State {
  const named = [...state.keys.values()].filter(({ id }) => id !== state.root && call.body.includes(id))
  if (named.length === 0) return state
  const keys = new Map(state.keys)
  for (const key of named) keys.set(key.id, { ...key, works: 'unknown' })
  return { ...state, keys, terms: { ...state.terms, fresh: false } }
}

// Describes an exchange of a case in words.

export function describeCaseCall(state: State, caseCall: CaseCall): string {
  const { method, params } = readBody(caseCall.call.body)
  if (method !== 'manager/auth') return `A call of ${shortly(method)}${authorOf(state, caseCall)}`
  if (!isObject(params) || params.grantType === 'refresh_token') return 'A refresh'
  const scope = isStrings(params.scope) ? ` for the scope "${params.scope.join(' ').slice(0, 80)}"` : ''
  const wrong = isWrong(state, params.apiKeyId, params.apiKeySecret) ? ' with a wrong secret' : ''
  return `A grant by ${keyName(state, params.apiKeyId)}${wrong}${scope}`
}

function authorOf(state: State, { call }: CaseCall): string {
  const auth = authorizationOf(state, call)
  switch (auth.kind) {
    case 'none':
      return ` without authorization${besidesOf(call)}`
    case 'basic':
      return ` with ${isWrong(state, auth.id, auth.secret) ? 'wrong Basic credentials' : 'Basic credentials'} of ${keyName(state, auth.id)}`
    case 'signature':
      return ` with a signature of ${keyName(state, auth.fields[0])}`
    case 'token':
      return tokenOf(state, auth.token, call.from)
    default:
      return ' with an Authorization header of another form'
  }
}

/** Members and params that the document does not show: the case may be about them. */
function besidesOf({ body }: Call): string {
  const { members, method, params } = readBody(body)
  const { jsonrpc: _jsonrpc, id: _id, method: _method, params: _params, ...others } = members ?? {}
  const names = [
    ...Object.keys(others),
    ...(method !== 'manager/createApiKey' && isObject(params) ? Object.keys(params) : []),
  ]
  return names.length === 0 ? '' : ` and with "${names.join('", "').slice(0, 80)}" in its body`
}

function tokenOf(state: State, text: string, from: string): string {
  const pair = findPair(state, text, 'access')?.pair
  if (pair === undefined)
    return findPair(state, text, 'refresh') === undefined
      ? ' with a token that was never issued'
      : ' with a refresh token'
  const age =
    ['the', 'the once refreshed', 'the twice refreshed'][pair.generation] ?? `the ${pair.generation} times refreshed`
  const bound = pair.scope.filter((word) => word.startsWith('ipAddr:')).join(' ')
  const where = bound === '' || from === unknownAddress ? '' : `, which has the scope "${bound}", from ${from}`
  return ` with ${age} access token of grant ${pair.line + 1}${where}`
}

/** Whether this is not the secret of a known key. */
function isWrong(state: State, id: unknown, secret: unknown): boolean {
  const key = typeof id === 'string' ? state.keys.get(id) : undefined
  return key !== undefined && key.secret !== secret
}

function keyName(state: State, id: unknown): string {
  if (id === state.root) return 'the root key'
  const key = typeof id === 'string' ? state.keys.get(id) : undefined
  return key === undefined ? 'an unknown key' : `the key "${key.name}"`
}

const shortly = (method: unknown): string => (typeof method === 'string' ? method.slice(0, 60) : 'no method')

// Calls of cases at the same time: is there an order of them that the document allows?

/** More calls that depend on each other, or more orders of them, are not tried. */
const longestHistory = 40
const mostOrders = 300

/** Whether their order does not matter. */
export function isIndependent(state: State, calls: readonly CaseCall[]): boolean {
  if (calls.length > longestHistory) return false
  const touched = calls.map((one) => touchedBy(state, one))
  return touched.every((one, at) => touched.slice(at + 1).every((other) => !conflict(one, other)))
}

export function explainCaseCalls(state: State, calls: readonly CaseCall[]): ReturnType<typeof explain> {
  if (calls.length > longestHistory) return { is: 'undecided' }
  const likeOf = ({ call, answer }: CaseCall): string =>
    `${readBody(call.body).form} ${call.authorization} ${answer.kind}`
  return explain(
    state,
    calls.map((one) => ({ ...one, like: likeOf(one) })),
    mostOrders,
  )
}

/** The call of a history that must not have been accepted. A lock or a limit may explain a refusal, so only what was accepted counts. */
export function wronglyAccepted(before: State, calls: readonly CaseCall[]) {
  const accepted = calls.filter(({ answer }) => answer.kind === 'accepted')
  const found = explainCaseCalls(before, accepted)
  if (found.is !== 'impossible') return undefined
  let state = before
  for (const caseCall of found.part.flatMap((index) => accepted[index] ?? [])) {
    const verdict = judge(state, facts(state, caseCall.call, caseCall.span))
    if (verdict.is === 'refused') {
      const message = `${describeCaseCall(state, caseCall)} was accepted: ${notAllowed(found.part.length)}`
      return { caseCall, verdict: { ...verdict, message } }
    }
    state = learn(state, caseCall.call, caseCall.answer, caseCall.span)
  }
  return undefined
}
