import { describe } from 'vitest'
import { ed25519Pair } from '../../../mock-server/test-client.ts'
import { createsKey, inTurn, makeKey, signs, testWitnesses, works } from '../test-witness.ts'

describe('tenth set: keys', () => {
  testWitnesses({
    'deleted-key-frees-two-places': async (c) => {
      const keys = await inTurn(10, () => makeKey(c))
      const creates = () => createsKey(c, { basic: c.root })
      const before = await creates()
      await c.call('manager/deleteApiKey', { id: keys[0]?.id }, { basic: c.root })
      return !before && (await creates()) && (await creates()) && !(await creates())
    },
    'keys-without-apikey-scope-not-counted': async (c) => {
      const narrow = { name: 'key', scope: ['solution'] }
      await inTurn(9, () => makeKey(c))
      const more = await inTurn(3, async () => works(await c.createKey(narrow)))
      return more.every((isMade) => isMade) && (await createsKey(c, { basic: c.root }))
    },
    'name-may-be-missing-beside-public-key': async (c) => {
      const { pem, privateKey } = ed25519Pair()
      const { id = '' } = await makeKey(c, { publicKey: pem, name: undefined })
      const without = await makeKey(c, { name: undefined })
      return without.id === undefined && works(await c.list({ ecc: { id, privateKey } }))
    },
    'secret-of-key-made-from-its-name': async (c) => {
      const [first, other, second] = [await makeKey(c), await makeKey(c, { name: 'other' }), await makeKey(c)]
      const crossed = await signs(c, {}, { id: second.id, secret: first.secret })
      return crossed && other.secret !== first.secret && second.id !== first.id
    },
  })
})
