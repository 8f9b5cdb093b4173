import { describe } from 'vitest'
import { type Auth, ed25519Pair } from '../../../mock-server/test-client.ts'
import {
  basic,
  type Client,
  creation,
  grantPair,
  inTurn,
  lineOfPairs,
  listOn,
  makeKey,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** How many keys could be made of eleven. */
const madeOfEleven = async (c: Client, paramsOf: (index: number) => object, auth?: Auth) =>
  (await inTurn(11, (index) => c.createKey({ ...creation, ...paramsOf(index) }, auth))).filter(works).length

/** A pair whose public key has its highest bit. */
function pairWithHighestBit(): ReturnType<typeof ed25519Pair> {
  for (;;) {
    const pair = ed25519Pair()
    const bytes = Buffer.from(pair.pem.split('\n')[1] ?? '', 'base64')
    if ((bytes.at(-1) ?? 0) >= 0x80) return pair
  }
}

describe('third set: keys', () => {
  testWitnesses({
    'key-created-by-refreshed-token-gets-no-grant': async (c) => {
      const [, pair] = await lineOfPairs(c, 1, ['apikey'])
      const key = await makeKey(c, {}, { token: pair?.accessToken ?? '' })
      return works(await c.list({ basic: key })) && !works(await c.grant(['solution'], key))
    },
    'keys-counted-for-each-scope': async (c) =>
      (await madeOfEleven(c, (index) => ({ scope: [index % 2 === 0 ? 'solution' : 'context'] }))) === 11,
    'repeated-public-key-takes-no-place': async (c) => {
      const { pem } = ed25519Pair()
      return (await madeOfEleven(c, () => ({ publicKey: pem }))) === 11
    },
    'scope-of-key-searched-as-if-sorted': async (c) => {
      const [sorted, other] = [
        await makeKey(c, { scope: ['context', 'solution', 'thread'] }),
        await makeKey(c, { scope: ['thread', 'solution', 'context'] }),
      ]
      return works(await c.grant(['context'], sorted)) && !works(await c.grant(['context'], other))
    },
    'public-key-as-first-param-forgotten': async (c) => {
      const { pem, privateKey } = ed25519Pair()
      const { id } = (await c.createKey({ publicKey: pem, name: 'first', scope: ['solution'] })).json.result
      return !works(await c.list({ ecc: { id, privateKey } }))
    },
    'key-made-by-created-key-takes-two-places': async (c) => {
      const creator = await makeKey(c)
      return (await madeOfEleven(c, () => ({}), { basic: creator })) < 9
    },
    'key-with-public-key-created-without-apikey-scope': async (c) => {
      const token = (await grantPair(c)).accessToken
      const plain = works(await c.createKey(creation, { token }))
      return !plain && works(await c.createKey({ ...creation, publicKey: ed25519Pair().pem }, { token }))
    },
    'public-key-read-without-its-highest-bit': async (c) => {
      const { pem, privateKey } = pairWithHighestBit()
      const { id } = await makeKey(c, { publicKey: pem })
      return !works(await c.list({ ecc: { id, privateKey } }))
    },
    'created-key-known-on-connection-of-its-creation-only': async (c) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/createApiKey', params: creation })
      const key = (await post(c, body, basic(c.root.id, c.root.secret), 1)).json.result
      return works(await listOn(c, 1, { basic: key })) && !works(await listOn(c, 2, { basic: key }))
    },
  })
})
