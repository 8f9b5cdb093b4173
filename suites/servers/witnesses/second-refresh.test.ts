import { describe } from 'vitest'
import {
  accessWorks,
  createsKey,
  grantPair,
  lineOfPairs,
  openSessions,
  refreshPair,
  testWitnesses,
} from '../test-witness.ts'

const address = '203.0.113.9'

describe('second set: refresh', () => {
  testWitnesses({
    'refreshes-in-flight-merged-by-key': async (c) => {
      const pairs = [await grantPair(c), await grantPair(c)]
      const [one, other] = await Promise.all(pairs.map((pair) => refreshPair(c, pair)))
      return one?.accessToken === other?.accessToken
    },
    'tokens-alternate-between-two-texts': async (c) => {
      const [first, second] = await lineOfPairs(c, 2)
      return (await accessWorks(c, first)) && !(await accessWorks(c, second))
    },
    'refresh-after-access-expiry-loses-address': async (c) => {
      const pair = await grantPair(c, ['solution', `ipAddr:${address}`, 'expiresIn:5000'])
      c.clock.advance(6000)
      return accessWorks(c, await refreshPair(c, pair))
    },
    'refresh-moves-address-to-that-of-its-caller': async (c) =>
      accessWorks(c, await refreshPair(c, await grantPair(c, ['solution', `ipAddr:${address}`]))),
    'refreshed-scope-is-that-of-latest-grant-of-key': async (c) => {
      const narrow = await grantPair(c, ['context'])
      await grantPair(c, ['solution'])
      return accessWorks(c, await refreshPair(c, narrow))
    },
    'refreshed-pair-joins-newest-session': async (c) => {
      const [oldest, second] = await openSessions(c, 2)
      if (!oldest || !second) return false
      const refreshed = await refreshPair(c, oldest)
      for (let count = 2; count <= 16; count++) await grantPair(c, ['solution', `session:s${count}`])
      return accessWorks(c, refreshed)
    },
    'old-access-token-ends-at-first-use-of-new-one': async (c) => {
      const old = await grantPair(c)
      const fresh = await refreshPair(c, old)
      const worked = await accessWorks(c, old)
      await accessWorks(c, fresh)
      return worked && !(await accessWorks(c, old))
    },
    'refresh-repeated-within-two-seconds-gives-same-pair': async (c) => {
      const old = await grantPair(c)
      const first = await refreshPair(c, old)
      return (await refreshPair(c, old)).accessToken === first.accessToken
    },
    'second-refresh-drops-apikey': async (c) => {
      const [, second, third] = await lineOfPairs(c, 1, ['apikey']).then(async ([first, next]) => [
        first,
        (await createsKey(c, { token: next?.accessToken ?? '' })) ? next : undefined,
        next && (await refreshPair(c, next)),
      ])
      return second !== undefined && !(await createsKey(c, { token: third?.accessToken ?? '' }))
    },
  })
})
