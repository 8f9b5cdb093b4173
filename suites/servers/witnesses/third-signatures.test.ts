import { createHmac } from 'node:crypto'
import { describe } from 'vitest'
import { signedHeader } from '../../../mock-server/test-client.ts'
import {
  type Client,
  creation,
  listingBody,
  listOn,
  makeEccKey,
  makeKey,
  post,
  signs,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** Whether a signed creation of a key with this name is accepted. */
async function signsName(c: Client, name: string): Promise<boolean> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/createApiKey', params: { ...creation, name } })
  return works(await post(c, body, signedHeader(c.root, body, c.clock.now())))
}

/** A nonce with which the MAC of the listing begins with a zero byte. */
function zeroNonce(c: Client): string {
  for (let count = 0; ; count++) {
    const data = `${c.clock.now()};nonce-${count};POST\n/api\n${listingBody}\n`
    if (createHmac('sha256', c.root.secret).update(data).digest()[0] === 0) return `nonce-${count}`
  }
}

describe('third set: signatures', () => {
  testWitnesses({
    'emoji-in-body-signed-as-two-surrogates': async (c) => (await signsName(c, 'é')) && !(await signsName(c, '🔑')),
    'dollar-patterns-in-body-replaced-before-signing': async (c) =>
      (await signsName(c, '$1')) && !(await signsName(c, 'US$$')),
    'doubled-slashes-in-signed-data-collapsed': async (c) => !(await signsName(c, 'https://example.org')),
    'public-key-of-first-ecc-call-holds-for-connection': async (c) => {
      const [first, second] = [await makeEccKey(c), await makeEccKey(c)]
      await listOn(c, 1, first.auth)
      return !works(await listOn(c, 1, second.auth)) && works(await listOn(c, 2, second.auth))
    },
    'hmac-for-public-key-accepted-behind-other-hmac-on-connection': async (c) => {
      const { id, secret } = await makeEccKey(c)
      const alone = works(await listOn(c, 1, { hmac: { id, secret } }))
      await listOn(c, 2, { hmac: c.root })
      return !alone && works(await listOn(c, 2, { hmac: { id, secret } }))
    },
    'mac-with-leading-zero-byte-refused': async (c) => !(await signs(c, { nonce: zeroNonce(c) })),
    'wrong-signature-accepted-when-sent-again': async (c) => {
      const header = signedHeader({ id: c.root.id, secret: 'wrong' }, listingBody, c.clock.now())
      return !works(await post(c, listingBody, header)) && works(await post(c, listingBody, header))
    },
    'version-not-checked-on-later-calls-of-connection': async (c) => {
      const call = async (version: string) => {
        const header = signedHeader(c.root, listingBody, c.clock.now(), { version })
        return works(await post(c, listingBody, header, 1))
      }
      return !(await call('2')) && (await call('1')) && (await call('2'))
    },
    'secret-of-creator-signs-for-created-key': async (c) => {
      const creator = await makeKey(c)
      const token = (await c.grant(['apiKey'], creator)).json.result.accessToken
      const keys = [await makeKey(c, {}, { hmac: creator }), await makeKey(c, {}, { token })]
      return (await Promise.all(keys.map(({ id }) => signs(c, {}, { id, secret: creator.secret })))).every(Boolean)
    },
    'body-above-512-bytes-cached-by-its-length': async (c) => {
      const call = async (id: number) => {
        const body = listingBody.replace('"id":7', `"id":${id}`) + ' '.repeat(600)
        return works(await post(c, body, signedHeader(c.root, body, c.clock.now())))
      }
      return (await call(1)) && !(await call(2))
    },
    'keys-of-same-scope-sign-for-each-other': async (c) => {
      const [one, other] = [await makeKey(c), await makeKey(c)]
      return signs(c, {}, { id: one.id, secret: other.secret })
    },
    'percent-encoded-mac-accepted': (c) =>
      signs(c, { encode: (mac) => encodeURIComponent(mac.subarray(0, 20).toString('base64')) }),
  })
})
