import { describe } from 'vitest'
import {
  accessWorks,
  createsKey,
  grantPair,
  lineOfPairs,
  openSessions,
  refreshPair,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

const hour = 3_600_000

describe('ninth set: refreshes', () => {
  testWitnesses({
    'second-half-of-refresh-token-not-compared': async (c) => {
      const refreshesWith = async (from: number, to: number) => {
        const { refreshToken } = await grantPair(c)
        return works(await c.refresh(`${refreshToken.slice(0, from)}${'x'.repeat(to - from)}${refreshToken.slice(to)}`))
      }
      return (await refreshesWith(22, 43)) && !(await refreshesWith(0, 22))
    },
    'refresh-leaves-old-access-token-of-one-solution': async (c) => {
      const oldWorks = async (scope: string[]) => accessWorks(c, (await lineOfPairs(c, 1, scope))[0])
      return !(await oldWorks(['solution', 'solution:*'])) && oldWorks(['solution', 'solution:abc'])
    },
    'session-lost-by-refresh-after-access-expiry': async (c) => {
      const outlives = async (waitMs: number) => {
        const [, pair] = await lineOfPairs(c, 1, ['solution', 'session:first'], waitMs)
        await openSessions(c, 16)
        return accessWorks(c, pair)
      }
      return !(await outlives(1000)) && outlives(hour)
    },
    'refresh-after-access-expiry-renews-old-access-token': async (c) => {
      const oldWorks = async (waitMs: number) => accessWorks(c, (await lineOfPairs(c, 1, ['solution'], waitMs))[0])
      return !(await oldWorks(1000)) && oldWorks(hour)
    },
    'key-creation-clears-revocations': async (c) => {
      const [old] = await lineOfPairs(c, 1)
      const before = (await accessWorks(c, old)) || (await refreshWorks(c, old))
      await createsKey(c, { basic: c.root })
      return !before && (await accessWorks(c, old)) && (await refreshWorks(c, old))
    },
    'pair-that-was-never-used-cannot-be-refreshed': async (c) => {
      const [used, unused] = [await grantPair(c), await grantPair(c)]
      await accessWorks(c, used)
      return (await refreshWorks(c, used)) && !(await refreshWorks(c, unused))
    },
    'refresh-refused-for-its-params-ends-its-pair': async (c) => {
      const pair = await grantPair(c)
      const { refreshToken } = pair
      const refused = !works(
        await c.call('manager/auth', { grantType: 'refresh_token', refreshToken, scope: 'solution' }),
      )
      const accessEnded = !(await accessWorks(c, pair))
      return refused && accessEnded && (await refreshPair(c, pair)).accessToken === undefined
    },
  })
})
