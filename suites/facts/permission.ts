import type { SafetyClass } from '../engine/language/fixture-types.ts'
import type { KeyProbe, Probe } from './fact.ts'

/** Why a probe is left out; null: it is not. */
export function reasonToLeave(
  { needs, needsSecret }: Pick<Probe | KeyProbe, 'needs' | 'needsSecret'>,
  allow: readonly SafetyClass[],
  hasSecret: boolean,
): string | null {
  if (needsSecret === true && !hasSecret) return 'it needs the secret of the key'
  const missing = needs.filter((one) => !allow.includes(one))
  return missing.length === 0 ? null : `it needs --allow ${missing.join(',')}`
}
