/** What the document demands of the answer to the last call of a finding, as `expect` says it. */
import type { Matchers } from '../engine/model/state.ts'
import type { FixtureInput } from './fixture-input.ts'
import { Unsayable } from './fixture-keys.ts'
import { type Names, ofAnyTarget } from './fixture-steps.ts'
import type { CallStep, Step } from './step.ts'
import { callsOf, madeBy } from './whole-sequence.ts'

const schemaOf: { readonly [method: string]: string } = {
  'manager/auth': 'auth-result',
  'manager/createApiKey': 'create-api-key-result',
  'solution/listSolutions': 'list-solutions-result',
}

/** The results that a schema describes, and those that a matcher does; an accepted answer without `jsonrpc` or with another id is no envelope. */
export function expectText(input: FixtureInput, last: CallStep, names: Names): string {
  const { requirement, expect, result } = input
  if (result === undefined || requirement === 'envelope/id-echo' || requirement === 'envelope/response-jsonrpc')
    return expect
  const schema = schemaOf[last.method]
  if (schema === undefined) throw new Unsayable('no schema describes the result of this method')
  const isOfSchema = /^(grants\/result-|keys\/create-result$|envelope\/result-object$)/.test(requirement)
  const matchers = Object.entries({ ...result, ...ofOtherValues(input, last, names) })
  if (!isOfSchema && matchers.length === 0) throw new Unsayable('no matcher says what the result must be')
  if (requirement === 'refresh/scopes-kept' && !wasRequested(input))
    throw new Unsayable('another server may grant other scopes')
  const where = matchers.map(([path, matcher]) => `${path}: ${ofAnyTarget(JSON.stringify(matcher), names)}`)
  const accepted = `{ accepted: ${schema}${where.length === 0 ? '' : `, where: { ${where.join(', ')} }`} }`
  return input.mayBeRefused === true ? `{ refused-or: ${accepted} }` : accepted
}

/** The scope that a pair is granted may be wider on another server, so a word counts only where it was requested. */
function wasRequested({ steps, result }: FixtureInput): boolean {
  const { includes } = result?.['result.scope'] ?? {}
  return steps
    .flatMap(callsOf)
    .some(({ params }) => JSON.stringify(params.scope ?? []).includes(`"${String(includes)}"`))
}

/** What the document demands of a result by other values. */
function ofOtherValues(
  { requirement, steps, result = {} }: FixtureInput,
  { as = '' }: CallStep,
  names: Names,
): Matchers {
  if (requirement === 'refresh/pair-differs') return otherPair(steps.slice(0, -1), names)
  if (requirement === 'expires-in/reported' && Object.keys(result).length === 0)
    return laterThan(steps.slice(0, -1), names)
  if (requirement !== 'expires-in/within-refresh-lifetime' && requirement !== 'grants/expiry-order') return {}
  const { name } = names.get(as) ?? {}
  if (name === undefined) throw new Unsayable('the result has no name')
  return { 'result.accessTokenExpiry': { 'at-most': `$${name}.refreshTokenExpiry` } }
}

/** A larger NUMBER does not end earlier than a smaller one. */
function laterThan(before: readonly Step[], names: Names): Matchers {
  const smaller = names.get(before.flatMap(madeBy).at(-1) ?? '')?.name
  return smaller === undefined ? {} : { 'result.accessTokenExpiry': { 'at-least': `$${smaller}.accessTokenExpiry` } }
}

/** Both tokens of a refresh are others than all before. */
function otherPair(before: readonly Step[], names: Names): Matchers {
  const earlier = before.flatMap(madeBy).flatMap((as) => names.get(as)?.name ?? [])
  const noneOf = (token: string): Matchers[string] => ({
    is: { not: { enum: earlier.map((name) => `$${name}.${token}`) } },
  })
  if (earlier.length === 0) throw new Unsayable('the earlier pair is not among these steps')
  return { 'result.accessToken': noneOf('accessToken'), 'result.refreshToken': noneOf('refreshToken') }
}
