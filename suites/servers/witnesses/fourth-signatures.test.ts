import { describe } from 'vitest'
import { signedHeader } from '../../../mock-server/test-client.ts'
import {
  type Client,
  creation,
  inTurn,
  listingBody,
  listOn,
  makeEccKey,
  makeKey,
  post,
  signs,
  signsWithHeader,
  testWitnesses,
  works,
} from '../test-witness.ts'

type Signer = Parameters<typeof signedHeader>[0]

const zeros = { encode: () => Buffer.alloc(64).toString('base64') }
const lists = async (c: Client, header: string, more = {}) =>
  works(await c.send({ body: Buffer.from(listingBody), headers: { authorization: header, ...more } }))
const headerOf = (c: Client, signer: Signer, but = {}) => signedHeader(signer, listingBody, c.clock.now(), but)

/** A right header whose signature fits the pattern. */
function headerLike(c: Client, signer: Signer, pattern: RegExp): string {
  for (;;) {
    const header = headerOf(c, signer)
    if (pattern.test(header.split(';').at(-1) ?? '')) return header
  }
}

describe('fourth set: signatures', () => {
  testWitnesses({
    'ecc-signature-not-checked-for-body-signed-before': async (c) => {
      const key = await makeEccKey(c)
      const before = await lists(c, headerOf(c, key, zeros))
      await lists(c, headerOf(c, key))
      return !before && (await lists(c, headerOf(c, key, zeros)))
    },
    'public-keys-filed-in-eight-places-by-their-id': async (c) => {
      const keys = await inTurn(9, () => makeEccKey(c))
      const taken = await inTurn(9, async (at) => works(await c.list(keys[at]?.auth ?? { none: true })))
      return taken.includes(false)
    },
    'ecc-signature-accepted-in-flight-with-a-right-one': async (c) => {
      const key = await makeEccKey(c)
      const alone = await lists(c, headerOf(c, key, zeros))
      const [, wrong] = await Promise.all([lists(c, headerOf(c, key)), lists(c, headerOf(c, key, zeros))])
      return !alone && wrong === true && !(await lists(c, headerOf(c, key, zeros)))
    },
    'mac-that-begins-with-a-sign-refused': async (c) =>
      (await lists(c, headerLike(c, c.root, /^[^+/]/))) && !(await lists(c, headerLike(c, c.root, /^[+/]/))),
    'ecc-signature-with-doubled-slash-refused': async (c) => {
      const key = await makeEccKey(c)
      return (await lists(c, headerLike(c, key, /^(?!.*\/\/)/))) && !(await lists(c, headerLike(c, key, /\/\//)))
    },
    'signature-fields-behind-basic-word-accepted': (c) =>
      signsWithHeader(c, (header) => header.replace('svc-hmac-sha256', 'Basic')),
    'percent-escapes-in-body-decoded-before-verification': async (c) => {
      const body = (name: string) =>
        JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/createApiKey', params: { ...creation, name } })
      return works(await post(c, body('%41'), signedHeader(c.root, body('A'), c.clock.now())))
    },
    'public-key-takes-hmac-for-ten-seconds': async (c) => {
      const { id, secret } = await makeEccKey(c)
      const young = await signs(c, {}, { id, secret })
      c.clock.advance(10_000)
      return young && !(await signs(c, {}, { id, secret }))
    },
    'key-created-by-ecc-call-takes-signatures-of-its-creator': async (c) => {
      const creator = await makeEccKey(c)
      const [byEcc, byBasic] = [await makeKey(c, {}, creator.auth), await makeKey(c)]
      const { privateKey } = creator
      return (
        (await lists(c, headerOf(c, { id: byEcc.id, privateKey }))) &&
        !(await lists(c, headerOf(c, { id: byBasic.id, privateKey })))
      )
    },
    'blanks-behind-key-id-ignored-in-signatures': (c) => signs(c, {}, { ...c.root, id: `${c.root.id} ` }),
    'secret-of-first-signer-holds-for-its-connection': async (c) => {
      const key = await makeKey(c)
      await listOn(c, 1, { hmac: c.root })
      return (
        works(await listOn(c, 1, { hmac: { id: key.id, secret: c.root.secret } })) &&
        works(await listOn(c, 2, { hmac: key }))
      )
    },
  })
})
