import type { Fault, ServerOptions } from '../targets/bundled.ts'
import type { ClientAuth } from './journal.ts'

/** One situation in which a client is watched: what it is told, and what its server does. */
export interface Scenario {
  /** `NAME/AUTH`: unique. */
  id: string
  auth: ClientAuth
  /** What happens, in the present tense. */
  about: string
  /** The check that pays for `ok` lines without an accepted call, and for a client that does not end. */
  check: string
  /** The other checks that this scenario is made for; what every request shows is not listed. */
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

/** Stands for the other origin in the location of a redirect, whose port is known when it listens. */
export const elsewhere = 'http://elsewhere.invalid'
