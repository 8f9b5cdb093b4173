import type { StopReason } from '../judge/problem.ts'
import type { RunListener } from './events.ts'

/** Decides when a run ends before its last case, and remembers why. The only writer of that reason. */
export interface Stopping {
  /** null while the run goes on. */
  readonly reason: StopReason | null
  /** Ends the run. The first reason stays. */
  stop(reason: StopReason): void
  /** The target seems to have gone away: ends the run, except on a target that lasts no longer than a case. */
  targetIsGone(because: Extract<StopReason, { kind: 'gone' }>['because']): void
  /** The first look at a target expects that it may not be there yet: until `resume` it does not count as gone. */
  pause(): void
  resume(): void
}

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
