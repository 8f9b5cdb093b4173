/** Once nothing else needs its keys, an exploration deletes them, and creates others: of rare scopes, and ten with public keys. */
import { areas } from '../engine/model/facts-of-params.ts'
import { basic, changed, create, ecc, grant, hmac, list, token } from './calls.ts'
import { endingOf, type WayToEndKey } from './ended-keys.ts'
import { expectAccepted, expectRefused } from './expect-calls.ts'
import type { Explorer } from './explorer-types.ts'
import type { KeyMaker } from './fill-keyring.ts'
import { apikeyScope, byRoot, freshName, granted, isOwnKey, type Keyring } from './keyring.ts'
import { compareWithoutPublicKey } from './refused-creations.ts'
import type { Auth } from './step.ts'
import type { Caller } from './table.ts'

/** How the target deletes keys, if it is known. */
export const deletionOf = (ways: readonly WayToEndKey[]): WayToEndKey | undefined =>
  ways.find(({ requirement }) => requirement === 'keys/can-be-deleted')

/** Deletes every key that the exploration created. */
export async function removeOwnKeys(x: Explorer, deletion: WayToEndKey): Promise<void> {
  x.script = 'own-keys-removed'
  for (const [name, { id }] of [...x.names]) {
    const key = x.state().keys.get(id ?? '')
    if (key === undefined || key.ended !== undefined || !isOwnKey(x, name)) continue
    if ((await x.call(endingOf(x, name, deletion)))?.answer.kind !== 'accepted') continue
    x.endKey(name, deletion.requirement)
    await expectRefused(x, list(key.publicKey === null ? basic(name) : ecc(name)))
  }
}

/** Each area alone, because a server may keep a list of one word as a text, or compare only the beginnings of areas. */
const rareScopes = [...areas.map((area) => [area]), ['solution:*'], ['solution:one']]

/** scopes/within-key: each key requests tokens for every area that it does not have. Deletes the keys there are first. */
export async function keysOfRareScopes({ x, keyring }: Caller, deletion: WayToEndKey): Promise<void> {
  await removeOwnKeys(x, deletion)
  x.script = 'keys-of-rare-scopes'
  for (const scope of [...rareScopes, apikeyScope(x) ?? ['apikey']]) {
    const who = freshName(x, 'scoped')
    await x.call(create(byRoot(x), { name: `${who}-$unique`, scope }, { as: who }))
    if (!x.names.has(who)) continue
    await x.call(list(hmac(who)))
    const others = [...areas.map((area) => [area]), ['solution:*'], apikeyScope(x) ?? ['apikey']]
    for (const other of keyring.grants ? others.filter(([word = '']) => !scope.includes(word)) : []) {
      const pair = freshName(x)
      await x.call(grant(who, other, { as: pair }))
      if (x.lines.has(pair)) await x.call(list(token(pair)))
    }
  }
  // A server may keep the secrets of a few keys only.
  if (keyring.secret.includes('root')) await expectAccepted(x, list(hmac('root')))
}

/** Authorization by a token that may create keys, if the root key can be granted one. */
async function tokenOfRoot(x: Explorer, { grants, secret }: Keyring, words: readonly string[]): Promise<Auth[]> {
  if (!grants || !secret.includes('root')) return []
  const pair = await granted(x, { who: 'root', scope: ['solution', ...words] })
  return pair === undefined ? [] : [token(pair)]
}

/** How many keys with public keys are requested: one more than there may be, because deleted keys may be counted wrongly. */
const mostPublicKeys = 11

/** @returns its name, if it was created */
async function createSigner(
  x: Explorer,
  by: Auth,
  scope: readonly string[],
  makeKeyPair: KeyMaker['makeKeyPair'],
): Promise<string | undefined> {
  const who = freshName(x, 'signer')
  const { seed, publicKeyPem: publicKey } = makeKeyPair()
  x.names.set(`${who}-own`, { seed, publicKey })
  await x.call(create(by, { name: `${who}-$unique`, scope, publicKey: `$${who}-own.publicKey` }, { as: who }))
  return x.names.has(who) ? who : undefined
}

/**
 * Keys with public keys go on working when others are created, in every way, and none of them signs for another or may create keys because
 * its creator may. Deletes the keys there are first.
 */
export async function manyPublicKeys(
  { x, keyring }: Caller,
  deletion: WayToEndKey,
  { makeKeyPair }: KeyMaker,
): Promise<void> {
  await removeOwnKeys(x, deletion)
  x.script = 'many-public-keys'
  const words = apikeyScope(x) ?? []
  const makers = [byRoot(x)]
  const made: string[] = []
  for (let at = 0; at < mostPublicKeys; at++) {
    const scope = ['solution', ...(at === 0 ? words : [])]
    const from = x.log.length
    const by = makers[at % makers.length] ?? byRoot(x)
    const who = (await createSigner(x, by, scope, makeKeyPair)) ?? (await createSigner(x, by, scope, makeKeyPair))
    if (who === undefined) {
      await compareWithoutPublicKey(x, from)
      break
    }
    made.push(who)
    for (const one of made) await expectAccepted(x, list(ecc(one)))
    if (words.length === 0) continue
    if (at === 0) makers.push(ecc(who), ...(await tokenOfRoot(x, keyring, words)))
    else
      await expectRefused(x, create(ecc(who), { name: `by-${who}-$unique`, scope: ['solution'] }, { as: `by-${who}` }))
  }
  for (const [at, who] of made.entries()) {
    const other = made[at + 1] ?? made[0] ?? who
    if (other !== who) await expectRefused(x, changed(list(ecc(other)), { field: 'key-id', place: `$${who}.id` }))
  }
}
