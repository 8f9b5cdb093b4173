/**
 * Notices that a target gives no answers any more. Each case counts its own calls: cases that run beside one another and must be refused
 * may all be left without an answer at once.
 */
import type { Classified } from '../judge/classify.ts'
import type { Stopping } from './stopping.ts'

export interface Silence {
  hear(answer: Classified): void
}

/** So many refused connections, or so many calls without any answer, in a row mean that a lasting target went away. */
const refusedInARow = 2
const unansweredInARow = 3

export function createSilence(stopping: Stopping): Silence {
  let refused = 0
  let unanswered = 0
  return {
    hear(answer) {
      const isSilence = answer.outcome === 'broken' && answer.status === null
      unanswered = isSilence ? unanswered + 1 : 0
      refused = isSilence && answer.refusedConnection === true ? refused + 1 : 0
      if (refused >= refusedInARow) stopping.targetIsGone({ kind: 'refuses-connections' })
      else if (unanswered >= unansweredInARow) stopping.targetIsGone({ kind: 'no-answers', calls: unansweredInARow })
    },
  }
}
