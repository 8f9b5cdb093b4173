/** What a client did in one scenario, as plain data: the only thing that checks see. SECRETS INCLUDED. Moments are ms since 1970. */

export const clientAuths = ['hmac', 'ecc', 'basic', 'token'] as const
export type ClientAuth = (typeof clientAuths)[number]

export interface Journal {
  /** The id of the scenario; `listen` where whatever came was judged. */
  scenario: string
  setting: Setting
  keys: readonly JournalKey[]
  /** What arrived at the server, in the order in which it began to arrive. */
  exchanges: readonly Exchange[]
  /** What arrived at the other origin, to which the server redirected. */
  elsewhere: readonly Exchange[]
  /** The starts of the client, one after the other; null where nobody knows them. */
  starts: readonly Start[] | null
}

/** What the client was told, and what is special about the server. */
export interface Setting {
  /** null: whatever the client likes. */
  auth: ClientAuth | null
  /** Entries of SVC_SCOPE; null: nobody said. */
  scope: readonly string[] | null
  method: string
  calls: number | null
  /** null: nobody knows, so several calls may be under way at once. */
  parallel: number | null
  scheme: string
  tokenPrefix: string
  /** How far the clock of the server is off. */
  clockOffsetMs: number
  /** How long the machine kept a program waiting that had something to do. */
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
  /** Lines that said `ok`, and lines that said `error`. */
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
  /** Killed because its requests had no end. */
  | { kind: 'runaway'; requests: number }
  /** Killed because the whole run was interrupted. */
  | { kind: 'interrupted' }

export interface Exchange {
  /** Counts from 1. */
  number: number
  /** Counts from 1. */
  connection: number
  /** When the header of the request was here. */
  startedMs: number
  /** When its body was here; null: it never was. */
  receivedMs: number | null
  /** When the answer was ready; null: it never was. */
  answeredMs: number | null
  /** When the last byte of the answer went out; null: it never did. */
  deliveredMs: number | null
  httpMethod: string
  /** Path and query as received. */
  target: string
  /** As received, in their order. */
  headers: readonly (readonly [name: string, value: string])[]
  /** Cut off where it is very long; `bodyBytes` says how long it was. */
  body: Uint8Array
  bodyBytes: number
  /** null: none; status 0: the connection was closed instead. */
  answer: Answer | null
  /** Where the server stopped a refused call, such as `signature/mac`. */
  stage?: string
  /** The deliberate faults that applied to the call. */
  faults: readonly string[]
}

export interface Answer {
  status: number
  headers: { readonly [name: string]: string }
  /** As sent. */
  body: string
  /** The body before a fault changed it. */
  unspoilt?: string
}
