import { describe } from 'vitest'
import { accessWorks, grantPair, makeKey, refreshPair, refreshWorks, testWitnesses, works } from '../test-witness.ts'

const day = 24 * 3_600_000

describe('second set: lifetimes', () => {
  testWitnesses({
    'expires-in-counted-from-first-use': async (c) => {
      const pair = await grantPair(c, ['solution', 'expiresIn:5000'])
      c.clock.advance(20_000)
      return accessWorks(c, pair)
    },
    'expired-tokens-removed-every-ten-seconds': async (c) => {
      c.clock.set(Math.ceil(c.clock.now() / 10_000) * 10_000)
      const pair = await grantPair(c, ['solution', 'expiresIn:5000'])
      c.clock.advance(9999)
      return accessWorks(c, pair)
    },
    'used-access-token-works-thirty-seconds-longer': async (c) => {
      const pair = await grantPair(c, ['solution', 'expiresIn:5000'])
      await accessWorks(c, pair)
      c.clock.advance(20_000)
      return accessWorks(c, pair)
    },
    'address-behind-expires-in-resets-lifetime': async (c) => {
      const { accessTokenExpiry } = await grantPair(c, ['solution', 'expiresIn:5000', 'ipAddr:127.0.0.1'])
      return accessTokenExpiry - c.clock.now() !== 5000
    },
    'refreshed-short-access-token-ends-its-refresh-token': async (c) => {
      const pair = await refreshPair(c, await grantPair(c, ['solution', 'expiresIn:5000']))
      c.clock.advance(6000)
      return !(await refreshWorks(c, pair))
    },
    'created-key-unused-for-thirty-days-ends': async (c) => {
      const key = await makeKey(c)
      c.clock.advance(29 * day)
      const worked = works(await c.list({ basic: key }))
      c.clock.advance(31 * day)
      return worked && !works(await c.list({ basic: key }))
    },
    'grants-in-flight-share-expires-in': async (c) => {
      const long = grantPair(c, ['solution', 'expiresIn:60000'])
      const short = grantPair(c, ['solution', 'expiresIn:5000'])
      const [one, other] = await Promise.all([long, short])
      return one.accessTokenExpiry === other.accessTokenExpiry
    },
  })
})
