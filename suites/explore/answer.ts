/** Classifies a response as docs/verdicts.md does: accepted, refused, throttled or broken. */

import { isObject, parseJson } from '../engine/json.ts'
import type { Answer } from '../engine/model/state.ts'
import type { Response } from './wire.ts'

type Counted = Answer | { readonly kind: 'throttled'; readonly waitMs: number }

const defaultWaitMs = 1000
const longestWaitMs = 10_000

export function countAnswer(response: Response): Counted {
  if (response.kind === 'unread') return { kind: 'unread' }
  if (response.kind === 'none') return { kind: 'broken', reason: response.reason }
  const { status, retryAfter, body } = response
  if (status === 429 || (status === 503 && retryAfter !== undefined)) {
    const seconds = Number(retryAfter)
    const waitMs = Number.isFinite(seconds) ? seconds * 1000 : defaultWaitMs
    return { kind: 'throttled', waitMs: Math.min(longestWaitMs, Math.max(50, waitMs)) }
  }
  if (status >= 300 && status < 400) return { kind: 'broken', reason: `HTTP ${status}` }
  const json = parseJson(body)
  if (isObject(json) && json.error !== null && json.error !== undefined)
    return { kind: 'refused', said: `HTTP ${status}${errorText(json.error)}` }
  if (status >= 400 && status < 500) return { kind: 'refused', said: `HTTP ${status}` }
  if (status < 200 || status >= 300) return { kind: 'broken', reason: `HTTP ${status} without a JSON-RPC error` }
  if (isObject(json) && 'result' in json)
    return { kind: 'accepted', result: json.result, jsonrpc: json.jsonrpc, id: json.id }
  return { kind: 'broken', reason: `HTTP ${status} with a body that is neither a result nor an error` }
}

/** More of an error is not kept: a server may send anything, with each of thousands of answers. */
const mostOfError = 100

function errorText(error: unknown): string {
  if (!isObject(error)) return ''
  const { code, message } = error
  const number = typeof code === 'number' ? ` ${code}` : ''
  // A slice would keep the whole text in memory.
  const text = typeof message === 'string' ? `: ${Buffer.from(message.slice(0, mostOfError))}` : ''
  return number === '' && text === '' ? '' : `, error${number}${text}`
}
