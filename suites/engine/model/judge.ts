/** The level of every requirement that the model cites; a test compares it with spec/requirements.yaml. */

import { nameOf } from './fact.ts'
import type { Answer, Fact, Level, State, Verdict } from './state.ts'

const implied = new Set([
  'envelope/request-members',
  'envelope/unknown-method',
  'envelope/malformed-answered',
  'keys/scope-held',
  'keys/create-params',
  'keys/public-key-material',
  'keys/unique-ids',
  'keys/unique-secrets',
  'keys/apikey-scope',
  'signatures/hmac-encoding',
  'signatures/ecc-encoding',
  'signatures/ecc-malleability',
  'signatures/header-exact',
  'signatures/scheme',
  'basic/malformed',
  'grants/params',
  'grants/grant-type',
  'grants/expiry-order',
  'tokens/exact',
  'tokens/refresh-is-no-access',
  'tokens/access-is-no-refresh',
  'refresh/scopes-kept',
  'refresh/address-kept',
  'refresh/session-kept',
  'scopes/area-opens',
  'scopes/within-key',
  'sessions/removed-refresh',
  'limits/ten-can-be-made',
  'limits/eleventh-refused',
  'limits/earlier-keys-kept',
])

export const levelOf = (requirement: string): Level => (implied.has(requirement) ? 'implied' : 'must')

/** The verdict that follows from the facts. */

/**
 * One *no* beats every *unknown*; all *yes* must be accepted; the rest is open. A wrong acceptance has the highest level among the
 * *no* facts, a wrong refusal the lowest among those that no accepted call has shown yet.
 */
export function judge(state: State, known: readonly Fact[]): Verdict {
  const against = known.filter(({ is }) => is === 'no')
  if (against.length > 0) return verdict('refused', against.find(isMust) ?? (against[0] as Fact))
  const unknown = known.find(({ is }) => is === 'unknown')
  if (unknown !== undefined) return verdict('open', unknown)
  const newest = known.filter((fact) => !state.shown.has(nameOf(fact)))
  const lowest = newest.findLast((fact) => !isMust(fact)) ?? newest.at(-1) ?? known.at(-1)
  const fact = lowest ?? { requirement: 'envelope/method-names', is: 'yes' }
  const level = newest.includes(fact) ? levelOf(fact.requirement) : 'must'
  return { ...verdict('accepted', fact), level: level as Level }
}

/** Whether an answer contradicts the verdict. A call that must be refused and gets a broken answer was not accepted. */
export function contradicts(verdict: Verdict, answer: Answer): boolean {
  if (answer.kind === 'unread') return false
  if (verdict.is === 'refused') return answer.kind === 'accepted'
  return verdict.is === 'accepted' && answer.kind !== 'accepted'
}

const isMust = ({ requirement }: Fact): boolean => levelOf(requirement) === 'must'

function verdict(is: Verdict['is'], fact: Fact): Verdict {
  return { is, requirement: fact.requirement, level: levelOf(fact.requirement), fact }
}
