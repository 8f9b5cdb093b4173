/** Which part of a target's state an exchange touches, and what is known no longer when its order among others is not known. */

import { authorizationOf } from '../engine/model/facts.ts'
import { findPair } from '../engine/model/facts-of-credentials.ts'
import { doubtLine, forgetSessions, presentedToken } from '../engine/model/learn.ts'
import { isObject, readBody } from '../engine/model/parse.ts'
import type { State } from '../engine/model/state.ts'
import type { CaseCall } from './case-call.ts'

interface Touched {
  /** The line of pairs whose token it presents; `unknown`: a token that no judged exchange has issued. */
  readonly line: number | 'unknown' | undefined
  readonly isRefresh: boolean
  /** It may end a session. */
  readonly isGrant: boolean
  readonly isCreation: boolean
  /** It presents the id of a key. */
  readonly hasKey: boolean
}

function touchedBy(state: State, { call }: Pick<CaseCall, 'call'>): Touched {
  const { method, params } = readBody(call.body)
  const text = method === 'manager/auth' && isObject(params) ? presentedToken(params) : undefined
  const auth = authorizationOf(state, call)
  const pair =
    typeof text === 'string'
      ? findPair(state, text, 'refresh')
      : auth.kind === 'token'
        ? findPair(state, auth.token, 'access')
        : undefined
  return {
    line: pair?.pair.line ?? (typeof text === 'string' || auth.kind === 'other-scheme' ? 'unknown' : undefined),
    isRefresh: typeof text === 'string',
    isGrant: method === 'manager/auth' && typeof text !== 'string' && state.sessions.length > 0,
    isCreation: method === 'manager/createApiKey',
    hasKey: auth.kind === 'basic' || auth.kind === 'signature' || (isObject(params) && 'apiKeyId' in params),
  }
}

/** Whether the order of two exchanges matters: of one line of pairs one is a refresh, or one makes what the other uses up. */
export function conflict(state: State, a: CaseCall, b: CaseCall): boolean {
  const [one, other] = [touchedBy(state, a), touchedBy(state, b)]
  return dependsOn(one, other) || dependsOn(other, one)
}

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

/** The server's clock was set: reported times can no longer be converted to ours. */
export function forgetClocks(state: State): State {
  const pairs = state.pairs.keys().flatMap((index) => {
    const pair = state.pairs.get(index)
    return pair === undefined ? [] : [[index, { ...pair, accessEnds: null, refreshEnds: null }] as const]
  })
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

/** Credentials in an answer that the model could not take from it. */
export function unknownTextsIn(state: State, { answer }: CaseCall): string[] {
  if (answer.kind !== 'accepted' || !isObject(answer.result)) return []
  const { accessToken, refreshToken, id, secret } = answer.result
  const tokens = [accessToken, refreshToken].filter((text) => typeof text === 'string')
  const keys = typeof secret === 'string' ? [id, secret].filter((text) => typeof text === 'string') : []
  return [
    ...tokens.filter((text) => !state.access.has(text) && !state.refresh.has(text)),
    ...(keys[0] !== undefined && state.keys.get(keys[0])?.secret !== keys[1] ? keys : []),
  ].filter((text) => text !== '')
}
