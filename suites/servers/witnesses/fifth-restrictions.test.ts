import { describe } from 'vitest'
import { accessWorks, type Client, grantPair, testWitnesses } from '../test-witness.ts'

const hour = 3_600_000

const grantWorks = async (c: Client, ...scope: string[]) => accessWorks(c, await grantPair(c, ['solution', ...scope]))

/** Whether a grant with this scope works longer than the minute that it asks for. */
async function outlives(c: Client, scope: string[]): Promise<boolean> {
  const pair = await grantPair(c, scope)
  c.clock.advance(60_000)
  return accessWorks(c, pair)
}

describe('fifth set: addresses and lifetimes', () => {
  testWitnesses({
    'expires-in-reported-an-hour-late': async (c) => {
      const { accessTokenExpiry } = await grantPair(c, ['solution', 'expiresIn:60000'])
      return accessTokenExpiry !== c.clock.now() + 60_000
    },
    'expires-in-added-to-default-lifetime': (c) => outlives(c, ['solution', 'expiresIn:60000']),
    'expires-in-as-last-scope-entry-ignored': async (c) =>
      !(await outlives(c, ['expiresIn:60000', 'solution'])) && (await outlives(c, ['solution', 'expiresIn:60000'])),
    'address-not-checked-with-apikey-scope': async (c) =>
      !(await grantWorks(c, 'ipAddr:198.51.100.9')) && (await grantWorks(c, 'apikey', 'ipAddr:198.51.100.9')),
    'address-that-stands-twice-in-scope-not-checked': async (c) =>
      !(await grantWorks(c, 'ipAddr:198.51.100.9', 'ipAddr:198.51.100.8')) &&
      (await grantWorks(c, 'ipAddr:198.51.100.9', 'ipAddr:198.51.100.9')),
    'expires-in-ignored-with-apikey-scope': async (c) =>
      !(await outlives(c, ['solution', 'expiresIn:60000'])) &&
      (await outlives(c, ['solution', 'apikey', 'expiresIn:60000'])),
    'address-compared-without-its-dots': (c) => grantWorks(c, 'ipAddr:12.70.0.1'),
    'expired-access-token-works-again-after-a-day': async (c) => {
      const pair = await grantPair(c)
      c.clock.advance(hour)
      const soon = await accessWorks(c, pair)
      c.clock.advance(24 * hour)
      return !soon && (await accessWorks(c, pair))
    },
  })
})
