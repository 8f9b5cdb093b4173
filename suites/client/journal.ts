/** What a client did in one scenario, as plain data. Checks see nothing else. SECRETS INCLUDED. Times are ms since 1970. */

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

export interface Exchange {
  /** Counts from 1. */
  number: number
  /** Counts from 1. */
  connection: number
  /** When the header of the request had arrived. */
  startedMs: number
  /** When its body had arrived; null: it did not arrive. */
  receivedMs: number | null
  /** When the answer was ready; null: there was none. */
  answeredMs: number | null
  /** When the last byte of the answer was sent; null: it was not sent. */
  deliveredMs: number | null
  httpMethod: string
  /** Path and query as received. */
  target: string
  /** As received, in their order. */
  headers: readonly (readonly [name: string, value: string])[]
  /** Cut if it is very long; `bodyBytes` is its length. */
  body: Uint8Array
  bodyBytes: number
  /** null: no answer; status 0: the connection was closed instead. */
  answer: Answer | null
  /** Where the server stopped a refused call, such as `signature/mac`. */
  stage?: string
  /** The deliberate faults that applied to the call. */
  faults: readonly string[]
}

interface Answer {
  status: number
  headers: { readonly [name: string]: string }
  /** As sent. */
  body: string
  /** The body before a fault changed it. */
  unspoilt?: string
}
