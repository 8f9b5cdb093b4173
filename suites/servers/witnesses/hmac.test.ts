import { createHmac } from 'node:crypto'
import { describe } from 'vitest'
import type { Signing } from '../../../mock-server/test-client.ts'
import { inTurn, makeEccKey, makeKey, signs, testWitnesses } from '../test-witness.ts'

const rightText = (mac: Buffer) => mac.subarray(0, 20).toString('base64')
const wrong: Signing = { encode: () => Buffer.alloc(20).toString('base64') }

/** A signature made from the data to sign by something else than HMAC-SHA256 with the secret. */
function instead(make: (data: string) => Buffer): Signing {
  let signed = ''
  return {
    data: (right) => {
      signed = right
      return right
    },
    encode: () => rightText(make(signed)),
  }
}

describe('hmac', () => {
  testWitnesses({
    'text-behind-mac-ignored': (c) => signs(c, { encode: (mac) => `${rightText(mac)}AAAA` }),
    'sixteen-byte-mac-accepted': (c) => signs(c, { encode: (mac) => mac.subarray(0, 16).toString('base64') }),
    'empty-mac-accepted': (c) => signs(c, { encode: () => '' }),
    'letter-case-of-mac-ignored': (c) => signs(c, { encode: (mac) => rightText(mac).toLowerCase() }),
    'mac-decoded-leniently': (c) =>
      signs(c, { encode: (mac) => `${rightText(mac).slice(0, 9)}.${rightText(mac).slice(9)}` }),
    'plus-in-mac-read-as-space': async (c) => (await inTurn(40, () => signs(c, {}))).includes(false),
    'mac-wrong-at-block-boundary': async (c) =>
      (await inTurn(64, (index) => signs(c, { nonce: 'n'.repeat(index + 1) }))).includes(false),
    'hmac-sha1-accepted': (c) =>
      signs(
        c,
        instead((data) => createHmac('sha1', c.root.secret).update(data).digest()),
      ),
    'mac-with-hex-decoded-secret-accepted': (c) =>
      signs(
        c,
        instead((data) => createHmac('sha256', Buffer.from(c.root.secret, 'hex')).update(data).digest()),
      ),
    'mac-with-key-id-as-secret-accepted': (c) => signs(c, {}, { id: c.root.id, secret: c.root.id }),
    'mac-of-key-with-same-name-accepted': async (c) => {
      const [one, other] = [await makeKey(c), await makeKey(c)]
      return signs(c, {}, { id: one.id, secret: other.secret })
    },
    'mac-once-right-stays-right': async (c) => {
      let text = ''
      const keep = (mac: Buffer) => {
        text = rightText(mac)
        return text
      }
      await signs(c, { encode: keep })
      return signs(c, { encode: () => text })
    },
    'mac-checked-once-per-key-and-timestamp': async (c) => {
      await signs(c, {})
      return signs(c, wrong)
    },
    'every-tenth-mac-not-checked': async (c) => (await inTurn(10, () => signs(c, wrong))).includes(true),
    'mac-not-checked-after-twenty-right-ones': async (c) => {
      await inTurn(20, () => signs(c, {}))
      return signs(c, wrong)
    },
    'key-created-by-ecc-call-cannot-sign': async (c) => {
      const parent = await makeEccKey(c)
      return !(await signs(c, {}, await makeKey(c, {}, parent.auth)))
    },
  })
})
