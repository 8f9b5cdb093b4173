import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  createsKey,
  grantPair,
  lineOfPairs,
  makeKey,
  refreshPair,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

const minute = 60_000
const day = 24 * 60 * minute
const listsWith = async (c: Client, token: string) => works(await c.list({ token }))

describe('twelfth set: tokens', () => {
  testWitnesses({
    'access-expiry-reported-in-microseconds': async (c) => {
      const { accessTokenExpiry, refreshTokenExpiry } = await grantPair(c)
      return String(accessTokenExpiry).length === 16 && String(refreshTokenExpiry).length === 13
    },
    'expires-in-beyond-refresh-lifetime-taken-in-session': async (c) => {
      const long = ['solution', `expiresIn:${30 * day}`]
      const inSession = await grantPair(c, [...long, 'session:one'])
      return inSession.accessTokenExpiry > inSession.refreshTokenExpiry && !works(await c.grant(long))
    },
    'refreshed-token-with-address-never-expires': async (c) => {
      const scope = ['solution', 'expiresIn:5000', 'ipAddr:127.0.0.1']
      const [first, second] = [await grantPair(c, scope), (await lineOfPairs(c, 1, scope))[1]]
      const plain = (await lineOfPairs(c, 1, scope.slice(0, 2)))[1]
      c.clock.advance(6000)
      return (await accessWorks(c, second)) && !(await accessWorks(c, first)) && !(await accessWorks(c, plain))
    },
    'refreshed-access-token-compared-by-32-characters': async (c) => {
      const [old, young] = [await grantPair(c), (await lineOfPairs(c, 1))[1]]
      const altered = (text = '') => text.slice(0, -1) + (text.endsWith('A') ? 'E' : 'A')
      return (await listsWith(c, altered(young?.accessToken))) && !(await listsWith(c, altered(old.accessToken)))
    },
    'overlong-token-lets-in': async (c) =>
      (await listsWith(c, 'a'.repeat(513))) && !(await listsWith(c, 'a'.repeat(512))),
    'address-not-checked-when-refreshed-token-creates-key': async (c) => {
      const [first] = await lineOfPairs(c, 0, ['apikey', 'solution', 'ipAddr:127.0.0.2'])
      if (first === undefined) return false
      const before = await createsKey(c, { token: first.accessToken })
      const second = await refreshPair(c, first)
      return !before && (await createsKey(c, { token: second.accessToken })) && !(await accessWorks(c, second))
    },
    'scopes-of-tokens-cached-in-sixteen-slots': async (c) => {
      const wide = await grantPair(c)
      const slotOf = (token: string) => token.charCodeAt(0) % 16
      const narrowIn = async (isSame: boolean): Promise<boolean> => {
        const narrow = await grantPair(c, ['context'])
        const fits = (slotOf(narrow.accessToken) === slotOf(wide.accessToken)) === isSame
        return fits ? accessWorks(c, narrow) : narrowIn(isSame)
      }
      return (await accessWorks(c, wide)) && !(await narrowIn(false)) && narrowIn(true)
    },
    'expired-access-token-refreshes': async (c) => {
      const { accessToken } = await grantPair(c, ['solution', 'expiresIn:2000'])
      const before = works(await c.refresh(accessToken))
      c.clock.advance(2000)
      return !before && works(await c.refresh(accessToken))
    },
    'used-refresh-token-authorizes': async (c) => {
      const pair = await grantPair(c)
      const before = await listsWith(c, pair.refreshToken)
      await refreshPair(c, pair)
      return !before && (await listsWith(c, pair.refreshToken)) && !(await accessWorks(c, pair))
    },
    'old-refresh-token-of-key-created-by-token-lives-on': async (c) => {
      const { accessToken } = await grantPair(c, ['apikey', 'solution'])
      const twice = async (key: { id: string; secret: string }) => {
        const pair = await grantPair(c, ['solution'], key)
        return [await refreshWorks(c, pair), await refreshWorks(c, pair)].join()
      }
      const byToken = await twice(await makeKey(c, {}, { token: accessToken }))
      return byToken === 'true,true' && (await twice(await makeKey(c))) === 'true,false'
    },
  })
})
