import { isUnavailable } from '../engine/conversation/target-facts.ts'
import { type PatienceMs, refusedRootKey, unreachableTarget } from '../engine/conversation/unusable-target.ts'
import { describe } from '../engine/judge/classify.ts'
import { printable } from '../engine/printable.ts'
import { basic, type Caller, type Reply, signed } from './caller.ts'

/** The pause between two tries to reach a target that is still starting. In ms. */
const pauseMs = 250

/** Smaller differences between the clocks do not make a signature wrong. */
const notableOffsetMs = 2000

/**
 * The first calls: does the target answer, and does it accept the root key?
 *
 * @param patientMs how long to wait for a target that does not answer yet
 * @throws SuiteError (`unreachable`, exit code 3)
 */
export async function demandAccess(caller: Caller, patientMs: PatienceMs): Promise<void> {
  const { baseUrl, clock } = caller.instance
  const untilMs = clock.now() + (patientMs ?? 0)
  let signature = await caller.call({ auth: signed(caller) })
  while (isAway(signature) && clock.now() < untilMs) {
    await clock.sleep(pauseMs)
    signature = await caller.call({ auth: signed(caller) })
  }
  if (signature.outcome === 'accepted') return
  const credentials = caller.secret === undefined ? null : await caller.call({ auth: basic(caller) })
  if (credentials?.outcome === 'accepted') return
  // The first signature was made before the target's Date header was known.
  if (Math.abs(caller.clockOffsetMs()) > notableOffsetMs && (await caller.accepts({ auth: signed(caller) }))) return
  const last = (credentials ?? signature).classified
  if (last.outcome === 'broken' && last.status === null) throw unreachableTarget(baseUrl, last, patientMs)
  const seen = [
    ...(credentials === null ? [] : [`Basic credentials: ${describe(credentials.classified)}`]),
    `a signature: ${describe(signature.classified)}`,
  ].map((text) => printable(text))
  const { classified: first } = await caller.call({})
  throw refusedRootKey({ baseUrl, keyId: caller.keyId, seen, first, last, patientMs })
}

/** Nothing answers, or something in front of the target answers for it. */
const isAway = ({ outcome, status }: Reply): boolean =>
  status === null || (outcome === 'broken' && isUnavailable(status))
