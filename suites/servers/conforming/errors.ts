/** Errors and refusals of conforming servers. */
import type { MockAnswer } from '../../../mock-server/http-server.ts'
import { type Call, type Members, readMembers } from '../call.ts'
import type { Change } from '../rows.ts'
import { type Answered, answers, changeJson, json, textAnswer } from './answers.ts'

export const errorCode = ({ body }: MockAnswer): unknown =>
  (readMembers(body)?.error as { code?: unknown } | undefined)?.code

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
