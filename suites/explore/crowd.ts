/** More sessions of one key granted at once than may live. */
import { sessionLimit } from '../engine/document.ts'
import { list, token } from './calls.ts'
import { isOtherSession, quietMs, sessionsLike } from './other-pairs.ts'
import type { Shown } from './replay.ts'
import { areSessionsOfOneKind, isPlainUse } from './session-grants.ts'
import { type BurstStep, namesIn, type Step } from './step.ts'
import { madeBy } from './whole-sequence.ts'

export interface Crowd {
  readonly burst: BurstStep
  /** How many of the sessions were seen to live: more than may. */
  readonly live: number
}

const isCrowd = (step: Step | undefined): step is BurstStep =>
  step?.do === 'burst' && step.calls.length > sessionLimit && areSessionsOfOneKind(step.calls)

/** undefined unless the steps are such grants and uses of their tokens; older sessions before them do not matter. */
export function crowdOf({ steps, outcomes }: Shown): Crowd | undefined {
  const at = steps.findIndex((step) => step.do !== 'wait' && !isOtherSession(step))
  const burst = steps[at]
  if (!isCrowd(burst)) return undefined
  const pairs = new Set(madeBy(burst))
  const uses = steps.slice(at + 1)
  if (!uses.every((use) => isPlainUse(use, pairs))) return undefined
  const live = new Set(uses.flatMap((use, index) => (outcomes[at + 1 + index] === 'accepted' ? namesIn(use) : []))).size
  return live > sessionLimit ? { burst, live } : undefined
}

/**
 * The same steps, if they begin with a crowd: the key has sixteen older sessions, so that its sessions are known, and the token of every grant is
 * used before the last step. Which of the sessions were removed, only all of them together tell.
 */
export function withCrowdUsed(steps: readonly Step[]): Step[] {
  const [crowd, ...rest] = steps
  const [first] = isCrowd(crowd) ? crowd.calls : []
  if (!isCrowd(crowd) || first === undefined) return [...steps]
  const wait: Step = { do: 'wait', ms: quietMs }
  const uses = madeBy(crowd).map((pair) => list(token(pair)))
  return [wait, ...sessionsLike(first, 'o', sessionLimit), wait, crowd, ...uses, ...rest]
}
