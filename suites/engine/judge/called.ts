import type { WireAnswer, WireRequest } from '../target.ts'
import type { Classified } from './classify.ts'
import type { KeptOut } from './kept-out.ts'
import type { Moment } from './match.ts'
import type { EnvelopeProblem } from './problem.ts'

/** A request and its answer. */
export interface Delivered {
  answer: Classified
  request: WireRequest
  wire: WireAnswer
  /** On the server's clock. */
  moment: Moment
  /** How many times the server asked us to wait. */
  throttled: number
}

/** A call as it is judged. */
export interface Called extends Delivered {
  /** Departures of a successful answer from the response envelope. */
  departures: EnvelopeProblem[]
  /** What a fixture may keep as `sent.*`. */
  sent: { id?: unknown; nonce?: string; timestamp?: string; header?: string; expiry?: number }
  /** The number of a requested `expiresIn:NUMBER`. */
  lifeAskedMs?: number
  /** After a broken answer to a call that must be refused: whether its caller was kept out. */
  keptOut?: KeptOut
  /** One of several calls made at once: in which round of such calls, from 0, and on which connections. */
  race?: { round: number; connections: 'new' | 'warm' }
  /** When the token ends that the call was made with, or that it is to renew; of a token whose grant told so. */
  tokenExpiryMs?: number
}
