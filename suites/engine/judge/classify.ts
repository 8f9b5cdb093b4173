import { isDocumentedMethod } from '../document.ts'
import { deepestNesting, defined, isNestedTooDeep, isObject, type JsonObject, membersOf, parseJson } from '../json.ts'
import type { WireAnswer } from '../target.ts'
import type { AnswerSummary, EnvelopeProblem } from './problem.ts'

/** How an answer counts; see docs/verdicts.md. Only `accepted` and `refused` satisfy an expectation. */
export type Classified =
  | { outcome: 'accepted'; status: number; headers: Headers; json: JsonObject; result: unknown }
  | { outcome: 'refused'; status: number; headers: Headers; json: unknown; error: unknown }
  /** `retryAfterMs`: how long to wait, if the target says so. */
  | { outcome: 'throttled'; status: number; headers: Headers; retryAfterMs?: number }
  | { outcome: 'unread'; status: number; headers: Headers; limitBytes: number }
  | { outcome: 'broken'; status: number | null; headers: Headers; reason: string; refusedConnection: boolean }

const decoder = new TextDecoder()

type Headers = { [name: string]: string }

/**
 * Accepted: 2xx and a JSON object with `result` and no `error`. Refused: a JSON-RPC `error`, a 4xx of any body (429 apart), a 5xx
 * that carries an error. Throttled: 429, or 503 with Retry-After. Unread: longer than the suite reads. Broken: everything else, also
 * JSON that is nested too deep.
 *
 * @param nowMs the server's time, to read a Retry-After that is a date
 */
export function classify(answer: WireAnswer, nowMs: number): Classified {
  if (answer.kind === 'none') {
    const { reason, refusedConnection } = answer
    return { outcome: 'broken', status: null, headers: {}, reason, refusedConnection }
  }
  const { status, headers } = answer
  if (answer.kind === 'unread') return { outcome: 'unread', status, headers, limitBytes: answer.limitBytes }
  const retryAfter = headers['retry-after']
  if (status === 429 || (status === 503 && retryAfter !== undefined)) {
    return { outcome: 'throttled', status, headers, ...defined({ retryAfterMs: parseRetryAfter(retryAfter, nowMs) }) }
  }
  const refusedConnection = false
  const broken = (reason: string): Classified => ({ outcome: 'broken', status, headers, reason, refusedConnection })
  if (status >= 300 && status < 400) return broken(`HTTP ${status}, a redirection, which is never followed`)
  const text = decoder.decode(answer.body)
  if (isNestedTooDeep(text))
    return broken(`HTTP ${status} with JSON that is nested deeper than ${deepestNesting} levels`)
  const json = parseJson(text)
  if (isObject(json) && 'error' in json && json.error !== null && json.error !== undefined) {
    return { outcome: 'refused', status, headers, json, error: json.error }
  }
  if (status >= 400 && status < 500) return { outcome: 'refused', status, headers, json, error: undefined }
  if (status >= 500) return broken(`HTTP ${status} without a JSON-RPC error`)
  if (status < 200) return broken(`HTTP ${status}`)
  if (isObject(json) && 'result' in json) return { outcome: 'accepted', status, headers, json, result: json.result }
  if (answer.body.length === 0) return broken(`HTTP ${status} with an empty body`)
  return broken(`HTTP ${status} with a body that is neither a JSON-RPC result nor an error`)
}

/** How long Retry-After asks to wait, in ms; undefined where it names no time. RFC 9110 §10.2.3: seconds, or a date. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Math.ceil(Number(value) * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs)
}

/** Summarizes an answer: its outcome, HTTP status and error code. */
export function summarizeAnswer(answer: Classified): AnswerSummary {
  const { outcome } = answer
  switch (outcome) {
    case 'accepted':
      return { outcome }
    case 'refused': {
      const { status, json, error } = answer
      const { code } = membersOf(error)
      const { result } = membersOf(json)
      const hasCode = typeof code === 'number' || typeof code === 'string'
      const withResult = result === undefined || result === null ? undefined : (true as const)
      return { outcome, status, ...(hasCode ? { code } : {}), ...defined({ withResult }) }
    }
    case 'throttled':
      return { outcome, status: answer.status }
    case 'unread':
      return { outcome, limitBytes: answer.limitBytes }
    case 'broken':
      return { outcome, reason: answer.reason }
  }
}

/** One short phrase: `accepted`, `refused (HTTP 403, error 5)`, `broken (HTTP 500 …)`. */
export function describe(answer: Classified): string {
  return describeSummary(summarizeAnswer(answer))
}

/** The same phrase for a summary. */
export function describeSummary(summary: AnswerSummary): string {
  switch (summary.outcome) {
    case 'accepted':
      return 'accepted'
    case 'refused': {
      const { status, code, withResult } = summary
      const details = [
        ...(status === 200 ? [] : [`HTTP ${status}`]),
        ...(code === undefined ? [] : [`error ${code}`]),
        ...(withResult === true ? ['together with a result'] : []),
      ]
      return details.length === 0 ? 'refused' : `refused (${details.join(', ')})`
    }
    case 'throttled':
      return `throttled (HTTP ${summary.status})`
    case 'unread':
      return `longer than ${summary.limitBytes} bytes, so it was not read (maxAnswerBytes in the target file)`
    case 'broken':
      return `broken (${summary.reason})`
  }
}

/** The requirement that each departure breaks. */
export const envelopeRequirements: { readonly [kind in EnvelopeProblem['kind']]: string } = {
  'wrong-jsonrpc': 'envelope/response-jsonrpc',
  'wrong-id': 'envelope/id-echo',
  'wrong-result-type': 'envelope/result-object',
}

/**
 * Departures of a successful answer from the response envelope (part 1). They never change whether a call was accepted.
 * Refusals are not examined, because the document does not show their shape.
 */
export function envelopeProblems(answer: Classified, sentId: unknown, method: string): EnvelopeProblem[] {
  if (answer.outcome !== 'accepted') return []
  const problems: EnvelopeProblem[] = []
  const { jsonrpc, id } = answer.json
  if (jsonrpc !== '2.0') problems.push({ kind: 'wrong-jsonrpc', got: showJson(jsonrpc) })
  if (Number.isInteger(sentId) && id !== sentId) {
    problems.push({ kind: 'wrong-id', sent: showJson(sentId), got: showJson(id) })
  }
  const { result } = answer
  if (isDocumentedMethod(method) && !isObject(result)) {
    problems.push({ kind: 'wrong-result-type', method, got: showJson(result) })
  }
  return problems
}

const longestShown = 120

/** A value as JSON for a report, cut to a readable length; "nothing" for undefined. */
export function showJson(value: unknown, longest = longestShown): string {
  const text = JSON.stringify(value)
  if (text === undefined) return 'nothing'
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}
