/** Tells why it is open whether a call had to be accepted that a case needed accepted. */

import type { Doubt } from '../engine/judge/problem.ts'
import { memberOf } from '../engine/model/fact.ts'
import { facts } from '../engine/model/index.ts'
import type { Pair } from '../engine/model/types.ts'
import type { RefusedCall } from './lost-preparation.ts'

/**
 * @param pair whose token was sent
 * @param isShared others may use the target
 * @returns undefined where nothing is known that would make the refusal right
 */
export function doubtAbout({ state, call, span }: RefusedCall, pair: Pair, isShared: boolean): Doubt | undefined {
  const unknown = facts(state, call, span).filter(({ is }) => is === 'unknown')
  const has = (requirement: string): boolean =>
    unknown.some((fact) => fact.requirement === requirement && fact.about === undefined)
  if (has('refresh/new-pair')) return { kind: 'pair-uncertain', question: 'refresh/family' }
  if (has('keys/created-key-works')) return { kind: 'key-perhaps-removed' }
  const newer = (state.grants.get(pair.key) ?? 0) - pair.countOfKey
  if (has('tokens/authorize')) return { kind: 'newer-tokens', newer, question: 'limits/live-tokens' }
  return isShared && memberOf(state, pair).name !== null ? { kind: 'sessions-of-others' } : undefined
}
