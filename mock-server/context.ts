import type { Bounds } from './bounds.ts'
import type { MockClock } from './clock.ts'
import type { Profile } from './profile.ts'
import type { RandomBytes } from './random.ts'
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
