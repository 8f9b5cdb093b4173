import { describe } from 'vitest'
import { accessWorks, grantPair, listingBody, makeKey, post, testWitnesses, works } from '../test-witness.ts'

describe('eighth set: tokens', () => {
  testWitnesses({
    'scheme-word-without-credentials-lets-in': async (c) =>
      works(await post(c, listingBody, 'Bearer')) && !works(await post(c, listingBody, 'Bearer wrong')),
    'access-expiry-of-session-in-seconds': async (c) =>
      String((await grantPair(c)).accessTokenExpiry).length === 13 &&
      String((await grantPair(c, ['session:one'])).accessTokenExpiry).length === 10,
    'no-token-type-for-a-lifetime': async (c) =>
      (await grantPair(c)).tokenType === 'Bearer' &&
      (await grantPair(c, ['solution', 'expiresIn:5000'])).tokenType === undefined,
    'refresh-token-with-expires-in-authorizes': async (c) => {
      const shows = async (scope: string[]) =>
        accessWorks(c, { ...(await grantPair(c)), accessToken: (await grantPair(c, scope)).refreshToken })
      return !(await shows(['solution'])) && (await shows(['solution', 'expiresIn:5000']))
    },
    'access-token-of-created-key-refreshes': async (c) =>
      !works(await c.refresh((await grantPair(c)).accessToken)) &&
      works(await c.refresh((await grantPair(c, ['solution'], await makeKey(c))).accessToken)),
    'expired-access-token-ends-others-of-its-key': async (c) => {
      const [short, long] = [await grantPair(c, ['solution', 'expiresIn:1000']), await grantPair(c)]
      c.clock.advance(2000)
      const before = await accessWorks(c, long)
      await accessWorks(c, short)
      return before && !(await accessWorks(c, long))
    },
    'call-of-unknown-method-ends-its-token': async (c) => {
      const pair = await grantPair(c)
      const before = await accessWorks(c, pair)
      await c.call('solution/unknown', {}, { token: pair.accessToken })
      return before && !(await accessWorks(c, pair))
    },
  })
})
