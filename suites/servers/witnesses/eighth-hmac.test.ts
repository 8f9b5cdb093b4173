import { createHmac } from 'node:crypto'
import { describe } from 'vitest'
import { signedHeader } from '../../../mock-server/test-client.ts'
import {
  type Client,
  listingBody,
  makeKey,
  post,
  signs,
  signsWithHeader,
  testWitnesses,
  works,
} from '../test-witness.ts'

const headerFor = (c: Client, body: string) => signedHeader(c.root, body, c.clock.now())

/** A nonce with which the MAC of a listing begins with a zero byte. */
function nonceForZero(c: Client): string {
  for (let count = 0; ; count++) {
    const data = `${c.clock.now()};nonce${count};POST\n/api\n${listingBody}\n`
    if (createHmac('sha256', c.root.secret).update(data).digest()[0] === 0) return `nonce${count}`
  }
}

describe('eighth set: HMAC', () => {
  testWitnesses({
    'last-five-bytes-of-mac-not-compared': (c) =>
      signs(c, { encode: (mac) => Buffer.concat([mac.subarray(0, 15), Buffer.alloc(5)]).toString('base64') }),
    'order-of-members-in-signed-body-ignored': async (c) => {
      const sorted = JSON.stringify({ id: 7, jsonrpc: '2.0', method: 'solution/listSolutions', params: {} })
      return works(await post(c, listingBody, headerFor(c, sorted)))
    },
    'header-without-version-accepted': (c) => signsWithHeader(c, (header) => header.replace(';1;', ';')),
    'absolute-uri-accepted': async (c) => {
      const authorization = signedHeader(c.root, listingBody, c.clock.now(), { uri: 'http://localhost:8080/api' })
      return works(await c.send({ body: Buffer.from(listingBody), headers: { host: 'localhost:8080', authorization } }))
    },
    'method-in-lower-case-signed-by-narrow-key-accepted': async (c) =>
      !(await signs(c, { method: 'post' })) &&
      (await signs(c, { method: 'post' }, await makeKey(c, { scope: ['solution'] }))),
    'mac-compared-up-to-its-first-zero-byte': (c) =>
      signs(c, { nonce: nonceForZero(c), encode: () => Buffer.alloc(20).toString('base64') }),
    'created-key-cannot-sign-in-its-first-second': async (c) => {
      const key = await makeKey(c)
      const atOnce = await signs(c, {}, key)
      c.clock.advance(1000)
      return !atOnce && works(await c.list({ basic: key })) && (await signs(c, {}, key))
    },
  })
})
