/** Notices when a lasting target goes away or locks the root key out. No later verdict would be true then. */

import type { Attempt, CaseStop } from '../judge/attempt.ts'
import type { Classified } from '../judge/classify.ts'
import type { Auth } from '../language/fixture-types.ts'
import { makeCall } from './call.ts'
import type { Caller } from './caller.ts'
import { actor } from './credential-of.ts'
import { isUnavailable } from './unavailable.ts'

export const isUnanswered = ({ called }: CaseStop): boolean => called.some(({ answer }) => isAway(answer))

/** Nothing answered, or something in front of the target answered for it. */
const isAway = (answer: Classified): boolean =>
  answer.outcome === 'broken' && (answer.status === null || isUnavailable(answer.status))

/** A call should have been accepted and was refused. */
export const isRefusedInstead = ({ step, called }: CaseStop): boolean =>
  !('wait' in step) && step.expect !== 'refused' && called.some(({ answer }) => answer.outcome === 'refused')

/** Checks after an unanswered call on a lasting target whether it is still there. */
export async function noticeGone(caller: Caller, attempt: Attempt): Promise<void> {
  const { run } = caller
  if (!run.target.lasting || run.stopping.reason !== null || !attempt.stops.some(isUnanswered)) return
  // On a new connection: a server that is shutting down may still answer on a kept one. With the root key: a target may hang up on others.
  const { answer } = await makeCall(caller, {
    method: 'solution/listSolutions',
    params: {},
    auth: { key: actor(caller, 'root') },
    freshConnection: true,
  })
  if (answer.outcome === 'broken' && isAway(answer)) {
    const because = { kind: 'no-answers', calls: 1, reason: answer.reason } as const
    run.stopping.stop({ kind: 'gone', target: run.target.name, because })
  }
}

/**
 * A locked key is refused every time. A server that refuses only some right calls, such as those whose nonce has a plus sign, accepts one of
 * this many.
 */
const triesOfLock = 6

/**
 * Checks for a lock-out after a refusal that should have been an acceptance: the root key is refused again and again, with a kind of
 * authorization that was accepted before, on used and on new connections: a refusal on used ones alone is no lock.
 */
export async function noticeLockOut(caller: Caller, attempt: Attempt): Promise<void> {
  const { run } = caller
  if (!run.target.lasting || run.stopping.reason !== null || !attempt.stops.some(isRefusedInstead)) return
  for (const control of run.acceptedControls) {
    let refused = 0
    while (refused < triesOfLock && (await refusesRoot(caller, control, refused % 2 === 1))) refused += 1
    if (refused === triesOfLock) {
      run.stopping.stop({ kind: 'locked-out', target: run.target.name })
      return
    }
  }
}

async function refusesRoot(caller: Caller, control: 'basic' | 'hmac', freshConnection: boolean): Promise<boolean> {
  const member = actor(caller, 'root')
  const auth: Auth = control === 'basic' ? { basic: member } : { hmac: member }
  const { answer } = await makeCall(caller, { method: 'solution/listSolutions', params: {}, auth, freshConnection })
  return answer.outcome === 'refused'
}
