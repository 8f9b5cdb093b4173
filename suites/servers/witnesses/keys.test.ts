import { generateKeyPairSync } from 'node:crypto'
import { describe } from 'vitest'
import {
  type Client,
  createsKey,
  creation,
  grantPair,
  inTurn,
  makeEccKey,
  makeKey,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

const dayMs = 86_400_000
const takesPublicKey = async (client: Client, publicKey: string) =>
  works(await client.createKey({ ...creation, publicKey }))
const x25519Pem = () => generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()

/** Disables or deletes a key from behind the server. */
function change(client: Client, id: string, fields: { enabled?: boolean; deleted?: boolean }): void {
  const key = client.context.state.keys.get(id)
  if (key) Object.assign(key, fields)
}

describe('keys', () => {
  testWitnesses({
    'key-creation-spends-refresh-token': async (c) => {
      const pair = await grantPair(c, ['apikey'])
      await makeKey(c, {}, { token: pair.accessToken })
      return !(await refreshWorks(c, pair))
    },
    'key-ends-with-token-that-created-it': async (c) => {
      const pair = await grantPair(c, ['apikey'])
      const key = await makeKey(c, {}, { token: pair.accessToken })
      await refreshWorks(c, pair)
      return !works(await c.list({ basic: key }))
    },
    'public-key-expires-after-ninety-days': async (c) => {
      const { auth } = await makeEccKey(c)
      c.clock.advance(91 * dayMs)
      return !works(await c.list(auth))
    },
    'unused-key-expires-after-thirty-days': async (c) => {
      const key = await makeKey(c)
      c.clock.advance(31 * dayMs)
      return !works(await c.list({ basic: key }))
    },
    'tenth-key-does-not-work': async (c) => {
      const keys = await inTurn(10, () => makeKey(c))
      return !works(await c.list({ basic: keys[9] ?? c.root }))
    },
    'keys-of-same-second-share-secret': async (c) => {
      const [one, other] = [await makeKey(c), await makeKey(c)]
      return one.secret === other.secret
    },
    'sixth-key-has-secret-of-first': async (c) => {
      const secrets = (await inTurn(6, () => makeKey(c))).map(({ secret }) => secret)
      return new Set(secrets).size < 6
    },
    'secret-missing-for-key-with-public-key': async (c) => (await makeEccKey(c)).secret === undefined,
    'numbers-in-scope-skipped-on-key-creation': async (c) =>
      works(await c.createKey({ ...creation, scope: ['solution', 5] })),
    'private-key-taken-for-public-key': (c) => {
      const { privateKey } = generateKeyPairSync('ed25519')
      return takesPublicKey(c, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
    },
    'x25519-public-key-taken': (c) => takesPublicKey(c, x25519Pem()),
    'empty-public-key-means-none': (c) => takesPublicKey(c, ''),
    'public-key-without-final-line-feed-refused': async (c) => {
      const { pem } = await makeEccKey(c)
      return !(await takesPublicKey(c, pem.trim()))
    },
    'disabled-key-creates-keys': async (c) => {
      const key = await makeKey(c)
      change(c, key.id, { enabled: false })
      return createsKey(c, { basic: key })
    },
    'deleted-key-signs-with-ecc': async (c) => {
      const key = await makeEccKey(c)
      change(c, key.id, { deleted: true })
      return works(await c.list(key.auth))
    },
    'keys-of-same-millisecond-share-id': async (c) => {
      const [one, other] = [await makeKey(c), await makeKey(c)]
      return one.id === other.id
    },
  })
})
