/** The way to a target, as the explorer sees it; http-wire.ts opens a real one. */
import type { Connection } from './step.ts'

export interface Request {
  readonly authorization: string | undefined
  readonly body: string
  /** The local address to call from. */
  readonly from: string | undefined
  readonly connection: Connection
  /** The length of the body is not announced. */
  readonly inChunks?: boolean | undefined
}

export type Response =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly retryAfter: string | undefined
      readonly date: string | undefined
      readonly body: string
    }
  | { readonly kind: 'unread' }
  /** `stale`: a kept connection had been closed before the call. */
  | { readonly kind: 'none'; readonly reason: string; readonly stale: boolean }

export interface Wire {
  /** Where calls are sent, with `/api` at the end. */
  readonly url: string
  send(request: Request): Promise<Response>
  /** Milliseconds since 1970 on this machine, or on the clock that `sleep` moves. */
  now(): number
  sleep(ms: number): Promise<void>
  /** True where `sleep` moves the target's clock instead of waiting. */
  readonly controlled: boolean
  close(): void
}
