/** Sends credentials of the wrong kind, in the wrong place, or of another call. */

import { basic, changed, create, ecc, grant, hmac, list, none, refresh, token } from './calls.ts'
import { creation, expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import { apikeyScope, freshName, granted, pairOf, wordsOf } from './keyring.ts'
import { wrongToken } from './refresh-chains.ts'
import type { Auth, CallStep, Change } from './step.ts'
import type { Caller } from './table.ts'

/** A key that was just accepted lends its secret to no other key. */
export async function afterAnotherKey({ x, keyring }: Caller, users: number): Promise<void> {
  x.script = 'after-another-key'
  const keys = keyring.secret.slice(0, users)
  for (const one of keys)
    for (const other of keys.filter((who) => who !== one)) {
      const place = `$${one}.secret`
      await expectAccepted(x, list(hmac(one)))
      await expectRefused(x, changed(list(hmac(other)), { field: 'secret', place }))
      await expectAccepted(x, list(basic(one)))
      await expectRefused(x, changed(list(basic(other)), { field: 'basic-secret', place }))
      if (!keyring.grants) continue
      await x.call(grant(one, ['solution']))
      await expectRefused(x, changed(grant(other, ['solution']), { field: 'param apiKeySecret', place }))
    }
}

/** The credentials of a key, each in the place of the other. */
export async function ownPlaces({ x, keyring }: Caller, users: number): Promise<void> {
  x.script = 'own-places'
  // The narrow key has had no pair yet: a server may confuse a secret with tokens as long as the first one stands.
  for (const who of [...keyring.secret.slice(0, users), ...keyring.narrow.filter((one) => one === 'solution-key')]) {
    const pair = keyring.grants ? await granted(x, { who, scope: scopeOf(x, who) }) : undefined
    const tokens = pair === undefined ? [] : [`$${pair}.accessToken`, `$${pair}.refreshToken`]
    for (const place of [`$${who}.id`, `$${who}.name`, `$${who}.secret`, ...tokens]) {
      for (const field of ['basic-id', 'basic-secret', 'basic-text', 'basic-blob'])
        await expectRefused(x, changed(list(basic(who)), { field, place }))
      for (const field of ['key-id', 'secret', 'signature'])
        await expectRefused(x, changed(list(hmac(who)), { field, place }))
      if (pair === undefined) continue
      for (const field of ['param apiKeyId', 'param apiKeySecret'])
        await expectRefused(x, changed(grant(who, ['solution']), { field, place }))
      await expectRefused(x, changed(refresh(pair), { field: 'param refreshToken', place }))
      await expectRefused(x, changed(list(token(pair)), { field: 'token', place }))
    }
    for (const field of pair === undefined ? [] : membersForTokens)
      for (const right of [list(none), ...(keyring.keys && x.state().created <= 9 ? [creation(none)] : [])])
        await expectRefused(x, changed(right, { field, place: `$${pair}.accessToken` }))
    await expectAccepted(x, list(basic(who)))
    if (pair !== undefined) await wrongToken(x, keyring.keys && who !== 'solution-key', `$${pair}.refreshToken`)
  }
  for (const who of keyring.ecc)
    for (const place of [`$${who}.id`, `$${who}.name`, `$${who}.secret`, `$${who}-own.publicKey`]) {
      await expectRefused(x, changed(list(basic(who)), { field: 'basic-secret', place }))
      await expectRefused(x, changed(list(ecc(who)), { field: 'signature', place }))
      await expectRefused(x, changed(list(hmac(who)), { field: 'secret', place }))
      if (place !== `$${who}.id`) await expectRefused(x, changed(list(ecc(who)), { field: 'key-id', place }))
    }
}

/** Where other services take a token from the body. */
const membersForTokens = ['auth', 'token', 'accessToken', 'access_token', 'authorization', 'Authorization'].flatMap(
  (name) => [`member ${name}`, `param ${name}`],
)

const scopeOf = (x: Explorer, who: string): string[] =>
  who === 'solution-key' ? ['solution'] : ['solution', ...(apikeyScope(x) ?? [])]

/** Headers that prove nothing. */
const emptyHeaders = (scheme: string): string[] => [
  '',
  'Basic',
  'Basic Og==',
  'Basic Ogo=',
  'Bearer',
  'Bearer null',
  'Bearer undefined',
  'Bearer 0',
  'Token',
  scheme,
  `${scheme} ;;;;`,
  `${scheme} ;1;;;`,
  'null',
  'undefined',
  'true',
  'Digest username="root"',
  'Negotiate',
  'None',
]

/** Scopes of grants, one for each kind of word and some with several: a server may check a secret in other code for each. */
const scopesOfGrants = (apikeyWords: readonly string[]): (readonly string[])[] => [
  ['solution', 'solution:'],
  ['solution', 'session:'],
  ['solution', 'ipAddr:'],
  ['solution', 'expiresIn:15000'],
  ['solution', ...apikeyWords],
  ['context'],
  ['solution:'],
  ['solution', 'solution:*'],
  ['solution', 'context', 'session:', 'ipAddr:', 'expiresIn:15000'],
  ['solution', 'context', ...apikeyWords, 'solution:', 'session:'],
  ...apikeyWords.map((word) => [word]),
  ...['thread', 'store', 'inbox', 'stream'].map((area) => [area]),
  [],
  ['solution:*'],
  ['session:'],
]

/** grants/credentials: whatever scope a grant asks for, its secret is checked. @param most how many scopes to try */
export async function wrongSecrets({ x, keyring }: Caller, who: string, most: number): Promise<void> {
  x.script = `wrong-secrets/${who}`
  const other = keyring.secret.find((one) => one !== who)
  const wrongs: Change[] = [
    { field: 'param apiKeySecret', operation: 'inside-changed' },
    ...(other === undefined ? [] : [{ field: 'param apiKeySecret', place: `$${other}.secret` }]),
    { field: 'param apiKeySecret', value: '' },
    { field: 'param apiKeySecret', place: `$${who}.id` },
  ]
  for (const [at, scope] of scopesOfGrants(apikeyScope(x) ?? [])
    .slice(0, most)
    .entries()) {
    const right = grant(who, wordsOf(x, who, scope, `${freshName(x)}-$unique`))
    if ((await x.call(right))?.answer.kind !== 'accepted') continue
    const [first, ...more] = wrongs
    for (const wrong of [first, more[at % more.length]])
      if (wrong !== undefined) await expectRefused(x, changed(right, wrong))
  }
}

/** grants/credentials: right authorization in the header proves nothing for the credentials of a grant. */
export async function wrongGrantsWithHeader({ x, keyring, pairs }: Caller, users: number): Promise<void> {
  x.script = 'wrong-grants-with-header'
  const pair = await pairOf(x, pairs, { who: keyring.secret[0] ?? 'root', scope: ['solution'] })
  for (const who of keyring.secret.slice(0, users)) {
    const other = keyring.secret.find((one) => one !== who) ?? who
    const headers = [hmac(who), basic(who), hmac(other), basic(other), ...keyring.ecc.slice(0, 1).map(ecc)]
    const wrongs: Change[] = [
      { field: 'param apiKeySecret', operation: 'inside-changed' },
      { field: 'param apiKeySecret', remove: true },
      { field: 'param apiKeyId', remove: true },
      { field: 'param apiKeyId', operation: 'inside-changed' },
    ]
    for (const auth of [...headers, ...(pair === undefined ? [] : [token(pair)])])
      for (const wrong of wrongs) await expectRefused(x, { ...changed(grant(who, ['solution']), wrong), auth })
  }
}

/** keys/create-authorized: a creation with a public key is authorized as any other. */
export async function wrongCreations({ x, keyring }: Caller, users: number): Promise<void> {
  x.script = 'wrong-creations'
  if (!keyring.keys || x.state().created > 9) return
  for (const publicKey of [undefined, '$spare.publicKey']) {
    await expectRefused(x, creation(none, publicKey))
    for (const who of keyring.secret.slice(0, users)) {
      const secret = { field: 'basic-secret', operation: 'inside-changed' }
      await expectRefused(x, changed(creation(basic(who), publicKey), secret))
      const mac = { field: 'mac', operation: 'middle-bit-flipped' }
      await expectRefused(x, changed(creation(hmac(who), publicKey), mac))
    }
    for (const who of keyring.ecc.slice(0, users)) {
      const signature = { field: 'signature-bytes', operation: 'middle-bit-flipped' }
      await expectRefused(x, changed(creation(ecc(who), publicKey), signature))
    }
  }
}

/** Keys without public key that have the same scope: a server may look up a key by what it may do. */
export async function keysOfOneScope({ x, keyring }: Caller): Promise<void> {
  x.script = 'keys-of-one-scope'
  const groups = new Map<string, string[]>()
  for (const who of x.names.keys()) {
    const key = x.state().keys.get(x.names.get(who)?.id ?? '')
    if (key === undefined || key.scope === null || key.publicKey !== null || !key.scope.includes('solution')) continue
    const scope = key.scope.join(' ')
    groups.set(scope, [...(groups.get(scope) ?? []), who])
  }
  for (const group of groups.values())
    for (const [at, who] of group.entries()) {
      const other = group[at + 1] ?? group[0] ?? who
      if (other === who) continue
      const place = `$${other}.secret`
      await expectAccepted(x, list(hmac(who)))
      await expectRefused(x, changed(list(hmac(who)), { field: 'secret', place }))
      await expectRefused(x, changed(list(basic(who)), { field: 'basic-secret', place }))
      if (keyring.grants)
        await expectRefused(x, changed(grant(who, ['solution']), { field: 'param apiKeySecret', place }))
    }
}

/** authorization/required: no header, and headers that prove nothing. */
export async function noCredentials({ x, keyring }: Caller): Promise<void> {
  x.script = 'no-credentials'
  const creates = keyring.keys && x.state().created <= 9
  const headers = emptyHeaders(x.state().terms.scheme).map((header): Auth => ({ kind: 'header', header }))
  for (const auth of [none, ...headers]) {
    await expectRefused(x, list(auth))
    await expectRefused(x, list(auth, { connection: 'new' }))
    if (creates) await expectRefused(x, creation(auth))
  }
  for (const who of [...keyring.secret.slice(0, 2), ...keyring.ecc.slice(0, 1)])
    for (const right of [list(none), ...(creates ? [creation(none)] : [])])
      for (const params of credentialParams(who))
        await expectRefused(x, { ...right, params: { ...right.params, ...params } })
  // Only the method manager/auth needs no authorization, wherever else its name stands.
  for (const value of ['manager/auth', '"method":"manager/auth"'])
    for (const name of ['x', 'method']) await expectRefused(x, { ...list(none), params: { [name]: value } })
  if (creates) await expectRefused(x, create(none, { name: 'manager/auth', scope: ['solution'] }))
}

/** The credentials of a grant, and other names for them. */
const credentialParams = (who: string): CallStep['params'][] => {
  const [id, secret] = [`$${who}.id`, `$${who}.secret`]
  return [
    { apiKeyId: id, apiKeySecret: secret },
    { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret },
    { keyId: id, keySecret: secret },
    { id, secret },
  ]
}

/** Sends the header of an accepted call with another call: it was signed only for the first one. */
export async function replays({ x, keyring }: Caller, users: number): Promise<void> {
  x.script = 'replays'
  const creates = (): boolean => keyring.keys && x.state().created <= 9
  const ways = [...keyring.secret.slice(0, users).map(hmac), ...keyring.ecc.slice(0, users).map(ecc)]
  for (const auth of ways)
    for (const connection of [0, 'new'] as const) {
      const as = freshName(x, 'sent')
      await x.call(list(auth, { as, connection }))
      if (!x.names.has(as)) continue
      const again: Auth = { kind: 'header', header: `$${as}.header` }
      await expectRefused(x, list(again, { connection }))
      await expectRefused(x, list(again, { connection, form: 'indented' }))
      if (creates()) await expectRefused(x, { ...creation(again), connection })
      await expectRefused(x, list(again, { form: 'space-appended' }))
      const signature = { field: 'signature', place: `$${as}.signature` }
      await expectRefused(x, changed(list(auth, { connection }), signature))
      if (creates()) await expectRefused(x, changed(creation(auth), signature))
    }
}
