import { describe } from 'vitest'
import {
  accessWorks,
  createsKey,
  grantPair,
  inTurn,
  lineOfPairs,
  refreshPair,
  refreshWorks,
  testWitnesses,
} from '../test-witness.ts'

const hourMs = 3_600_000

describe('revocation', () => {
  testWitnesses({
    'old-access-token-works-for-two-seconds': async (c) => accessWorks(c, (await lineOfPairs(c, 1))[0]),
    'old-access-token-creates-keys': async (c) =>
      createsKey(c, { token: (await lineOfPairs(c, 1, ['apikey']))[0]?.accessToken ?? '' }),
    'third-refresh-keeps-old-refresh-token': async (c) => refreshWorks(c, (await lineOfPairs(c, 3))[2]),
    'only-last-revoked-access-token-remembered': async (c) => accessWorks(c, (await lineOfPairs(c, 2))[0]),
    'only-last-revoked-refresh-token-remembered': async (c) => refreshWorks(c, (await lineOfPairs(c, 2))[0]),
    'used-refresh-token-works-again-after-an-hour': async (c) => {
      const [first] = await lineOfPairs(c, 1)
      c.clock.advance(hourMs)
      return refreshWorks(c, first)
    },
    'revoked-access-token-works-again-after-an-hour': async (c) => {
      const [first] = await lineOfPairs(c, 1, ['solution', `expiresIn:${2 * hourMs}`])
      c.clock.advance(hourMs)
      return accessWorks(c, first)
    },
    'used-refresh-token-works-again-when-access-token-expired': async (c) => {
      const [first] = await lineOfPairs(c, 1, ['solution', 'expiresIn:1000'])
      c.clock.advance(1001)
      return refreshWorks(c, first)
    },
    'every-tenth-refresh-keeps-old-refresh-token': async (c) => {
      const reused = await inTurn(10, async () => {
        const pair = await grantPair(c)
        await refreshPair(c, pair)
        return refreshWorks(c, pair)
      })
      return reused.includes(true)
    },
    'refresh-after-access-expiry-keeps-old-refresh-token': async (c) => {
      const pair = await grantPair(c, ['solution', 'expiresIn:1000'])
      c.clock.advance(1001)
      await refreshPair(c, pair)
      return refreshWorks(c, pair)
    },
  })
})
