import type { Fault, ServerOptions } from '../targets/bundled.ts'
import type { ClientAuth } from './journal.ts'

/** One situation in which a client is watched: its task, and the behaviour of its server. */
export interface Scenario {
  /** `NAME/AUTH`: unique. */
  id: string
  auth: ClientAuth
  /** What happens, in the present tense. */
  about: string
  /** The check to which `ok` lines without an accepted call belong, and a client that does not end. */
  check: string
  /** The other checks that this scenario is made for; checks of every request are not listed. */
  exercises: readonly string[]
  scope: readonly string[]
  method: string
  calls: number
  parallel: number
  pauseMs: number
  /** How often the client is started, one start after the other. */
  starts: 1 | 2
  server: Pick<ServerOptions, 'profile'>
  faults: readonly Fault[]
}

/** A placeholder for the other origin in a redirect; its port is known only when it listens. */
export const elsewhere = 'http://elsewhere.invalid'
