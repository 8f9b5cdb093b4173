import type { Client } from '../../engine/case/client.ts'
import type { TargetFacts } from '../../engine/case/target-facts.ts'
import type { SafetyClass } from '../../engine/fixture/model.ts'
import { tryJunk } from './junk-control.ts'
import { learnAddress, trySecondAddress } from './learn-addresses.ts'
import { learnSpelling, learnTokens } from './learn-tokens.ts'
import { firstCall, measureAccepted, measureRefused } from './reach-target.ts'
import { tryRootKey } from './try-root-key.ts'

/**
 * The first calls of a run: is the target there, does it take the root key, what does its clock say, which token prefix and
 * spelling does it take, and does it take junk.
 *
 * @param allow which lasting effects are allowed: tokens are only taken with `sessions`
 * @param patientMs how long to wait for a target that refuses connections
 * @throws SuiteError (`unreachable`, exit code 3) when nothing connects, or the root key is refused in every way
 */
export async function preflight(client: Client, allow: readonly SafetyClass[], patientMs = 0): Promise<TargetFacts> {
  const { target, stopping } = client.run
  // A target that is still starting gives no answer, and a second address may get none.
  stopping.pause()
  try {
    const first = await firstCall(client, patientMs)
    await measureRefused(client, first)
    await tryRootKey(client, first, allow)
    if (allow.includes('sessions')) await learnTokens(client)
    if (!client.instance.clock.controlled) await measureAccepted(client, allow)
    await tryJunk(client, first, allow)
    await learnAddress(client, allow)
    await trySecondAddress(client, allow)
    if (!target.lasting && allow.includes('sessions') && allow.includes('keys')) await learnSpelling(client)
    return client.facts
  } finally {
    stopping.resume()
  }
}
