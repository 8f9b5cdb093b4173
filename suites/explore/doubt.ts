/** Names what may justify an unexpected refusal where the document leaves it open. */

import type { Doubt } from '../engine/judge/problem.ts'
import { memberOf } from '../engine/model/fact.ts'
import { facts } from '../engine/model/facts.ts'
import type { Pair } from '../engine/model/state.ts'
import type { RefusedCall } from './lost-preparation.ts'

/**
 * @param pair whose token was sent
 * @param isShared others may use the target
 * @returns undefined where nothing is known that would make the refusal right
 */
export function doubtAboutPair(refused: RefusedCall, pair: Pair, isShared: boolean): Doubt | undefined {
  const { state } = refused
  const isUnknown = unknownsOf(refused)
  if (isUnknown('refresh/new-pair')) return { kind: 'pair-uncertain', question: 'refresh/family' }
  if (isUnknown('keys/created-key-works')) return { kind: 'key-perhaps-removed' }
  const newer = (state.grants.get(pair.key) ?? 0) - pair.countOfKey
  if (isUnknown('tokens/authorize')) return { kind: 'newer-tokens', newer, question: 'limits/live-tokens' }
  return isShared && memberOf(state, pair).name !== null ? { kind: 'sessions-of-others' } : undefined
}

/** The same for a call with a key: a signature, Basic credentials or a grant. */
export function doubtAboutKey(refused: RefusedCall): Doubt | undefined {
  const { refusedBefore } = refused
  if (refusedBefore > safeTries)
    return { kind: 'key-perhaps-locked', refused: refusedBefore, question: 'limits/lock-out' }
  return unknownsOf(refused)('keys/created-key-works') ? { kind: 'key-perhaps-removed' } : undefined
}

/** Fewer refused calls in a row lock no key. */
const safeTries = 3

/** Whether a fact of this requirement is unknown; facts about one kind of key or spelling apart. */
function unknownsOf({ state, call, span }: RefusedCall): (requirement: string) => boolean {
  const unknown = facts(state, call, span).filter(({ is, about }) => is === 'unknown' && about === undefined)
  return (requirement) => unknown.some((fact) => fact.requirement === requirement)
}
