import { describe } from 'vitest'
import { ed25519Pair } from '../../../mock-server/test-client.ts'
import { makeEccKey, makeKey, signs, testWitnesses, works } from '../test-witness.ts'

describe('tenth set: ECC', () => {
  testWitnesses({
    'ecc-signature-of-data-in-base64-accepted': async (c) => {
      const { auth } = await makeEccKey(c)
      const signsIn = async (encoding: 'base64' | 'hex') =>
        works(await c.list(auth, { data: (text) => Buffer.from(text).toString(encoding) }))
      return (await signsIn('base64')) && !(await signsIn('hex')) && works(await c.list(auth))
    },
    'ecc-over-timestamp-in-seconds-accepted': async (c) => {
      const { auth } = await makeEccKey(c)
      const inSeconds = { data: (text: string) => text.replace(/^([0-9]+)[0-9]{3};/, '$1;') }
      const inTenths = { data: (text: string) => text.replace(/^([0-9]+)[0-9]{2};/, '$1;') }
      return (
        works(await c.list(auth, inSeconds)) && !works(await c.list(auth, inTenths)) && !(await signs(c, inSeconds))
      )
    },
    'public-key-gets-grant-with-empty-secret': async (c) => {
      const { id, secret } = await makeEccKey(c)
      const plain = await makeKey(c)
      const grants = async (key: { id: string; secret: string }) => works(await c.grant(['solution'], key))
      return (
        (await grants({ id, secret: '' })) &&
        !(await grants({ id, secret })) &&
        !(await grants({ ...plain, secret: '' }))
      )
    },
    'hmac-with-empty-secret-accepted-for-public-key': async (c) => {
      const { id, secret } = await makeEccKey(c)
      const plain = await makeKey(c)
      return (
        (await signs(c, {}, { id, secret: '' })) &&
        !(await signs(c, {}, { id, secret })) &&
        !(await signs(c, {}, { ...plain, secret: '' }))
      )
    },
    'creations-in-flight-share-a-public-key': async (c) => {
      const [first, second] = await Promise.all([makeEccKey(c), makeEccKey(c)])
      const crossed = { ecc: { id: first.id, privateKey: second.privateKey } }
      return !works(await c.list(first.auth)) && works(await c.list(crossed)) && works(await c.list(second.auth))
    },
    'label-of-pem-text-ignored': async (c) => {
      const { pem, privateKey } = ed25519Pair()
      const publicKey = pem.replaceAll('PUBLIC KEY', 'CERTIFICATE')
      const { id = '' } = await makeKey(c, { publicKey })
      const without = await makeKey(c, { publicKey: pem.replaceAll('-----', '') })
      return works(await c.list({ ecc: { id, privateKey } })) && without.id === undefined
    },
  })
})
