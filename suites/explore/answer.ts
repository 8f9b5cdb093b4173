/** An answer as the model sees it: accepted, refused or broken as docs/verdicts.md says; of a long or a throttled one nothing is known. */
import { isObject } from '../engine/json.ts'
import type { Classified } from '../engine/judge/classify.ts'
import type { Answer } from '../engine/model/state.ts'

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
