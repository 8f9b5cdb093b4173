/** Reasons that differ only in the missing probe are put together. */
import type { RequirementReason } from '../engine/judge/judge-requirement.ts'

/** Equal reasons have the same key. */
export function keyOfReason(reason: RequirementReason): string {
  return JSON.stringify(Object.entries(reason).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Each reason once; those that need a probe form one group. */
export function joinReasons<Reason extends RequirementReason>(reasons: readonly Reason[]): { reasons: Reason[] }[] {
  const distinct = [...new Map(reasons.map((reason) => [keyOfReason(reason), reason])).values()]
  const probing = distinct.filter(({ kind }) => kind === 'needs-probe')
  const others = distinct.filter(({ kind }) => kind !== 'needs-probe')
  const groups = others.map((reason) => ({ reasons: [reason] }))
  return probing.length === 0 ? groups : [...groups, { reasons: probing }]
}
