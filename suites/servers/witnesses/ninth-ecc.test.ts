import { describe } from 'vitest'
import { ed25519Pair } from '../../../mock-server/test-client.ts'
import { inTurn, makeEccKey, testWitnesses, works } from '../test-witness.ts'

describe('ninth set: ECC', () => {
  testWitnesses({
    'ecc-signature-encoded-twice-accepted': async (c) => {
      const { auth } = await makeEccKey(c)
      const times = async (count: number) => {
        const encode = (bytes: Buffer) =>
          [...Array(count)].reduce((text) => Buffer.from(text).toString('base64'), bytes)
        return works(await c.list(auth, { encode: (bytes) => String(encode(bytes)) }))
      }
      return (await times(1)) && (await times(2)) && !(await times(3))
    },
    'public-key-dropped-from-key-with-single-scope': async (c) => {
      const [wide, narrow] = [await makeEccKey(c), await makeEccKey(c, { scope: ['solution'] })]
      const wideIsRight = works(await c.list(wide.auth)) && !works(await c.list({ basic: wide }))
      return wideIsRight && !works(await c.list(narrow.auth)) && works(await c.list({ basic: narrow }))
    },
    'ecc-over-empty-body-accepted-where-params-are-empty': async (c) => {
      const { auth } = await makeEccKey(c)
      const empty = { body: '' }
      const creation = await c.call('manager/createApiKey', { name: 'key', scope: ['solution'] }, auth, empty)
      return works(await c.list(auth, empty)) && !works(creation) && !works(await c.list({ hmac: c.root }, empty))
    },
    'ecc-scalar-with-leading-zero-byte-refused': async (c) => {
      const { auth } = await makeEccKey(c)
      const tries = await inTurn(200, async () => {
        let last = 1
        const encode = (bytes: Buffer) => {
          last = bytes[63] ?? 1
          return bytes.toString('base64')
        }
        return works(await c.list(auth, { encode })) === (last !== 0)
      })
      return tries.every((fits) => fits)
    },
    'first-ecc-signature-of-key-not-checked': async (c) => {
      const { id } = await makeEccKey(c)
      const wrong = { ecc: { id, privateKey: ed25519Pair().privateKey } }
      return works(await c.list(wrong)) && !works(await c.list(wrong))
    },
  })
})
