import type { Classified } from '../judge/classify.ts'
import type { StopReason } from '../judge/problem.ts'
import type { RunListener } from './events.ts'

/** Decides when a run ends before its last case, and remembers why. The only writer of that reason. */
export interface Stopping {
  /** null while the run goes on. */
  readonly reason: StopReason | null
  /** Ends the run. The first reason stays. */
  stop(reason: StopReason): void
  /** Counts calls without an answer; a lasting target that gives none several times in a row went away. */
  hear(answer: Classified): void
  /** Answers are not counted until `resume`: the first look at a target expects that it may not be there yet. */
  pause(): void
  resume(): void
}

/** So many refused connections, or so many calls without any answer, in a row mean that a lasting target went away. */
const refusedInARow = 2
const unansweredInARow = 3

export function createStopping(target: { name: string; lasting: boolean }, emit: RunListener): Stopping {
  let reason: StopReason | null = null
  let paused = false
  let refused = 0
  let unanswered = 0
  const stop = (given: StopReason): void => {
    if (reason !== null) return
    reason = given
    emit({ kind: 'stopped', reason })
  }
  const gone = (because: Extract<StopReason, { kind: 'gone' }>['because']): void =>
    stop({ kind: 'gone', target: target.name, because })
  return {
    get reason() {
      return reason
    },
    stop,
    hear(answer) {
      if (paused || !target.lasting) return
      const isSilence = answer.outcome === 'broken' && answer.status === null
      unanswered = isSilence ? unanswered + 1 : 0
      refused = isSilence && answer.refusedConnection === true ? refused + 1 : 0
      if (refused >= refusedInARow) gone({ kind: 'refuses-connections' })
      else if (unanswered >= unansweredInARow) gone({ kind: 'no-answers', calls: unansweredInARow })
    },
    pause() {
      paused = true
    },
    resume() {
      paused = false
    },
  }
}
