/** A case that breaks a limit leaves the target beyond it, which spoils later cases about the limit. */

import type { CaseOutcome } from '../judge/outcome.ts'
import type { Obstacle } from '../judge/problem.ts'
import type { Scenario } from '../language/fixture-types.ts'
import type { Run } from './caller.ts'
import { hasRace } from './cases.ts'
import { limitOf } from './claims.ts'

/** Returns why a case can no longer run; undefined if it can. */
export function spoiltBefore(run: Run, scenario: Scenario): Obstacle | undefined {
  const limit = limitOf(scenario)
  const by = limit === undefined ? undefined : run.spoilt.get(limit)
  return limit === undefined || by === undefined || !run.target.lasting
    ? undefined
    : { kind: 'limit-spoilt', what: limit, by }
}

/** Remembers a limit that a case found broken. */
export function noteSpoilt(run: Run, scenario: Scenario, { key, verdict }: Pick<CaseOutcome, 'key' | 'verdict'>): void {
  const limit = limitOf(scenario)
  if (limit !== undefined && hasRace(scenario) && verdict === 'failed' && !run.spoilt.has(limit))
    run.spoilt.set(limit, key)
}
