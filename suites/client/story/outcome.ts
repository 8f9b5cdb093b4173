import type { Exchange } from '../journal.ts'
import { readObject } from './rpc.ts'

/** What the client got for a request. */
export type Outcome =
  /** A result, whole and with the right id. */
  | 'accepted'
  /** A JSON-RPC error, or a 4xx. */
  | 'refused'
  /** 429, or 503 with Retry-After. */
  | 'throttled'
  | 'redirected'
  /** The call had its effect, but the answer never arrived; or its effect is unknown. */
  | 'lost'
  /** The answer was not JSON, or had another id. */
  | 'spoilt'
  | 'broken'

/** How a request ended for the client, with the faults that the server made on purpose. */
export function outcomeOf({ answer, deliveredMs, faults }: Exchange): Outcome {
  if (answer === null || answer.status === 0 || deliveredMs === null) return 'lost'
  const { status, headers } = answer
  if (faults.includes('malformed') || faults.includes('wrong-id')) return 'spoilt'
  if (status === 429 || (status === 503 && headers['retry-after'] !== undefined)) return 'throttled'
  if (status >= 300 && status < 400) return 'redirected'
  const json = readObject(answer.body)
  if (json !== null && 'error' in json) return 'refused'
  if (status >= 400 && status < 500) return 'refused'
  return status < 300 && json !== null && 'result' in json ? 'accepted' : 'broken'
}
