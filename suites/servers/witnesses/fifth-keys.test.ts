import { describe } from 'vitest'
import { ed25519Pair } from '../../../mock-server/test-client.ts'
import {
  basic,
  createsKey,
  creation,
  grantPair,
  inTurn,
  listingBody,
  makeKey,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

describe('fifth set: keys, limits, envelope', () => {
  testWitnesses({
    'answer-to-key-creation-in-json-rpc-1-0': async (c) => (await c.createKey(creation)).json.jsonrpc !== '2.0',
    'id-divided-by-a-million-echoed-as-rest': async (c) => {
      const body = listingBody.replace('"id":7', '"id":1000007')
      return (await post(c, body, basic(c.root.id, c.root.secret))).json.id === 7
    },
    'public-key-as-list-of-lines-accepted': async (c) =>
      works(await c.createKey({ ...creation, publicKey: ed25519Pair().pem.split('\n') })),
    'no-key-limit-for-token-of-session': async (c) => {
      const plain = await grantPair(c, ['apikey'])
      const session = await grantPair(c, ['apikey', 'session:one'])
      await inTurn(10, () => makeKey(c))
      return (
        !(await createsKey(c, { token: plain.accessToken })) && (await createsKey(c, { token: session.accessToken }))
      )
    },
    'key-created-by-signature-loses-its-last-scope': async (c) => {
      const scope = ['context', 'solution']
      const keys = [await makeKey(c, { scope }), await makeKey(c, { scope }, { hmac: c.root })] as const
      return works(await c.list({ basic: keys[0] })) && !works(await c.list({ basic: keys[1] }))
    },
    'refused-eleventh-creation-sets-scope-of-last-key': async (c) => {
      const keys = await inTurn(10, () => makeKey(c, { scope: ['context'] }))
      await c.createKey(creation)
      const [first, last] = [keys[0] ?? c.root, keys[9] ?? c.root]
      return !works(await c.list({ basic: first })) && works(await c.list({ basic: last }))
    },
    'second-creation-with-same-params-gives-first-key': async (c) => {
      const [first, second, third] = [await makeKey(c), await makeKey(c), await makeKey(c, { name: 'other' })]
      return first.id === second.id && first.id !== third.id
    },
    'deleted-key-signs-until-another-key-is-created': async (c) => {
      const key = await makeKey(c)
      await c.call('manager/deleteApiKey', { id: key.id }, { basic: c.root })
      const before = works(await c.list({ hmac: key })) && !works(await c.list({ basic: key }))
      await makeKey(c)
      return before && !works(await c.list({ hmac: key }))
    },
  })
})
