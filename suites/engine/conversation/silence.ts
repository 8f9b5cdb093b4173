/**
 * Notices that a target has stopped answering. Each case counts its own calls, because a target may leave many simultaneous refusals
 * unanswered.
 */
import type { Classified } from '../judge/classify.ts'
import type { Stopping } from './stopping.ts'

export interface Silence {
  /** @param mayBeRefused silence may be how the target refuses */
  hear(answer: Classified, mayBeRefused?: boolean): void
}

/** This many refused connections, or unanswered calls, in a row mean that a lasting target went away. */
const refusedInARow = 2
const unansweredInARow = 3

export function createSilence(stopping: Stopping): Silence {
  let refused = 0
  let unanswered = 0
  return {
    hear(answer, mayBeRefused = false) {
      const isSilence = answer.outcome === 'broken' && answer.status === null
      // The control after it counts too.
      if (isSilence && mayBeRefused && answer.refusedConnection !== true) return
      unanswered = isSilence ? unanswered + 1 : 0
      refused = isSilence && answer.refusedConnection === true ? refused + 1 : 0
      if (refused >= refusedInARow) stopping.targetIsGone({ kind: 'refuses-connections' })
      else if (unanswered >= unansweredInARow) stopping.targetIsGone({ kind: 'no-answers', calls: unansweredInARow })
    },
  }
}
