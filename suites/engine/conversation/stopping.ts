import type { StopReason } from '../judge/problem.ts'
import type { RunListener } from './events.ts'

/** Decides when a run ends before its last case, and remembers why. The only writer of that reason. */
export interface Stopping {
  /** null while the run goes on. */
  readonly reason: StopReason | null
  /** Ends the run. The first reason stays. */
  stop(reason: StopReason): void
  /** Ends the run because the target seems to have gone away, unless every case has its own instance. */
  targetIsGone(because: Extract<StopReason, { kind: 'gone' }>['because']): void
  /** Until `resume`, an unreachable target does not count as gone, because it may not be up yet. */
  pause(): void
  resume(): void
}

/** @param emit hears once that the run stops, and why */
export function createStopping(target: { name: string; lasting: boolean }, emit: RunListener): Stopping {
  let reason: StopReason | null = null
  let paused = false
  const stop = (given: StopReason): void => {
    if (reason !== null) return
    reason = given
    emit({ kind: 'stopped', reason })
  }
  return {
    get reason() {
      return reason
    },
    stop,
    targetIsGone(because) {
      if (!paused && target.lasting) stop({ kind: 'gone', target: target.name, because })
    },
    pause() {
      paused = true
    },
    resume() {
      paused = false
    },
  }
}
