/** Facts about a call, and the verdict that follows from them. */
import type { Answer, Fact, Level, State, Verdict } from './state.ts'

const make =
  (is: Fact['is']) =>
  (requirement: string, about?: string): Fact =>
    about === undefined ? { requirement, is } : { requirement, is, about }

export const yes = make('yes')
export const no = make('no')
/** Unknown for this call only: an accepted call says nothing about others of its kind. */
export const unsure = make('unknown')
/** The document promises it where this holds, and leaves it open where not. */
export const sure = (holds: boolean, requirement: string): Fact => (holds ? yes(requirement) : unsure(requirement))

/** The facts that apply. */
export const only = (...maybe: readonly (Fact | readonly Fact[] | false | undefined)[]): Fact[] =>
  maybe.flatMap((one) => one || [])

/** The name of a fact, as `shown` remembers it. */
export const nameOf = ({ requirement, about }: Fact): string =>
  about === undefined ? requirement : `${requirement} (${about})`

/** Open until an accepted call has shown how this target reads it. */
export function open(state: State, requirement: string, about: string): Fact {
  const fact = unsure(requirement, about)
  return state.shown.has(nameOf(fact)) ? yes(requirement, about) : fact
}

/** The level of every requirement that the model cites; a test compares it with spec/requirements.yaml. */
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
