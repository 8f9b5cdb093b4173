/** What cases show about how a target counts sessions. It decides which cases may run at the same time. */

import type { Called } from '../judge/called.ts'
import type { CallStep, SendStep } from '../language/fixture-types.ts'
import type { TargetFacts } from './target-facts.ts'

/** In the cases that observe these questions the last call is made as an earlier session, after sixteen grants of another kind. */
export function noteSessionFacts(facts: TargetFacts, { observe }: CallStep | SendStep, calls: readonly Called[]): void {
  const outcome = calls.at(-1)?.answer.outcome
  if (outcome !== 'accepted' && outcome !== 'refused') return
  if (observe === 'sessions/counting') facts.unnamedTakePlaces = outcome === 'refused'
  if (observe === 'sessions/user') facts.sessionsPerKey = outcome === 'accepted'
}

/** Grants without a session take no places and do not end each other, so any number of them may be made. */
export function unnamedAreFree({ unnamedTakePlaces, unnamedReplaced }: TargetFacts): boolean {
  return unnamedTakePlaces === false && unnamedReplaced !== true
}

/** Counts the sessions that a run was granted; some may have been removed since. */
export function noteSession(facts: TargetFacts, method: string, params: unknown): void {
  if (method === 'manager/auth' && requestsSession(params)) facts.sessionsGranted = (facts.sessionsGranted ?? 0) + 1
}

/** Whether the params of a grant request a session. */
export function requestsSession(params: unknown): params is { scope: unknown[] } {
  if (typeof params !== 'object' || params === null || !('scope' in params) || !Array.isArray(params.scope))
    return false
  return params.scope.some((word) => String(word).startsWith('session:'))
}
