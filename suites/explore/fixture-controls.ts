/** The right calls of a scenario, which show that a server is not out of order. */
import { cutLetterForms } from '../engine/signer/bodies.ts'
import { grant, inDocumentOrder, list } from './calls.ts'
import type { FixtureInput } from './fixture-input.ts'
import { ownerOf } from './fixture-keys.ts'
import { isRefresh, type Names } from './fixture-steps.ts'
import { type Auth, type BurstStep, type CallStep, namesIn } from './step.ts'
import { findMadeBy, granteeOf } from './token-lines.ts'

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
  const owner = judged.auth.kind === 'token' ? granteeOf(judged.auth.token, findMadeBy(steps)) : undefined
  if (owner !== undefined && names.get(owner)?.listsSolutions === true) return withToken(owner)
  const byKey = keys.flatMap((key) => rightCallBy(key, names))
  return byKey.length > 0 && isListing ? byKey : [...byKey, rootCall(judged.method)]
}

/** What the document does not show, so that a server may refuse it to everybody: bodies with further members or in chunks, and nonces with padding. */
const openForms: readonly string[] = ['extra-member', 'member-twice', 'params-twice', ...Object.keys(cutLetterForms)]
const addsMember = (form: CallStep['form']): boolean =>
  typeof form === 'string' && (form.startsWith('with-') || openForms.includes(form))

/** Calls of root in the same form, where a server may refuse that form to everybody; it may refuse a long body, so root sends one nearly as long. */
function likeCalls({ method, form, inChunks, from, nonce, auth }: CallStep): CallStep[] {
  const more = {
    ...(addsMember(form) && form !== undefined ? { form } : {}),
    ...(typeof form === 'number' ? { form: form - 1 } : {}),
    ...(inChunks === true ? { inChunks } : {}),
    ...(from === undefined ? {} : { from }),
  }
  const isBasicOfRoot = auth.kind === 'basic' && auth.who === 'root'
  const call = rootCall(method)
  const like = isBasicOfRoot && addsMember(form) ? { ...call, auth: signed, ...more } : { ...call, ...more }
  return nonce === 'padded' && !(auth.kind === 'hmac' && auth.who === 'root') ? [like, list(signed, { nonce })] : [like]
}

const signed: Auth = { kind: 'hmac', who: 'root' }

/** Whether a key with a public key is used by its secret, which proves nothing. */
const isUsedAsSecret = (key: string, { auth }: CallStep, names: Names): boolean =>
  names.get(key)?.signsAs !== undefined && auth.kind !== 'ecc' && auth.kind !== 'token'

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
