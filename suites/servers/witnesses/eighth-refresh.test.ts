import { describe } from 'vitest'
import { accessWorks, grantPair, refreshPair, refreshWorks, testWitnesses, works } from '../test-witness.ts'

describe('eighth set: refreshes', () => {
  testWitnesses({
    'refresh-token-in-a-list-accepted': async (c) => {
      const { refreshToken } = await grantPair(c)
      return works(await c.call('manager/auth', { grantType: 'refresh_token', refreshToken: [refreshToken] }))
    },
    'refresh-answers-with-its-tokens-swapped': async (c) => {
      const pair = await refreshPair(c, await grantPair(c))
      return !(await accessWorks(c, pair)) && (await accessWorks(c, { ...pair, accessToken: pair.refreshToken }))
    },
    'refreshed-scope-reported-as-one-text': async (c) => {
      const pair = await grantPair(c, ['solution', 'context'])
      const { scope } = await refreshPair(c, pair)
      return Array.isArray(pair.scope) && (scope as unknown) === 'solution context'
    },
    'refresh-leaves-old-refresh-token-with-expires-in': async (c) => {
      const [usual, short] = [await grantPair(c), await grantPair(c, ['solution', 'expiresIn:5000'])]
      await refreshPair(c, usual)
      await refreshPair(c, short)
      return !(await refreshWorks(c, usual)) && !(await accessWorks(c, short)) && (await refreshWorks(c, short))
    },
    'refresh-in-session-loses-last-scope': async (c) => {
      const refreshed = async (scope: string[]) => accessWorks(c, await refreshPair(c, await grantPair(c, scope)))
      const areas = ['context', 'solution']
      return (await refreshed(areas)) && !(await refreshed([...areas, 'session:one']))
    },
    'refreshed-access-token-ends-with-the-old-one': async (c) => {
      const old = await grantPair(c, ['solution', 'expiresIn:5000'])
      c.clock.advance(4000)
      const pair = await refreshPair(c, old)
      const before = await accessWorks(c, pair)
      c.clock.advance(1000)
      return before && pair.accessTokenExpiry > c.clock.now() && !(await accessWorks(c, pair))
    },
  })
})
