import { createHash, sign } from 'node:crypto'
import { describe } from 'vitest'
import { type Signing, signedHeader } from '../../../mock-server/test-client.ts'
import {
  type Client,
  createsKey,
  inTurn,
  listingBody,
  makeEccKey,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

type EccKey = Awaited<ReturnType<typeof makeEccKey>>

const accepts = async (client: Client, key: EccKey, but: Signing = {}) => works(await client.list(key.auth, but))
const acceptsNew = async (client: Client, but: Signing) => accepts(client, await makeEccKey(client), but)
const wrong: Signing = { encode: () => Buffer.alloc(64, 7).toString('base64') }

const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n
function addOrder(signature: Buffer): string {
  const scalar = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + groupOrder
  const bytes = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse()
  return Buffer.concat([signature.subarray(0, 32), bytes]).toString('base64')
}

describe('ecc', () => {
  testWitnesses({
    'ecc-scalar-reduced-before-check': (c) => acceptsNew(c, { encode: addOrder }),
    'ecc-high-bits-of-scalar-ignored': (c) =>
      acceptsNew(c, {
        encode: (signature) => {
          signature[63] = (signature[63] ?? 0) | 0x20
          return signature.toString('base64')
        },
      }),
    'ecc-scalar-above-half-order-refused': async (c) => {
      const key = await makeEccKey(c)
      return (await inTurn(40, () => accepts(c, key))).includes(false)
    },
    'bytes-behind-ecc-signature-ignored': (c) =>
      acceptsNew(c, { encode: (signature) => Buffer.concat([signature, Buffer.alloc(1)]).toString('base64') }),
    'ecc-signature-decoded-leniently': (c) =>
      acceptsNew(c, { encode: (signature) => signature.toString('base64').replace(/^./, '$&.') }),
    'ecc-signature-of-digest-accepted': async (c) => {
      const key = await makeEccKey(c)
      let digest = Buffer.alloc(0)
      return accepts(c, key, {
        data: (right) => {
          digest = createHash('sha256').update(right).digest()
          return right
        },
        encode: () => sign(null, digest, key.privateKey).toString('base64'),
      })
    },
    'ecc-signature-of-request-data-alone-accepted': (c) =>
      acceptsNew(c, { data: (right) => right.slice(right.indexOf('POST')) }),
    'ecc-data-behind-16-kib-not-covered': async (c) => {
      const key = await makeEccKey(c)
      const body = listingBody.padEnd(20_000)
      const header = signedHeader(key, body, c.clock.now(), { data: (right) => right.slice(0, 16384) })
      return works(await post(c, body, header))
    },
    'ecc-signature-checked-once-a-second': async (c) => {
      const key = await makeEccKey(c)
      await accepts(c, key)
      return accepts(c, key, wrong)
    },
    'newest-public-key-verifies-for-all': async (c) => {
      const [one, newest] = [await makeEccKey(c), await makeEccKey(c)]
      return works(await c.list({ ecc: { id: one.id, privateKey: newest.privateKey } }))
    },
    'public-key-verifies-for-key-of-same-name': async (c) => {
      const [one, other] = [await makeEccKey(c), await makeEccKey(c)]
      return works(await c.list({ ecc: { id: other.id, privateKey: one.privateKey } }))
    },
    'hmac-with-public-key-text-accepted': async (c) => {
      const { id, pem } = await makeEccKey(c)
      return works(await c.list({ hmac: { id, secret: pem } }))
    },
    'hmac-accepted-after-first-ecc-call': async (c) => {
      const key = await makeEccKey(c)
      await accepts(c, key)
      return works(await c.list({ hmac: { id: key.id, secret: key.secret } }))
    },
    'any-public-key-verifies-for-secret-key': async (c) => {
      const { privateKey } = await makeEccKey(c)
      return works(await c.list({ ecc: { id: c.root.id, privateKey } }))
    },
    'ecc-refused-on-key-creation': async (c) => !(await createsKey(c, (await makeEccKey(c)).auth)),
    'every-tenth-ecc-signature-not-checked': async (c) => {
      const key = await makeEccKey(c)
      return (await inTurn(10, () => accepts(c, key, wrong))).includes(true)
    },
  })
})
