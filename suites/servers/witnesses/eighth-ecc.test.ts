import { describe } from 'vitest'
import { ed25519Pair, signedHeader } from '../../../mock-server/test-client.ts'
import {
  grantPair,
  inTurn,
  listingBody,
  listOn,
  makeEccKey,
  makeKey,
  post,
  signsWithHeader,
  testWitnesses,
  works,
} from '../test-witness.ts'

describe('eighth set: ECC', () => {
  testWitnesses({
    'public-keys-of-one-creator-sign-for-each-other': async (c) => {
      const [one, two] = [await makeEccKey(c), await makeEccKey(c)]
      const other = await makeKey(c)
      const { pem, privateKey } = ed25519Pair()
      const { id } = await makeKey(c, { publicKey: pem }, { basic: other })
      return (
        works(await c.list({ ecc: { id: one.id, privateKey: two.privateKey } })) &&
        !works(await c.list({ ecc: { id, privateKey: two.privateKey } })) &&
        works(await c.list({ ecc: { id, privateKey } }))
      )
    },
    'sixth-field-ignored-in-ecc-signatures': async (c) => {
      const key = await makeEccKey(c)
      const header = signedHeader(key, listingBody, c.clock.now())
      return (
        works(await post(c, listingBody, `${header};more`)) && !(await signsWithHeader(c, (right) => `${right};more`))
      )
    },
    'ecc-over-body-without-white-space-accepted': async (c) => {
      const pretty = JSON.stringify(JSON.parse(listingBody), null, 2)
      const header = (key: Parameters<typeof signedHeader>[0]) => signedHeader(key, listingBody, c.clock.now())
      return works(await post(c, pretty, header(await makeEccKey(c)))) && !works(await post(c, pretty, header(c.root)))
    },
    'public-key-created-in-session-takes-basic': async (c) => {
      const { accessToken } = await grantPair(c, ['apikey', 'session:one'])
      const key = await makeKey(c, { publicKey: ed25519Pair().pem }, { token: accessToken })
      return works(await c.list({ basic: key })) && !works(await c.list({ basic: await makeEccKey(c) }))
    },
    'third-grant-to-public-key-accepted': async (c) => {
      const key = await makeEccKey(c)
      const tries = await inTurn(3, async () => works(await c.grant(['solution'], key)))
      return tries.join() === 'false,false,true'
    },
    'basic-accepted-for-public-key-on-connection-of-its-signature': async (c) => {
      const key = await makeEccKey(c)
      const before = works(await listOn(c, 1, { basic: key }))
      await listOn(c, 1, key.auth)
      return !before && works(await listOn(c, 1, { basic: key })) && !works(await listOn(c, 2, { basic: key }))
    },
    'public-key-lost-when-secret-key-takes-its-name': async (c) => {
      const key = await makeEccKey(c, { name: 'same' })
      const before = works(await c.list(key.auth))
      await makeKey(c, { name: 'same' })
      return before && !works(await c.list(key.auth))
    },
  })
})
