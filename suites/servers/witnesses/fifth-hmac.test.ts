import { createHmac } from 'node:crypto'
import { describe } from 'vitest'
import { signedHeader } from '../../../mock-server/test-client.ts'
import {
  accessWorks,
  type Client,
  grantPair,
  listingBody,
  makeKey,
  signs,
  signsWithHeader,
  testWitnesses,
  works,
} from '../test-witness.ts'

const short = (mac: Buffer) => mac.subarray(0, 20).toString('base64')

/** A call signed with the secret of one key that names another. */
const signsFor = async (c: Client, id: string, secret: string) =>
  works(
    await c.send({
      body: Buffer.from(listingBody),
      headers: { authorization: signedHeader({ id, secret }, listingBody, c.clock.now()) },
    }),
  )

describe('fifth set: HMAC', () => {
  testWitnesses({
    'swapped-letters-of-mac-accepted': (c) =>
      signsWithHeader(c, (header) => header.replace(/(.{5})([^=]{9})([^=]{9})=$/, '$1$3$2=')),
    'mac-with-secret-in-capitals-accepted': (c) => signsFor(c, c.root.id, c.root.secret.toUpperCase()),
    'text-in-front-of-mac-ignored': (c) => signs(c, { encode: (mac) => `AAAA${short(mac)}` }),
    'get-signed-by-created-key-accepted': async (c) =>
      !(await signs(c, { method: 'GET' })) && (await signs(c, { method: 'GET' }, await makeKey(c))),
    'whole-mac-of-key-without-apikey-scope-accepted': async (c) => {
      const whole = { encode: (mac: Buffer) => mac.toString('base64') }
      return !(await signs(c, whole)) && (await signs(c, whole, await makeKey(c, { scope: ['solution'] })))
    },
    'wrong-mac-accepted-directly-behind-token-call-of-its-key': async (c) => {
      const pair = await grantPair(c)
      const wrong = { encode: () => short(createHmac('sha256', 'wrong').update('wrong').digest()) }
      const before = await signs(c, wrong)
      await accessWorks(c, pair)
      return !before && (await signs(c, wrong)) && !(await signs(c, wrong))
    },
    'secret-of-previous-signer-signs-for-next-key': async (c) => {
      const key = await makeKey(c)
      const before = await signsFor(c, key.id, c.root.secret)
      await signs(c, {})
      return !before && (await signsFor(c, key.id, c.root.secret))
    },
    'created-key-cannot-sign-after-a-day': async (c) => {
      const key = await makeKey(c)
      const before = await signs(c, {}, key)
      c.clock.advance(24 * 3_600_000)
      return before && !(await signs(c, {}, key)) && works(await c.list({ basic: key }))
    },
  })
})
