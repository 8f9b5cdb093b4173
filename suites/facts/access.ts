import { isUnavailable } from '../engine/case/unavailable.ts'
import { SuiteError } from '../engine/errors.ts'
import { basic, type Caller, type Reply, signed } from './caller.ts'
import { describeReply } from './compare-replies.ts'

/** The pause between two tries to reach a target that is still starting. In ms. */
const pauseMs = 250

/**
 * The first call: does the target answer, and does it take the root key?
 *
 * @param patientMs how long to wait for a target that does not answer yet
 * @throws SuiteError (`unreachable`, exit code 3)
 */
export async function demandAccess(caller: Caller, patientMs: number): Promise<void> {
  const { baseUrl, clock } = caller.instance
  const untilMs = clock.now() + patientMs
  let first = await caller.call({ auth: signed(caller) })
  while (isAway(first) && clock.now() < untilMs) {
    await clock.sleep(pauseMs)
    first = await caller.call({ auth: signed(caller) })
  }
  if (first.outcome === 'accepted') return
  if (first.status === null) throw new SuiteError('unreachable', `Cannot reach ${baseUrl}/api`)
  const second = caller.secret === undefined ? first : await caller.call({ auth: basic(caller) })
  if (second.outcome !== 'accepted')
    throw new SuiteError(
      'unreachable',
      `Cannot use ${baseUrl}: it refuses the key "${caller.keyId}" (${describeReply(second)})`,
    )
}

/** Nothing answers, or something in front of the target answers for it. */
const isAway = ({ outcome, status }: Reply): boolean =>
  status === null || (outcome === 'broken' && isUnavailable(status))
