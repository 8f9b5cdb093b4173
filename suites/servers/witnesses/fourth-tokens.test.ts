import { describe } from 'vitest'
import {
  accessWorks,
  createsKey,
  grantPair,
  lineOfPairs,
  makeKey,
  refreshPair,
  testWitnesses,
  works,
} from '../test-witness.ts'

const elsewhere = '198.51.100.9'

describe('fourth set: tokens', () => {
  testWitnesses({
    'expires-in-cut-to-six-digits': async (c) => {
      const { accessTokenExpiry } = await grantPair(c, ['solution', 'expiresIn:1500000'])
      return accessTokenExpiry === c.clock.now() + 150_000
    },
    'expires-in-below-ten-thousand-taken-for-seconds': async (c) => {
      const { accessTokenExpiry } = await grantPair(c, ['solution', 'expiresIn:9000'])
      return accessTokenExpiry === c.clock.now() + 9_000_000
    },
    'address-not-checked-with-session-and-expires-in': async (c) => {
      const bound = (...more: string[]) => grantPair(c, ['solution', `ipAddr:${elsewhere}`, ...more])
      return (
        !(await accessWorks(c, await bound('session:one'))) &&
        !(await accessWorks(c, await bound('expiresIn:50000'))) &&
        (await accessWorks(c, await bound('session:one', 'expiresIn:50000')))
      )
    },
    'address-forgotten-once-its-token-created-a-key': async (c) => {
      const pair = await grantPair(c, ['solution', 'apikey', 'ipAddr:127.0.0.1'])
      const before = await accessWorks(c, pair, elsewhere)
      await createsKey(c, { token: pair.accessToken })
      return !before && (await accessWorks(c, pair, elsewhere))
    },
    'access-token-of-third-pair-refreshes': async (c) => {
      const [, second, third] = await lineOfPairs(c, 2)
      return (
        !works(await c.refresh(second?.accessToken ?? '')) &&
        works(await c.refresh(third?.accessToken ?? '')) &&
        !works(await c.refresh(third?.accessToken ?? ''))
      )
    },
    'refresh-token-of-session-with-address-authorizes': async (c) => {
      const opens = async (...scope: string[]) =>
        works(await c.list({ token: (await grantPair(c, ['solution', ...scope])).refreshToken }))
      return !(await opens('session:one')) && (await opens('session:one', 'ipAddr:127.0.0.1'))
    },
    'pairs-of-same-key-and-millisecond-share-scope': async (c) => {
      const narrow = await grantPair(c, ['context'])
      const before = await accessWorks(c, narrow)
      await grantPair(c, ['solution'])
      return !before && (await accessWorks(c, narrow))
    },
    'refused-key-creation-ends-its-token': async (c) => {
      const pair = await grantPair(c)
      const before = await accessWorks(c, pair)
      await createsKey(c, { token: pair.accessToken })
      return before && !(await accessWorks(c, pair))
    },
    'refused-call-keeps-its-token-alive': async (c) => {
      const pair = await grantPair(c, ['solution', 'expiresIn:60000'])
      c.clock.advance(50_000)
      await createsKey(c, { token: pair.accessToken })
      c.clock.advance(50_000)
      return accessWorks(c, pair)
    },
    'access-tokens-of-key-made-by-created-key-never-expire': async (c) => {
      const child = await makeKey(c)
      const grandchild = await makeKey(c, {}, { basic: child })
      const pairs = [await grantPair(c, ['solution'], child), await grantPair(c, ['solution'], grandchild)]
      c.clock.advance(24 * 3_600_000)
      return !(await accessWorks(c, pairs[0])) && (await accessWorks(c, pairs[1]))
    },
    'accepted-listing-cached-by-token-for-a-minute': async (c) => {
      const pair = await grantPair(c)
      await accessWorks(c, pair)
      await refreshPair(c, pair)
      const soon = await accessWorks(c, pair)
      c.clock.advance(60_000)
      return soon && !(await accessWorks(c, pair))
    },
  })
})
