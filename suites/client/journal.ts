/** What a client did in one scenario, as plain data. Checks see nothing else. SECRETS INCLUDED. Times are ms since 1970. */
import type { RecordedExchange } from '../targets/bundled.ts'

export const clientAuths = ['hmac', 'ecc', 'basic', 'token'] as const
export type ClientAuth = (typeof clientAuths)[number]

export interface Journal {
  /** The id of the scenario; `listen` for a server that judges every call. */
  scenario: string
  setting: Setting
  keys: readonly JournalKey[]
  /** The requests to the server, in the order in which they began to arrive. */
  exchanges: readonly Exchange[]
  /** The requests to the other origin, to which the server redirected. */
  elsewhere: readonly Exchange[]
  /** The starts of the client, one after another; null if they are unknown. */
  starts: readonly Start[] | null
}

/** The client's task, and what is special about the server. */
export interface Setting {
  /** null: the client decides. */
  auth: ClientAuth | null
  /** Entries of SVC_SCOPE; null: not set. */
  scope: readonly string[] | null
  method: string
  calls: number | null
  /** null: unknown, so calls may be simultaneous. */
  parallel: number | null
  scheme: string
  tokenPrefix: string
  /** How far the server's clock is ahead. */
  clockOffsetMs: number
  /** How long the busy machine kept a program waiting. */
  lagMs: number
}

/** A key that the server knows, with what is needed to check its signatures. */
export type JournalKey =
  | { kind: 'secret'; id: string; secret: string }
  /** The seed is known for the keys that the judge made. */
  | { kind: 'public'; id: string; publicKey: Uint8Array; seed?: Uint8Array }

/** One run of the command. */
export interface Start {
  fromMs: number
  toMs: number
  /** The number of lines with `ok`, and of lines with `error`. */
  ok: number
  error: number
  ended: Ending
  /** The end of what it wrote to stderr, bounded. */
  stderr: string
}

export type Ending =
  | { kind: 'exit'; code: number }
  | { kind: 'signal'; signal: string }
  | { kind: 'timeout'; seconds: number }
  /** Killed because it never stopped sending requests. */
  | { kind: 'runaway'; requests: number }
  /** Killed because the whole run was interrupted. */
  | { kind: 'interrupted' }

/** A request as the server recorded it, and its answer. */
export interface Exchange extends Omit<RecordedExchange, 'body'> {
  /** Cut if it is very long; `bodyBytes` is its length. */
  body: Uint8Array
}
