import { describe } from 'vitest'
import { accessWorks, createsKey, grantPair, inTurn, listOn, makeKey, testWitnesses, works } from '../test-witness.ts'

describe('third set: tokens', () => {
  testWitnesses({
    'grants-in-flight-share-addresses': async (c) => {
      const scopes = [['solution', 'ipAddr:198.51.100.9'], ['solution']]
      const [bound] = await Promise.all(scopes.map((scope) => grantPair(c, scope)))
      return accessWorks(c, bound)
    },
    'address-with-number-above-127-never-fits': async (c) => {
      const [low, high] = [
        await grantPair(c, ['solution', 'ipAddr:127.0.0.20']),
        await grantPair(c, ['solution', 'ipAddr:127.0.0.200']),
      ]
      return (await accessWorks(c, low, '127.0.0.20')) && !(await accessWorks(c, high, '127.0.0.200'))
    },
    'address-as-first-scope-entry-ignored': async (c) => {
      const [behind, before] = [
        await grantPair(c, ['solution', 'ipAddr:198.51.100.9']),
        await grantPair(c, ['ipAddr:198.51.100.9', 'solution']),
      ]
      return !(await accessWorks(c, behind)) && (await accessWorks(c, before))
    },
    'first-expires-in-of-key-holds-for-its-later-grants': async (c) => {
      await grantPair(c, ['solution', 'expiresIn:5000'])
      const { accessTokenExpiry } = await grantPair(c, ['solution', 'expiresIn:9000'])
      return accessTokenExpiry - c.clock.now() !== 9000
    },
    'access-tokens-of-key-end-with-the-latest-of-them': async (c) => {
      const brief = await grantPair(c, ['solution', 'expiresIn:5000'])
      await grantPair(c)
      c.clock.advance(6000)
      return accessWorks(c, brief)
    },
    'expiry-forgotten-after-twenty-further-tokens': async (c) => {
      const brief = await grantPair(c, ['solution', 'expiresIn:5000'])
      c.clock.advance(6000)
      await inTurn(19, () => grantPair(c))
      const before = await accessWorks(c, brief)
      await grantPair(c)
      return !before && (await accessWorks(c, brief))
    },
    'token-with-expires-in-creates-no-keys': async (c) => {
      const [plain, brief] = [await grantPair(c, ['apikey']), await grantPair(c, ['apikey', 'expiresIn:50000'])]
      return (await createsKey(c, { token: plain.accessToken })) && !(await createsKey(c, { token: brief.accessToken }))
    },
    'token-refused-behind-signed-call-on-connection': async (c) => {
      const token = (await grantPair(c)).accessToken
      const before = works(await listOn(c, 1, { token }))
      await listOn(c, 1, { hmac: c.root })
      return before && !works(await listOn(c, 1, { token }))
    },
    'token-of-token-created-key-has-whole-scope-of-key': async (c) => {
      const key = await makeKey(c, {}, { token: (await grantPair(c, ['apikey'])).accessToken })
      return accessWorks(c, await grantPair(c, ['context'], key))
    },
    'store-token-of-session-lists-solutions': async (c) =>
      !(await accessWorks(c, await grantPair(c, ['store']))) &&
      (await accessWorks(c, await grantPair(c, ['store', 'session:one']))),
    'newer-grant-with-expires-in-shortens-older-tokens': async (c) => {
      const pair = await grantPair(c)
      await grantPair(c, ['solution', 'expiresIn:5000'])
      c.clock.advance(6000)
      return !(await accessWorks(c, pair))
    },
  })
})
