import { describe } from 'vitest'
import { accessWorks, type Client, grantPair, lineOfPairs, makeKey, testWitnesses, works } from '../test-witness.ts'

const minute = 60_000

/** How long the access token of a new grant is said to live. */
const lifeOf = async (c: Client, scope: string[]) => (await grantPair(c, scope)).accessTokenExpiry - c.clock.now()

describe('tenth set: tokens', () => {
  testWitnesses({
    'refresh-expiry-as-text-in-refreshed-pair': async (c) => {
      const [first, second] = await lineOfPairs(c, 1)
      return typeof first?.refreshTokenExpiry === 'number' && typeof second?.refreshTokenExpiry === 'string'
    },
    'access-token-of-session-refreshes': async (c) => {
      const refreshes = async (scope: string[]) => works(await c.refresh((await grantPair(c, scope)).accessToken))
      return (await refreshes(['solution', 'session:one'])) && !(await refreshes(['solution']))
    },
    'idle-access-token-ends-after-a-minute': async (c) => {
      const [busy, idle] = [await grantPair(c), await grantPair(c)]
      c.clock.advance(40_000)
      const before = await accessWorks(c, busy)
      c.clock.advance(40_000)
      return before && (await accessWorks(c, busy)) && !(await accessWorks(c, idle))
    },
    'access-expiry-kept-in-single-precision': async (c) => {
      const steps = 2 ** 17
      c.clock.advance(steps - (c.clock.now() % steps) + 2000)
      const early = !(await accessWorks(c, await grantPair(c, ['solution', 'expiresIn:5000'])))
      c.clock.advance(100_000)
      const late = await grantPair(c, ['solution', 'expiresIn:5000'])
      c.clock.advance(5000)
      return early && accessWorks(c, late)
    },
    'expires-in-counted-from-clock-read-every-ten-seconds': async (c) => {
      c.clock.advance(minute)
      const scope = ['solution', 'expiresIn:30000']
      const first = await lifeOf(c, scope)
      c.clock.advance(9000)
      const second = await lifeOf(c, scope)
      c.clock.advance(1000)
      return first === 30_000 && second === 21_000 && (await lifeOf(c, scope)) === 30_000
    },
    'expires-in-ignored-beside-one-solution': async (c) => {
      const short = ['solution', 'expiresIn:5000']
      return (
        (await lifeOf(c, [...short, 'solution:*'])) === 5000 &&
        (await lifeOf(c, [...short, 'solution:abc'])) === 15 * minute
      )
    },
    'refresh-token-with-address-ends-with-access-token': async (c) => {
      const refreshes = async (scope: string[], waitMs: number) =>
        (await lineOfPairs(c, 1, scope, waitMs))[1]?.accessToken !== undefined
      const bound = ['solution', 'ipAddr:127.0.0.1']
      return (
        (await refreshes(['solution'], 20 * minute)) &&
        (await refreshes(bound, minute)) &&
        !(await refreshes(bound, 20 * minute))
      )
    },
    'grant-ends-earlier-pair-of-same-key-and-address': async (c) => {
      const scope = ['solution', 'ipAddr:127.0.0.1']
      const [first, plain] = [await grantPair(c, scope), await grantPair(c)]
      await grantPair(c, scope, await makeKey(c))
      const before = await accessWorks(c, first)
      const second = await grantPair(c, ['context', ...scope])
      return before && !(await accessWorks(c, first)) && (await accessWorks(c, second)) && (await accessWorks(c, plain))
    },
  })
})
