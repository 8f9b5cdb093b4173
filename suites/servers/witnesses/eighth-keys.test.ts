import { describe } from 'vitest'
import { ed25519Pair } from '../../../mock-server/test-client.ts'
import { createsKey, inTurn, makeKey, testWitnesses, works } from '../test-witness.ts'

describe('eighth set: keys', () => {
  testWitnesses({
    'secret-of-created-key-told-in-base64': async (c) => {
      const { id, secret } = await makeKey(c)
      const plain = Buffer.from(secret, 'base64').toString()
      return !works(await c.list({ basic: { id, secret } })) && works(await c.list({ basic: { id, secret: plain } }))
    },
    'public-key-without-its-pem-lines-taken': async (c) => {
      const { pem, privateKey } = ed25519Pair()
      const { id } = await makeKey(c, { publicKey: pem.split('\n')[1] ?? '' })
      return id !== undefined && works(await c.list({ ecc: { id, privateKey } }))
    },
    'keys-older-than-an-hour-not-counted': async (c) => {
      const keys = await inTurn(10, () => makeKey(c))
      const eleventh = await createsKey(c, { basic: c.root })
      c.clock.advance(3_600_000)
      const later = await createsKey(c, { basic: c.root })
      return !eleventh && later && works(await c.list({ basic: keys[0] ?? c.root }))
    },
  })
})
