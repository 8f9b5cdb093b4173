import { type Caller, limitFor } from '../../engine/conversation/caller.ts'
import type { TargetFacts } from '../../engine/conversation/target-facts.ts'
import type { SafetyClass } from '../../engine/language/fixture-types.ts'
import { checkDate } from './check-date.ts'
import { checkExpiry } from './check-expiry.ts'
import { tryJunk } from './junk-control.ts'
import { learnAddresses } from './learn-addresses.ts'
import { learnSpelling, learnTokens } from './learn-tokens.ts'
import { firstCall, measureAccepted, measureGrant, measureRefused } from './reach-target.ts'
import { tryRootKey } from './try-root-key.ts'

/**
 * The first calls of a run. They find out whether the target is up, whether it accepts the root key, what its clock says, which token
 * prefix and scope spelling it uses, and whether it accepts junk.
 *
 * @param allow the allowed lasting effects: tokens are requested only with `sessions`
 * @param patientMs how long to wait for a target that refuses connections
 * @throws SuiteError (`unreachable`, exit code 3) when nothing connects, or the root key is refused in every way
 */
export async function preflight(caller: Caller, allow: readonly SafetyClass[], patientMs = 0): Promise<TargetFacts> {
  const { target, stopping } = caller.run
  // A target that is still starting does not answer, and a second address may get no answer.
  stopping.pause()
  try {
    const first = await firstCall(caller, patientMs)
    await measureRefused(caller, first, 1)
    adaptLimit(caller)
    await checkDate(caller)
    await Promise.all([measureRefused(caller, first, 2), tryRootKey(caller, first, allow)])
    const isTimed = !caller.instance.clock.controlled
    if (allow.includes('sessions')) {
      await Promise.all([learnTokens(caller), isTimed && measureAccepted(caller)])
      if (isTimed) await measureGrant(caller)
      adaptLimit(caller)
      if (target.lasting) await checkExpiry(caller)
      await Promise.all([learnAddresses(urgent(caller), allow), tryJunk(caller, first, allow)])
    } else {
      const isTimedMeanwhile = isTimed && measureAccepted(caller)
      await Promise.all([isTimedMeanwhile, learnAddresses(urgent(caller), allow), tryJunk(caller, first, allow)])
    }
    if (!target.lasting && allow.includes('sessions') && allow.includes('keys')) await learnSpelling(caller)
    return caller.facts
  } finally {
    stopping.resume()
  }
}

/** A caller whose calls go before those of others: each of them waits for the one before. */
const urgent = (caller: Caller): Caller => ({ ...caller, isUrgent: true })

/** How many calls are made at once depends on how far away the target is. */
function adaptLimit(caller: Caller): void {
  caller.limit = limitFor(caller.instance, caller.facts)
}
