import type { WireAnswer, WireRequest } from '../target.ts'
import type { Classified } from './classify.ts'
import type { Confirmation } from './confirmation.ts'
import type { CallTime } from './match.ts'
import type { EnvelopeProblem } from './problem.ts'

/** A request and its answer. */
export interface Delivered {
  answer: Classified
  request: WireRequest
  wire: WireAnswer
  /** On the server's clock. */
  time: CallTime
  /** On our clock, in ms since 1970. */
  ours: { sentAtMs: number; answeredAtMs: number }
  /** How often the server throttled the call. */
  throttled: number
}

/** A call as it is judged. */
export interface Called extends Delivered {
  /** Departures of a successful answer from the response envelope. */
  departures: EnvelopeProblem[]
  /** What a fixture may keep as `sent.*`. */
  sent: { id?: unknown; nonce?: string; timestamp?: string; header?: string; signature?: string; expiry?: number }
  /** The number of a requested `expiresIn:NUMBER`. */
  requestedLifeMs?: number
  /** Set after a broken answer to a call that must be refused: whether the call was refused in effect. */
  confirmation?: Confirmation
  /** For a call of a race: its round, from 0, and its connections. */
  race?: { round: number; connections: 'new' | 'warm' }
  /** When the token expires that the call uses or renews, if its grant reported that. */
  tokenExpiryMs?: number
}
