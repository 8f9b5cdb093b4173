import type { JsonObject } from '../../engine/json.ts'
import type { Exchange, Journal } from '../journal.ts'
import type { Authorization } from './authorization.ts'
import type { Outcome } from './outcome.ts'
import type { Body } from './rpc.ts'

/** A journal prepared for checks: every request with its kind, its outcome, and its tokens. `keys` includes those that the client created. */
export interface Story extends Omit<Journal, 'exchanges'> {
  /** Whole requests, in the order in which they began to arrive. */
  requests: readonly Request[]
  pairs: readonly Pair[]
  secrets: ReadonlySet<string>
}

export interface Request {
  exchange: Exchange
  kind: 'call' | 'grant' | 'refresh' | 'unread'
  body: Body
  method: string | null
  params: JsonObject | null
  authorization: Authorization
  outcome: Outcome
  /** Which start of the client sent it, from 0; null: unknown. */
  start: number | null
  /** The pair whose access token (a call) or refresh token (a refresh) was presented. */
  pair: Pair | null
  /** The pair that the server issued for it, whether or not the client got it. */
  issued: Pair | null
}

/** An access token and its refresh token. */
export interface Pair {
  accessToken: string
  refreshToken: string
  accessExpiryMs: number
  refreshExpiryMs: number
  issuedBy: Request
  /** The pair that was refreshed; null for a grant. */
  parent: Pair | null
  /** When the client received it; null: never. */
  heldMs: number | null
  /** The pair that the server gave for its refresh token, whether or not the client got it. */
  successor: Pair | null
  /** The requests that presented one of its tokens where it belongs, in order. */
  uses: Request[]
  /** All pairs of one grant, itself included; they share this list. */
  family: Pair[]
}

/** With several workers, a request that arrives this soon after an answer may have been sent before it; longer on a slow machine. */
const underWayMs = 250

/** Whether a request was sent after the client had an answer, as far as the times show. */
export function isAfter({ setting }: Pick<Story, 'setting'>, request: Request, answeredMs: number): boolean {
  const { startedMs } = request.exchange
  return setting.parallel === 1 ? startedMs >= answeredMs : startedMs > answeredMs + underWayMs + setting.lagMs
}

/** When the client received a newer pair than this one; null: never. */
export function replacedMs(pair: Pair): number | null {
  return pair.successor?.heldMs ?? null
}

/** Whether the client could use the refresh token of a pair at a given time: received, not used, not refused, not expired. */
export function isGoodForRefresh(pair: Pair, atMs: number): boolean {
  if (pair.heldMs === null || pair.heldMs > atMs || pair.refreshExpiryMs <= atMs) return false
  return !pair.uses.some(
    ({ kind, exchange, outcome, issued }) =>
      kind === 'refresh' && exchange.startedMs < atMs && (issued !== null || outcome === 'refused'),
  )
}

/** Whether the client sent anything after a given time. */
export function goesOnAfter({ requests }: Pick<Story, 'requests'>, atMs: number): boolean {
  return (requests.at(-1)?.exchange.startedMs ?? 0) > atMs
}
