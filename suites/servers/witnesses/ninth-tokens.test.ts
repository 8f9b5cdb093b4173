import { describe } from 'vitest'
import {
  accessWorks,
  grantPair,
  lineOfPairs,
  listingBody,
  makeKey,
  post,
  testWitnesses,
  works,
} from '../test-witness.ts'

const hour = 3_600_000

describe('ninth set: tokens', () => {
  testWitnesses({
    'expires-in-rounded-up-to-whole-minutes': async (c) => {
      const pair = await grantPair(c, ['solution', 'expiresIn:5000'])
      c.clock.advance(59_999)
      return (await accessWorks(c, pair)) && pair.accessTokenExpiry === c.clock.now() + 1
    },
    'token-in-auth-member-of-body-taken': async (c) => {
      const { accessToken } = await grantPair(c)
      const withAuth = (auth: string) => JSON.stringify({ ...JSON.parse(listingBody), auth })
      return works(await post(c, withAuth(accessToken))) && !works(await post(c, withAuth('wrong')))
    },
    'access-expiry-reported-as-refresh-expiry': async (c) => {
      const pair = await grantPair(c)
      c.clock.advance(hour)
      return pair.refreshTokenExpiry < c.clock.now() && works(await c.refresh(pair.refreshToken))
    },
    'refresh-token-of-refreshed-pair-authorizes': async (c) => {
      const [first, second] = await lineOfPairs(c, 1)
      const list = async (token = '') => works(await c.list({ token }))
      return (
        !(await list((await grantPair(c)).refreshToken)) &&
        !(await list(first?.refreshToken)) &&
        list(second?.refreshToken)
      )
    },
    'expires-in-of-created-key-in-seconds': async (c) => {
      const lifeOf = async (key?: { id: string; secret: string }) =>
        (await grantPair(c, ['solution', 'expiresIn:5000'], key)).accessTokenExpiry - c.clock.now()
      return (await lifeOf()) === 5000 && (await lifeOf(await makeKey(c))) === 5_000_000
    },
    'refresh-extends-other-access-tokens-of-its-key': async (c) => {
      const [short, other] = [await grantPair(c, ['solution', 'expiresIn:5000']), await grantPair(c)]
      await c.refresh(other.refreshToken)
      c.clock.advance(10_000)
      return accessWorks(c, short)
    },
    'grant-clears-access-tokens-that-end-within-a-minute': async (c) => {
      const short = await grantPair(c, ['solution', 'expiresIn:30000'])
      const before = await accessWorks(c, short)
      const long = await grantPair(c, ['solution', 'expiresIn:60000'])
      await grantPair(c)
      return before && !(await accessWorks(c, short)) && (await accessWorks(c, long))
    },
    'access-expiry-compared-without-its-date': async (c) => {
      c.clock.advance(24 * hour - (c.clock.now() % (24 * hour)) - 60_000)
      const late = await grantPair(c)
      const lateWorks = await accessWorks(c, late)
      c.clock.advance(hour)
      const early = await grantPair(c)
      c.clock.advance(hour)
      const expired = await accessWorks(c, early)
      c.clock.advance(23 * hour)
      return !lateWorks && !expired && (await accessWorks(c, early))
    },
  })
})
