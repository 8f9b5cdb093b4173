/** An exchange of a case, as the model sees calls. */
import type { RunEvent } from '../engine/conversation/conversation.ts'
import { classify } from '../engine/judge/classify.ts'
import type { Span } from '../engine/model/sessions.ts'
import type { Answer, Call } from '../engine/model/state.ts'
import { fromUtf8 } from '../engine/signer/bytes.ts'
import type { WireAnswer, WireRequest } from '../engine/target.ts'
import { modelAnswer } from './answer.ts'

export interface CaseCall {
  readonly call: Call
  readonly answer: Answer
  readonly span: Span
  /** Its start and its end among all starts and ends, which tells the order where the clock does not move. */
  readonly order: Span
  /** The document shows such a request; how any other one is answered is open. */
  readonly isPlain: boolean
}

export type ExchangeMade = Extract<RunEvent, { kind: 'exchange-made' }>

/** Our addresses as the target sees them; undefined where that is not known. */
export interface SeenFrom {
  readonly first: string | undefined
  readonly second: string | undefined
}

/** No address is this one, so nothing that depends on the address is certain. */
export const unknownAddress = ''

interface Surroundings {
  readonly seenFrom: SeenFrom
  /** Names of headers, in lower case, that every call carries. */
  readonly ownHeaders: ReadonlySet<string>
}

/** @returns null where the target did nothing: the request was not sent, or it was throttled */
export function caseCallOf(
  event: ExchangeMade,
  order: Span,
  { seenFrom: seen, ownHeaders }: Surroundings,
): CaseCall | null {
  const { request, answer: wire, sentAtMs, answeredAtMs } = event
  if (wire.kind === 'none' && (wire.wasNotSent === true || wire.refusedConnection)) return null
  const answer = answerOf(wire)
  if (answer === null) return null
  const body = fromUtf8(request.body)
  const headers = request.headers.map(([name, value]) => [name.toLowerCase(), value] as const)
  const authorization = headers.find(([name]) => name === 'authorization')?.[1]
  const from = request.from === 'second-address' ? seen.second : seen.first
  return {
    call: { authorization, body: body ?? '', from: from ?? unknownAddress },
    answer,
    span: { from: sentAtMs, to: answeredAtMs },
    order,
    isPlain: body !== null && isPlainRequest(request, headers, ownHeaders),
  }
}

function answerOf(wire: WireAnswer): Answer | null {
  if (wire.kind === 'answer' && wire.cut !== undefined) return { kind: 'unread' }
  const classified = classify(wire, 0)
  if (classified.outcome === 'throttled') return null
  const answer = modelAnswer(classified)
  // A text where an object belongs is wrong whatever it says, and it may be megabytes long, so it is not kept.
  return answer.kind === 'accepted' && typeof answer.result === 'string' ? { ...answer, result: '' } : answer
}

function isPlainRequest(
  { method, path }: WireRequest,
  headers: readonly (readonly [name: string, value: string])[],
  ownHeaders: ReadonlySet<string>,
): boolean {
  const others = headers.filter(([name]) => !ownHeaders.has(name))
  const times = (wanted: string): number => others.filter(([name]) => name === wanted).length
  return (
    method === 'POST' &&
    path === '/api' &&
    times('authorization') <= 1 &&
    times('content-type') === 1 &&
    others.every(([name, value]) => isPlainHeader(name, value))
  )
}

function isPlainHeader(name: string, value: string): boolean {
  if (name === 'content-type') return value === 'application/json'
  if (name === 'authorization') return /^[\x20-\x7e]*$/.test(value)
  return ['host', 'content-length', 'connection', 'accept', 'user-agent'].includes(name)
}
