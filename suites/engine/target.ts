/**
 * A server under test as the engine sees it: bytes out, bytes in, and a clock. All I/O is done by implementations of these
 * interfaces (suites/targets); the engine itself opens no socket and reads no clock.
 */
import { defaultScheme } from './document.ts'

type OwnConnection = `own ${string}`

/** The local address to call from; undefined: the machine chooses. */
export const localAddressOf = (from: WireRequest['from'], secondAddress: string | undefined): string | undefined =>
  from === undefined || from === 'first-address' ? undefined : from === 'second-address' ? secondAddress : from

/** Whether requests share a connection that no others use. */
export const isOwn = (connection: WireRequest['connection']): connection is OwnConnection =>
  connection?.startsWith('own ') === true

export interface WireRequest {
  method: string
  /** Below the base URL, `/api` as a rule. */
  path: string
  headers: [name: string, value: string][]
  body: Uint8Array
  /** One of our addresses: the second one, or a local address itself. */
  from?: string
  /**
   * `fresh` opens a new connection. `unused`: one that carried no call before, which may have been opened ahead; what changes state must
   * never be sent twice because a kept connection was stale. `warm`, in a race: a connection that carried another call of a race before,
   * where there is one. `own NAME`: one that requests with this name share, and no others.
   */
  connection?: 'kept' | 'unused' | 'fresh' | 'warm' | OwnConnection
  /** Arbitrary bytes, method and path, sent unchanged; an ordinary HTTP client might correct them. */
  raw?: boolean
  /** How long to wait for the whole answer, if shorter than usual. */
  timeoutMs?: number
  /** How many calls have their answers in memory at once; they share a limit of memory. */
  sharedBy?: number
}

export type WireAnswer =
  | {
      kind: 'answer'
      status: number
      headers: { [name: string]: string }
      body: Uint8Array
      /** `body` holds only the first and the last part; this is the length of the whole. */
      cut?: { bytes: number; sha256: string }
    }
  /** An answer longer than the suite reads. */
  | { kind: 'unread'; status: number; headers: { [name: string]: string }; limitBytes: number }
  | {
      kind: 'none'
      reason: string
      refusedConnection: boolean
      /** The answer did not arrive in time. */
      timedOut?: boolean
      /** A kept connection was closed before any part of the answer came, so the call may be repeated. */
      stale: boolean
      /** The run ended before the request was sent. */
      wasNotSent?: boolean
      /** The run ended before the answer came. */
      isOfEnding?: boolean
    }

export interface Clock {
  /** Milliseconds since 1970 on the calling machine (virtual against the bundled server). */
  now(): number
  /** @param signal ends the wait at once, without an error */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** How much time the run has left, in ms; undefined: no limit. */
  leftMs?(): number | undefined
  /** True where `sleep` moves the server's clock instead of waiting. */
  readonly controlled: boolean
}

/** How a user or the target file says that the target differs in names (design §6). */
export interface TargetSettings {
  scheme: string
  /** Undefined: find out. An empty string: no prefix. */
  tokenPrefix?: string | undefined
  signedUri: string
  scopeNames: { [name: string]: string }
  headers: { [name: string]: string }
  /** `scope`: the scope that a probe needs in addition to that of its area. */
  probes: { [area: string]: { method: string; params: unknown; scope?: readonly string[] } }
  /** API areas that the target does not have. */
  absent?: readonly string[]
  solutions: string[]
  cleanup?: { method: string; params: unknown } | undefined
  secondAddress?: string | undefined
  clientAddress?: string | undefined
  /** Candidates for an unknown client address; one that a token confirms is used. */
  likelyAddresses?: readonly string[]
  /** Calls a second at most; 0 is no limit. */
  rate: number
  /** Calls that may be under way at once; undefined: as many as the target can take. */
  concurrency?: number
  /** The longest single wait, in ms, where the clock cannot be moved. */
  maxWaitMs: number
}

/** The settings of a target file that declares nothing. */
export const bareSettings: TargetSettings = {
  scheme: defaultScheme,
  signedUri: '/api',
  scopeNames: {},
  headers: {},
  probes: {},
  solutions: [],
  rate: 0,
  maxWaitMs: 10_000,
}

export type RootKey =
  | { id: string; kind: 'secret'; secret: string }
  /** PKCS#8 PEM. */
  | { id: string; kind: 'ed25519'; privateKey: string }

/** One running server with its root key. */
export interface Instance {
  readonly baseUrl: string
  readonly root: RootKey
  readonly settings: TargetSettings
  readonly clock: Clock
  /** Never throws: a missing answer is a value. */
  send(request: WireRequest): Promise<WireAnswer>
  /**
   * Sends all at once: every connection is open and every request nearly sent before the first one is completed.
   *
   * @param heard is called with the index of each answer as soon as it is there
   */
  sendTogether(requests: WireRequest[], heard?: (index: number) => void): Promise<WireAnswer[]>
  /** Closes the connections that were kept for a race: a target may not accept more besides them. Absent in memory. */
  endRaces?: (() => Promise<void>) | undefined
  close(): Promise<void>
}

export interface Target {
  /** `bundled`, or the URL. */
  readonly name: string
  /** A lasting target has one instance for the whole run; otherwise every case gets a fresh one. */
  readonly lasting: boolean
  /** A fresh instance: nothing was created on it before (the bundled server, or --disposable). */
  readonly fresh: boolean
  open(): Promise<Instance>
  /** Releases what was kept between instances. */
  close?(): Promise<void>
}

/** Whether a URL belongs to this machine. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/** A request and its answer, to be printed. */
export interface Exchange {
  /** Lines ready to print: request line, headers, body. Secrets are already shortened. */
  request: string[]
  /** Lines ready to print, or the reason why there is no answer. */
  answer: string[]
}
