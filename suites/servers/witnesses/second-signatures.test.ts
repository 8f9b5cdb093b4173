import { randomBytes } from 'node:crypto'
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

const otherBody = listingBody.replace('"id":7', '"id":8')
const wrong = { encode: () => 'A'.repeat(27).concat('=') }

/** Whether a body is accepted that the root key has signed. */
const signsBody = async (c: Client, body: string, connection?: number) =>
  works(await post(c, body, signedHeader(c.root, body, c.clock.now()), connection))

const paddedBody = (padding: string) => listingBody.replace('{}', `{}${padding}`)

describe('second set: signatures', () => {
  testWitnesses({
    'signature-once-accepted-fits-any-body': async (c) => {
      const header = signedHeader(c.root, listingBody, c.clock.now())
      await post(c, listingBody, header)
      const [start, version, time, , signature] = header.split(';')
      const nonce = randomBytes(12).toString('base64')
      return works(await post(c, otherBody, [start, version, time, nonce, signature].join(';')))
    },
    'signature-checked-once-per-key-and-millisecond': async (c) => {
      const wasRefused = !(await signs(c, wrong))
      await signs(c, {})
      const isAccepted = await signs(c, wrong)
      c.clock.advance(1)
      return wasRefused && isAccepted && !(await signs(c, wrong))
    },
    'later-signatures-on-connection-need-no-mac': async (c) => {
      await listOn(c, 1, { hmac: c.root })
      return works(await listOn(c, 1, { hmac: { id: c.root.id, secret: 'wrong' } }))
    },
    'keys-of-one-name-share-a-signing-key': async (c) => {
      const first = await makeKey(c)
      const second = await makeKey(c)
      return !(await signs(c, {}, second)) && signs(c, {}, { id: second.id, secret: first.secret })
    },
    'rest-of-longer-body-before-it-is-signed-too': async (c) => {
      await signsBody(c, paddedBody(' '), 3)
      return !(await signsBody(c, listingBody, 3)) && (await signsBody(c, listingBody, 4))
    },
    'body-composed-to-nfc-before-verification': async (c) => {
      const body = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'manager/createApiKey',
        params: { ...creation, name: 'cafe\u0301' },
      })
      return !(await signsBody(c, body))
    },
    'plus-in-nonce-read-as-space': async (c) => !(await signs(c, { nonce: 'ab+c' })),
    'version-of-ecc-signature-not-checked': async (c) =>
      works(await c.list((await makeEccKey(c)).auth, { version: '2' })),
    'ecc-signature-covers-first-4-kib': async (c) => {
      const { id, privateKey } = await makeEccKey(c)
      const body = paddedBody(' '.repeat(5000))
      return !works(await post(c, body, signedHeader({ id, privateKey }, body, c.clock.now())))
    },
    'parsed-public-keys-cached-by-first-line': async (c) => {
      await makeEccKey(c)
      return !works(await c.list((await makeEccKey(c)).auth))
    },
    'caller-found-by-public-key': async (c) => {
      const first = await makeEccKey(c, { scope: ['solution'] })
      const second = await makeKey(c, { scope: ['context'], publicKey: first.pem })
      return works(await c.list({ ecc: { id: second.id, privateKey: first.privateKey } }))
    },
    'public-key-created-by-token-takes-hmac': async (c) => {
      const { accessToken } = (await c.grant(['apikey'])).json.result
      const { pem } = await makeEccKey(c)
      const { result } = (await c.createKey({ ...creation, publicKey: pem }, { token: accessToken })).json
      return signs(c, {}, result)
    },
    'ninth-signing-key-pushes-first-one-out': async (c) => {
      const first = await makeKey(c)
      const worked = await signs(c, {}, first)
      for (let count = 0; count < 8; count++) await signs(c, {}, await makeKey(c))
      return worked && !(await signs(c, {}, first))
    },
  })
})
