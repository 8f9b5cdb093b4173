import type { SafetyClass } from '../engine/language/fixture-types.ts'
import type { Random } from '../engine/signer/random.ts'
import type { Instance } from '../engine/target.ts'
import { demandAccess } from '../facts/access.ts'
import { createCaller } from '../facts/caller.ts'
import { compareSessions } from './compare.ts'
import { planSession, playSession } from './play.ts'
import type { ServerDiff } from './text.ts'

export interface DiffOptions {
  /** What both servers allow. */
  allow: readonly SafetyClass[]
  calls: number
  /** Gives the order of the calls. */
  seed: number
  /** Gives nonces. */
  random: Random
  /** How long to wait for a server to come up, in ms. */
  patientMs: number
}

/** Plays one session to each server, one after the other. @throws SuiteError (`unreachable`) for a server that cannot be used */
export async function diffServers(a: Instance, b: Instance, options: DiffOptions): Promise<ServerDiff> {
  const { allow, calls, seed, random, patientMs } = options
  const hasSecret = a.root.kind === 'secret' && b.root.kind === 'secret'
  const planned = planSession(seed, calls, allow, hasSecret)
  for (const instance of [a, b]) await demandAccess(createCaller(instance, random), patientMs)
  const first = await playSession(a, planned, random)
  const second = await playSession(b, planned, random)
  return { a: a.baseUrl, b: b.baseUrl, calls, differences: compareSessions(first, second) }
}
