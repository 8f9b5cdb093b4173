/** The right calls of a scenario, which show that a server is not out of order. */
import { grant, inDocumentOrder, list } from './calls.ts'
import type { FixtureInput } from './fixture-input.ts'
import { ownerOf } from './fixture-keys.ts'
import { isRefresh, type Names, refreshedIn } from './fixture-steps.ts'
import { type BurstStep, type CallStep, namesIn, type Step } from './step.ts'
import { callsOf } from './whole-sequence.ts'

/** Right calls that are accepted on a server which is not out of order: the same call, or one by the same key. */
export function controlsFor(judged: CallStep | BurstStep, { expect, steps }: FixtureInput, names: Names): CallStep[] {
  if (judged.do === 'burst') return [rootCall('solution/listSolutions')]
  const { change, also: _also, as: _as, ...plain } = judged
  if (expect === 'accepted') return likeCalls(judged)
  if (judged.method === 'manager/createApiKey' || isRefresh(judged)) return [rootCall(judged.method)]
  const isListing = judged.method === 'solution/listSolutions'
  if (isListing && judged.auth.kind === 'none') return [{ ...plain, auth: { kind: 'basic', who: 'root' } }]
  const keys = namesIn(plain).map(ownerOf)
  if (change !== undefined && !keys.some((key) => isUsedAsSecret(key, plain, names))) return [plain]
  const owner = judged.auth.kind === 'token' ? granteeOf(judged.auth.token, steps) : undefined
  if (owner !== undefined && names.get(owner)?.listsSolutions === true) return withToken(owner)
  const byKey = keys.flatMap((key) => rightCallBy(key, names))
  return byKey.length > 0 && isListing ? byKey : [...byKey, rootCall(judged.method)]
}

/** Calls of root in the same form: a server may refuse a long body, another member, an address or a kind of nonce to everybody. */
function likeCalls({ method, form, from, nonce, auth }: CallStep): CallStep[] {
  const more = { ...(form === undefined ? {} : { form }), ...(from === undefined ? {} : { from }) }
  const like = { ...rootCall(method), ...more }
  if (nonce === undefined || (auth.kind === 'hmac' && auth.who === 'root')) return [like]
  return [like, list({ kind: 'hmac', who: 'root' }, { nonce })]
}

/** Whether a key with a public key is used by its secret, which proves nothing. */
const isUsedAsSecret = (key: string, { auth }: CallStep, names: Names): boolean =>
  names.get(key)?.signsAs !== undefined && auth.kind !== 'ecc' && auth.kind !== 'token'

/** The key to which the pair of a token was granted, if it was not refreshed. */
function granteeOf(token: string, steps: readonly Step[]): string | undefined {
  const [, pair] = /^\$([\w-]+)\./.exec(token) ?? []
  const made = steps.flatMap(callsOf).find(({ as }) => as === pair)
  const refreshed = made === undefined ? undefined : refreshedIn(made)
  if (refreshed !== undefined) return granteeOf(`$${refreshed}.`, steps)
  return /^\$([\w-]+)\.id$/.exec(String(made?.params.apiKeyId))?.[1]
}

/** A token of the same key that opens the Solution API. */
const withToken = (who: string): CallStep[] => [
  inDocumentOrder(grant(who, ['solution'], { as: rightPair })),
  list({ kind: 'token', token: `$${rightPair}.accessToken` }),
]

export const rightPair = 'right'

/** A right call by a key, before it is used wrongly. */
function rightCallBy(who: string, names: Names): CallStep[] {
  const { name, listsSolutions = false, signsAs } = names.get(who) ?? {}
  if (name === 'root' || !listsSolutions) return []
  return [list({ kind: signsAs === undefined ? 'basic' : 'ecc', who })]
}

export const rootCall = (method: string): CallStep =>
  method === 'manager/auth' ? inDocumentOrder(grant('root', ['solution'])) : list({ kind: 'basic', who: 'root' })
