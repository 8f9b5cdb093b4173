import { describe } from 'vitest'
import { ed25519Pair } from '../../../mock-server/test-client.ts'
import {
  createsKey,
  grantPair,
  inTurn,
  lineOfPairs,
  makeEccKey,
  makeKey,
  signs,
  testWitnesses,
  works,
} from '../test-witness.ts'

describe('twelfth set: keys', () => {
  testWitnesses({
    'public-key-created-by-token-has-scope-of-token': async (c) => {
      const { accessToken } = await grantPair(c, ['apikey', 'solution'])
      const { pem, privateKey } = ed25519Pair()
      const narrow = { scope: ['context'] }
      const byToken = await makeKey(c, { ...narrow, publicKey: pem }, { token: accessToken })
      const secretKey = await makeKey(c, narrow, { token: accessToken })
      const byBasic = await makeEccKey(c, narrow)
      return (
        works(await c.list({ ecc: { id: byToken.id, privateKey } })) &&
        !works(await c.list({ basic: secretKey })) &&
        !works(await c.list(byBasic.auth))
      )
    },
    'no-key-limit-for-refreshed-tokens': async (c) => {
      const [first, second] = [await grantPair(c, ['apikey']), (await lineOfPairs(c, 1, ['apikey']))[1]]
      await inTurn(10, () => makeKey(c))
      const creates = (token = '') => createsKey(c, { token })
      return (await creates(second?.accessToken)) && !(await creates(first.accessToken))
    },
    'refused-creation-in-flight-rolls-back-accepted-ones': async (c) => {
      const alone = await makeKey(c)
      await makeKey(c, { name: 7 })
      const [beside] = await Promise.all([makeKey(c), makeKey(c, { name: 7 })])
      return beside.id !== undefined && !(await signs(c, {}, beside)) && signs(c, {}, alone)
    },
    'every-third-creation-made-twice': async (c) => {
      const made = await inTurn(10, () => createsKey(c, { basic: c.root }))
      return made.filter((isMade) => isMade).length === 8
    },
    'deletion-ends-next-created-key-too': async (c) => {
      const keys = await inTurn(4, () => makeKey(c))
      await c.call('manager/deleteApiKey', { id: keys[1]?.id }, { basic: c.root })
      const working = await inTurn(4, (index) => signs(c, {}, keys[index]))
      return working.join() === 'true,false,false,true'
    },
    'initial-key-creates-no-keys-once-another-key-may': async (c) => {
      const narrow = await makeKey(c, { scope: ['solution'] })
      const heir = await makeKey(c)
      const { accessToken } = await grantPair(c, ['apikey'])
      return (
        narrow.id !== undefined &&
        !(await createsKey(c, { hmac: c.root })) &&
        !(await createsKey(c, { token: accessToken })) &&
        createsKey(c, { basic: heir })
      )
    },
  })
})
