import type { Reply } from './caller.ts'

/** Status and code in words: `accepted`, `HTTP 200, error 24879`. */
export function describeReply({ outcome, status, code }: Reply): string {
  if (outcome === 'accepted') return 'accepted'
  if (status === null) return 'no answer'
  return `HTTP ${status}${code === null ? '' : `, error ${code}`}${outcome === 'broken' ? ', not JSON-RPC' : ''}`
}

/** Whether a caller sees a difference in status or code. */
export function sameRefusal(one: Reply, other: Reply): boolean {
  return one.outcome === other.outcome && one.status === other.status && one.code === other.code
}

/** Finds how a caller can tell two refusals apart. */
export function difference(one: Reply, other: Reply): 'no' | 'status' | 'code' | 'message' | 'body' {
  if (one.status !== other.status) return 'status'
  if (one.code !== other.code) return 'code'
  if (one.message !== other.message) return 'message'
  return bodyOf(one) === bodyOf(other) ? 'no' : 'body'
}

/** Without the id, which differs for each call. */
function bodyOf({ json }: Reply): string {
  return JSON.stringify(json, (name, value: unknown) => (name === 'id' ? undefined : value)) ?? ''
}
