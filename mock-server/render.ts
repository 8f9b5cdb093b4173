import type { ServerContext } from './context.ts'
import type { MockAnswer } from './http.ts'
import type { Refusal } from './refusal.ts'
import type { RpcOutcome } from './rpc.ts'

let dateSecond = -1
let dateText = ''
/** The Date header, computed once a second. */
function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}

function headersFor(context: ServerContext, contentType: string | undefined): { [name: string]: string } {
  const headers: { [name: string]: string } = { date: httpDate(context.now()) }
  if (contentType !== undefined) headers['content-type'] = contentType
  if (context.profile.closeConnections) headers.connection = 'close'
  return headers
}

/** An answer that is not JSON-RPC. */
export function plainAnswer(context: ServerContext, status: number, body: string): MockAnswer {
  return { status, headers: headersFor(context, 'text/plain; charset=utf-8'), body }
}

/** An answer without a body. */
export function emptyAnswer(context: ServerContext, status: number): MockAnswer {
  return { status, headers: headersFor(context, undefined), body: '' }
}

/** The one place that turns a result or a refusal into an answer. */
export function renderOutcome(context: ServerContext, outcome: RpcOutcome | RpcOutcome[]): MockAnswer {
  if (Array.isArray(outcome))
    return jsonAnswer(context, 200, `[${outcome.map((one) => memberText(context, one)).join(',')}]`)
  if (outcome.silent) return emptyAnswer(context, 204)
  if (outcome.outcome.ok) return jsonAnswer(context, 200, memberText(context, outcome))
  const { refusal } = outcome.outcome
  const { errorBody, refusalStatus } = context.profile
  const status = refusalStatus === 'http' || errorBody !== 'json-rpc' ? refusal.httpStatus : 200
  const answer =
    errorBody === 'none'
      ? emptyAnswer(context, status)
      : errorBody === 'text'
        ? plainAnswer(context, status, refusal.message)
        : jsonAnswer(context, status, memberText(context, outcome))
  if (context.explain) answer.headers['x-refused-at'] = refusal.stage
  return answer
}

function jsonAnswer(context: ServerContext, status: number, body: string): MockAnswer {
  return { status, headers: headersFor(context, 'application/json; charset=utf-8'), body }
}

/** One JSON-RPC answer; members that a replaced rule leaves out are undefined and vanish in JSON. */
function memberText(context: ServerContext, answer: RpcOutcome): string {
  const { id, idText } = answer
  const text = roundedText(context, answer)
  // The id stands before everything that callers choose.
  return idText === undefined ? text : text.replace(`"id":${JSON.stringify(id)}`, `"id":${idText}`)
}

function roundedText({ rules, profile }: ServerContext, { id, method, outcome }: RpcOutcome): string {
  if (!outcome.ok) {
    const { refusal } = outcome
    return JSON.stringify({ jsonrpc: '2.0', id: errorId(profile.errorId, id, refusal), error: errorObject(refusal) })
  }
  const result = profile.extraResultMembers ? withExtras(outcome.value) : outcome.value
  return JSON.stringify({
    jsonrpc: rules.answerVersion(),
    id: rules.echoedId(id),
    result: rules.resultMember(method ?? '', result),
  })
}

function errorObject({ code, message, data }: Refusal): object {
  return data === undefined ? { code, message } : { code, message, data }
}

function errorId(form: 'request' | 'null' | 'none', id: unknown, refusal: Refusal): unknown {
  if (form === 'null') return null
  return form === 'none' || !refusal.idKnown ? undefined : id
}

function withExtras(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? { ...value, serverVersion: '2.2.0', warnings: [] } : value
}

/** Adds headers to an answer, and returns it. */
export function withHeaders(answer: MockAnswer, more: { [name: string]: string }): MockAnswer {
  Object.assign(answer.headers, more)
  return answer
}
