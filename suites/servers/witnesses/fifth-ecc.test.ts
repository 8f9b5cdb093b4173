import { describe } from 'vitest'
import type { Signing } from '../../../mock-server/test-client.ts'
import { type Client, creation, makeEccKey, testWitnesses, works } from '../test-witness.ts'

type EccKey = Awaited<ReturnType<typeof makeEccKey>>

const signsEcc = async (c: Client, key: EccKey, but: Signing = {}) => works(await c.list(key.auth, but))

const halves = (bytes: Buffer) => [bytes.subarray(0, 32), bytes.subarray(32)] as const

const flipped = (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 63), Buffer.of((bytes[63] ?? 0) ^ 1)])

describe('fifth set: ED25519', () => {
  testWitnesses({
    'ecc-without-the-nonce-accepted': async (c) =>
      signsEcc(c, await makeEccKey(c), { data: (text) => text.replace(/;[^;]*;/, ';') }),
    'ecc-signature-with-halves-swapped-accepted': async (c) =>
      signsEcc(c, await makeEccKey(c), {
        encode: (bytes) => Buffer.concat([halves(bytes)[1], halves(bytes)[0]]).toString('base64'),
      }),
    'bytes-in-front-of-ecc-signature-ignored': async (c) =>
      signsEcc(c, await makeEccKey(c), {
        encode: (bytes) => Buffer.concat([Buffer.alloc(32), bytes]).toString('base64'),
      }),
    'hmac-of-creator-accepted-for-public-key': async (c) => {
      const { id, secret } = await makeEccKey(c)
      const signs = async (hmac: { id: string; secret: string }) => works(await c.list({ hmac }))
      return !(await signs({ id, secret })) && (await signs({ id, secret: c.root.secret }))
    },
    'basic-accepted-for-public-key-without-apikey-scope': async (c) => {
      const [wide, narrow] = [await makeEccKey(c), await makeEccKey(c, { scope: ['solution'] })]
      return !works(await c.list({ basic: wide })) && works(await c.list({ basic: narrow }))
    },
    'ecc-over-root-uri-accepted-on-key-creation': async (c) => {
      const key = await makeEccKey(c)
      const creates = await c.call('manager/createApiKey', creation, key.auth, { uri: '/' })
      return works(creates) && !(await signsEcc(c, key, { uri: '/' }))
    },
    'hmac-accepted-for-public-key-after-wrong-ecc-signature': async (c) => {
      const key = await makeEccKey(c)
      const hmac = { id: key.id, secret: key.secret }
      const before = works(await c.list({ hmac }))
      await signsEcc(c, key, { encode: (bytes) => flipped(bytes).toString('base64') })
      return !before && works(await c.list({ hmac }))
    },
    'second-wrong-ecc-signature-in-a-row-accepted': async (c) => {
      const key = await makeEccKey(c)
      const wrong = () => signsEcc(c, key, { encode: (bytes) => flipped(bytes).toString('base64') })
      return !(await wrong()) && (await wrong())
    },
  })
})
