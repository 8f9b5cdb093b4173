import type { MockClock, RandomBytes } from './clock.ts'
import type { Handle } from './http-server.ts'
import type { Bounds, Profile } from './profile.ts'
import type { Rules } from './rules.ts'
import type { ApiKey, State } from './state.ts'

/** The whole state of one server; servers share nothing. */
export interface ServerContext {
  readonly rules: Rules
  readonly profile: Profile
  readonly bounds: Bounds
  readonly clock: MockClock
  readonly explain: boolean
  /** The server's own time in ms: the clock and the offset of the profile. */
  now(): number
  state: State
  random: RandomBytes
  root: ApiKey
  /** Returns to the state at the start: same root key, same seed; the clock stays. */
  reset(): void
}

/** The initial key; missing values are generated. */
export interface RootKeyOptions {
  id?: string
  secret?: string
  /** ED25519, SPKI PEM: then the root key takes ECC signatures only. */
  publicKey?: string
}

export interface ServerOptions {
  /** `real` (default) follows the machine; `virtual` stands still until it is moved. */
  clock?: 'real' | 'virtual' | MockClock
  /** Where the clock starts, in ms since 1970. A virtual one starts at 2026-01-01T00:00:00Z by default. */
  now?: number
  /** The same seed gives the same ids, secrets and tokens. Never outside tests. */
  seed?: string | number
  rootKey?: RootKeyOptions
  /** Choices where the document is silent. */
  profile?: Partial<Profile>
  /** Decisions replaced, for a deliberately broken server. */
  rules?: Partial<Rules>
  /** Wraps the whole handler, as a proxy in front of the server would. */
  around?: (handle: Handle, context: ServerContext) => Handle
  bounds?: Partial<Bounds>
  /** How much the journal holds: 1,000 calls by default (0 for none), and 8 MiB. */
  journal?: { size?: number; bytes?: number }
  /** Keeps every exchange byte by byte, secrets included, up to this many bytes; off by default. */
  recording?: { bytes: number }
  /** Names the stage that refused a call in the header `x-refused-at`, and records in the journal what was computed for its signature. */
  explain?: boolean
  /** Origins of browser clients that may call, `*` for any; none by default. */
  cors?: readonly string[]
}
