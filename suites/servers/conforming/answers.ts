/** Changed answers of conforming servers. */
import type { MockAnswer } from '../../../mock-server/http-server.ts'
import { answerThrough } from '../around.ts'
import { type Call, type Members, readMembers } from '../call.ts'
import { counts } from '../replaced-rules.ts'
import type { Change, Changing } from '../rows.ts'

export const errorCode = ({ body }: MockAnswer): unknown =>
  (readMembers(body)?.error as { code?: unknown } | undefined)?.code

/** The Date header of a server whose clock shows `ms`. */
export const httpDate = (ms: number): string => new Date(ms).toUTCString()

export const html = 'text/html'

export const json = 'application/json'

/** An answer instead of another one, whose Date it keeps. */
export function textAnswer(
  from: MockAnswer,
  status: number,
  body: string,
  headers: { [name: string]: string } = { 'content-type': 'text/plain; charset=utf-8' },
): MockAnswer {
  const { date } = from.headers
  return { status, headers: date === undefined ? headers : { date, ...headers }, body }
}

/** A JSON-RPC error that is sent without a further look at the request. */
export function errorAnswer({ members }: Call, status: number, code: number, message: string): MockAnswer {
  const body = JSON.stringify({ jsonrpc: '2.0', id: members.id ?? null, error: { code, message } })
  return { status, headers: { 'content-type': json }, body }
}

/** The same refusal with another error. */
export const errorInstead = (answer: MockAnswer, code: number, message: string): MockAnswer => ({
  ...answer,
  body: JSON.stringify({ ...readMembers(answer.body), error: { code, message } }),
})

/** An answer that tells the caller to come again after `waitMs`, in whole seconds. */
export const waitAnswer = (status: number, waitMs: number, body = 'Later'): MockAnswer => ({
  status,
  headers: { 'content-type': 'text/plain', 'retry-after': String(Math.max(Math.ceil(waitMs / 1000), 1)) },
  body,
})

type Answered<Result> = (answer: MockAnswer, call: Call) => Result

/** Changes every answer before it is sent. */
export const answers = (change: Answered<MockAnswer>): Change => ({ around: answerThrough(change) })

/** Changes the JSON of every JSON answer; batches are left alone. */
export const changeJson = (change: (envelope: Members) => unknown): Change =>
  answers((answer) => {
    const envelope = readMembers(answer.body)
    return envelope === undefined ? answer : { ...answer, body: JSON.stringify(change(envelope)) }
  })

/** Changes the JSON of every refusal. */
export const refusedJson = (change: (envelope: Members) => unknown): Change =>
  changeJson((envelope) => (envelope.error === undefined ? envelope : change(envelope)))

interface ErrorObject {
  code: number
  message: string
  data?: unknown
}

/** Replaces the error object of every refusal. */
export const errors = (change: (error: ErrorObject) => unknown): Change =>
  refusedJson((envelope) => ({ ...envelope, error: change(envelope.error as ErrorObject) }))

const refusalStatuses = [400, 401, 403, 404]

/** Changes the refusals, which get an HTTP status for it. */
export const refusals = (change: Answered<MockAnswer>): Change => ({
  profile: { refusalStatus: 'http' },
  ...answers((answer, call) => (refusalStatuses.includes(answer.status) ? change(answer, call) : answer)),
})

interface Refused {
  /** Which statuses are concerned; all of refusals by default. */
  on?: number[]
  /** Four of them stand for 400, 401, 403 and 404. */
  status?: number | readonly [number, number, number, number]
  body?: string | ((status: number) => unknown)
  type?: string
  headers?: { [name: string]: string }
}

/** Refusals get this status, these headers and this body. */
export const refuse = ({ on = refusalStatuses, status, body, type, headers }: Refused): Change =>
  refusals((answer) => {
    if (!on.includes(answer.status)) return answer
    const more = { ...(type === undefined ? {} : { 'content-type': type }), ...headers }
    const mapped = typeof status === 'object' ? status[refusalStatuses.indexOf(answer.status)] : status
    const text = typeof body === 'function' ? JSON.stringify(body(answer.status)) : body
    const kept = text === undefined ? answer : textAnswer(answer, answer.status, text, {})
    return { ...kept, status: mapped ?? answer.status, headers: { ...kept.headers, ...more } }
  })

/** Adds headers to every answer. */
export const withHeaders = (more: object | Answered<object>): Change =>
  answers((answer, call) => ({
    ...answer,
    headers: Object.assign({}, answer.headers, typeof more === 'function' ? more(answer, call) : more),
  }))

/** Another Date header on every answer, or none; `count` is the number of answers so far. */
export const dated =
  (dateOf: (nowMs: number, count: number) => string | number | undefined): Changing =>
  (seen, next = counts()) =>
    answers((answer) => {
      const date = dateOf(seen.nowMs, next())
      const { date: _date, ...headers } = answer.headers
      if (date === undefined) return { ...answer, headers }
      return { ...answer, headers: { ...headers, date: typeof date === 'number' ? httpDate(date) : date } }
    })

export const withoutDate = dated(() => undefined)
