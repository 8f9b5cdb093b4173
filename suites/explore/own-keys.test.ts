import { expect, test } from 'vitest'
import { ed25519KeyPair } from '../engine/signer/pem.ts'
import { bareSettings } from '../engine/target.ts'
import { partUnlessProof } from '../self/proof-form.ts'
import { loadIndependentMutants, type ServerOptions } from '../targets/bundled.ts'
import { hmac, list } from './calls.ts'
import type { WayToEndKey } from './ended-keys.ts'
import type { Explorer } from './explorer-types.ts'
import { explainKeys, granted } from './keyring.ts'
import { keyPairMaker } from './open.ts'
import { keysOfRareScopes, manyPublicKeys, removeOwnKeys } from './own-keys.ts'
import type { Caller } from './table.ts'
import { brokenBy, foundIn } from './test-findings.ts'

const deletion: WayToEndKey = {
  requirement: 'keys/can-be-deleted',
  method: 'manager/deleteApiKey',
  params: { id: '$id' },
}

const otherKeys =
  (way: WayToEndKey = deletion) =>
  async (caller: Caller): Promise<void> => {
    const { x, keyring } = caller
    x.setSignatureClock(0, true)
    if (keyring.secret.includes('root')) {
      await x.call(list(hmac('root')))
      // Shows how the target writes this scope.
      await granted(x, { who: 'root', scope: ['solution', 'apikey'] })
    }
    await keysOfRareScopes(caller, way)
    await manyPublicKeys(caller, way, { newKeys: 10, makeKeyPair: keyPairMaker(x.options.values) })
    await removeOwnKeys(x, way)
  }

/** How many keys were created, and which are left. */
function keysOf(x: Explorer): { created: number; left: string[] } {
  const keys = [...x.state().keys.values()]
  const left = keys.filter(({ ended }) => ended === undefined).map(({ id }) => id)
  return { created: keys.length - 1, left }
}

const mutants = await loadIndependentMutants()
const broken = (id: string): Omit<ServerOptions, 'clock'> => {
  const mutant = mutants.find((one) => one.id === id)
  if (mutant === undefined) throw new Error(`There is no mutant "${id}"`)
  return mutant.create()
}

test('the reference server breaks nothing, and no key is left', async () => {
  const { x, found } = await foundIn({}, otherKeys())
  expect(found).toEqual([])
  expect(keysOf(x)).toEqual({ created: 20, left: [x.options.rootKey.id] })
})

test('a reader is told what each key is, and what created it', async () => {
  const { x } = await foundIn({}, otherKeys())
  const signers = [...x.names.keys()].filter((name) => /^signer\d+$/.test(name))
  const first = signers[0] ?? ''
  expect(explainKeys(x, signers).slice(0, 3)).toEqual([
    `${first} is a key with a public key and the scope "solution apikey apiKey", which Basic credentials of root created`,
    `${signers[1]} is a key with a public key and the scope "solution", which an ED25519 signature of ${first} created`,
    `${signers[2]} is a key with a public key and the scope "solution", which an access token of root created`,
  ])
  expect(explainKeys(x, ['root', 'ecc-a', 'ecc-a'])).toEqual(['ecc-a is a key with a public key'])
})

test('a root key with a public key creates as many keys', async () => {
  const { publicKeyPem: publicKey, privateKeyPem: privateKey } = ed25519KeyPair(new Uint8Array(32).fill(9))
  const root = { id: 'root-with-public-key', kind: 'ed25519', privateKey } as const
  const { x, found } = await foundIn({ rootKey: { id: root.id, publicKey } }, otherKeys(), { root })
  expect(found).toEqual([])
  expect(keysOf(x)).toEqual({ created: 20, left: [root.id] })
})

test('the method of the target file may have any name', async () => {
  const around: ServerOptions['around'] = (handle) => (request) =>
    handle({ ...request, body: Buffer.from(String(request.body).replace('keys/purge', deletion.method)) })
  const purge = { ...deletion, method: 'keys/purge' }
  const { x, found } = await foundIn({ around }, otherKeys(purge), { settings: { ...bareSettings, cleanup: purge } })
  expect(found).toEqual([])
  expect(keysOf(x).left).toEqual([x.options.rootKey.id])
})

test('a server that gives a new key the id of the root key keeps it', async () => {
  let deletes = 0
  const around: ServerOptions['around'] =
    (handle, { root }) =>
    async (request) => {
      const body = String(request.body)
      if (body.includes(deletion.method) && body.includes(root.id)) deletes += 1
      const answer = await handle(request)
      return body.includes('scoped')
        ? { ...answer, body: answer.body.replace(/"id":"[^"]*"/, `"id":"${root.id}"`) }
        : answer
    }
  await foundIn({ around }, otherKeys())
  expect(deletes).toBe(0)
})

const showing: readonly (readonly [string, string])[] = [
  ['fifth-public-key-ends-the-first', 'keys/created-key-works'],
  ['public-keys-of-one-creator-sign-for-each-other', 'signatures/key-id'],
  ['stream-granted-to-key-with-store', 'scopes/within-key'],
  ['any-solution-granted-to-key-of-one-solution', 'scopes/within-key'],
  ['ninth-signing-key-pushes-first-one-out', 'keys/initial-full-access'],
  ['deleted-key-frees-two-places', 'limits/ten-keys'],
  ['public-key-created-by-ecc-call-is-that-of-its-creator', 'signatures/ecc'],
  ['public-key-created-by-token-has-scope-of-token', 'keys/apikey-scope'],
]
test.each(partUnlessProof(showing, 4))('%s shows', async (id, requirement) => {
  expect(await brokenBy(broken(id), otherKeys())).toContain(requirement)
})
