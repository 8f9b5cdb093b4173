/** Reasons that differ only in the probe that they ask for are told as one. */
import type { RequirementReason } from '../engine/judge/judge-requirement.ts'

/** Two reasons with the same key are the same. */
export function keyOfReason(reason: RequirementReason): string {
  return JSON.stringify(Object.entries(reason).sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** Each reason once; those that ask for a probe stand together in one group. */
export function joinReasons<Reason extends RequirementReason>(reasons: readonly Reason[]): { reasons: Reason[] }[] {
  const distinct = [...new Map(reasons.map((reason) => [keyOfReason(reason), reason])).values()]
  const probing = distinct.filter(({ kind }) => kind === 'needs-probe')
  const others = distinct.filter(({ kind }) => kind !== 'needs-probe')
  const groups = others.map((reason) => ({ reasons: [reason] }))
  return probing.length === 0 ? groups : [...groups, { reasons: probing }]
}
