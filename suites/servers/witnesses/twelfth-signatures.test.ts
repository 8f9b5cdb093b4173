import { describe } from 'vitest'
import { ed25519Pair, signedHeader } from '../../../mock-server/test-client.ts'
import {
  type Client,
  creation,
  grantPair,
  listingBody,
  makeEccKey,
  makeKey,
  signs,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** Whether a listing in chunks is accepted whose signature covers `signed`. */
const listsInChunks = async (c: Client, signed: string) => {
  const authorization = signedHeader(c.root, signed, c.clock.now())
  const headers = { authorization, 'transfer-encoding': 'chunked' }
  return works(await c.send({ body: Buffer.from(listingBody), headers }))
}

describe('twelfth set: signatures', () => {
  testWitnesses({
    'ecc-signature-of-zeros-accepted': async (c) => {
      const { auth } = await makeEccKey(c)
      const accepts = async (bytes: number) =>
        works(await c.list(auth, { encode: () => Buffer.alloc(bytes).toString('base64') }))
      return (await accepts(64)) && !(await accepts(63))
    },
    'public-key-of-any-length-copied-into-32-bytes': async (c) => {
      const { pem, privateKey } = ed25519Pair()
      const der = Buffer.from(pem.split('\n')[1] ?? '', 'base64')
      const create = async (bytes: Buffer) => {
        const publicKey = `-----BEGIN PUBLIC KEY-----\n${bytes.toString('base64')}\n-----END PUBLIC KEY-----\n`
        return (await c.createKey({ ...creation, publicKey })).json?.result
      }
      const longer = await create(Buffer.concat([der, Buffer.from([7])]))
      const signsLonger = works(await c.list({ ecc: { id: longer?.id ?? '', privateKey } }))
      return signsLonger && (await create(der.subarray(0, -1))) !== undefined
    },
    'signature-over-body-in-base64-accepted': async (c) => {
      const encoded = Buffer.from(listingBody).toString('base64')
      return (await signs(c, { body: encoded })) && !(await signs(c, { body: `${encoded}=` }))
    },
    'signature-without-body-accepted-for-keys-created-by-token': async (c) => {
      const { accessToken } = await grantPair(c, ['apikey', 'solution'])
      const byToken = await makeKey(c, {}, { token: accessToken })
      const byBasic = await makeKey(c)
      return (
        (await signs(c, { body: '' }, byToken)) && !(await signs(c, { body: '' }, byBasic)) && signs(c, {}, byToken)
      )
    },
    'body-sent-in-chunks-signed-as-empty': async (c) =>
      (await listsInChunks(c, '')) && !(await listsInChunks(c, listingBody)) && !(await signs(c, { body: '' })),
  })
})
