import { describe } from 'vitest'
import {
  accessWorks,
  createsKey,
  grantPair,
  inTurn,
  lineOfPairs,
  makeKey,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

describe('tokens', () => {
  testWitnesses({
    'refresh-token-creates-keys': async (c) => createsKey(c, { token: (await grantPair(c, ['apikey'])).refreshToken }),
    'refresh-token-works-as-access-token-when-that-expired': async (c) => {
      const { refreshToken } = await grantPair(c, ['solution', 'expiresIn:1000'])
      c.clock.advance(1001)
      return works(await c.list({ token: refreshToken }))
    },
    'access-token-of-refreshed-pair-refreshes': async (c) => {
      const [, second] = await lineOfPairs(c, 1)
      return works(await c.refresh(second?.accessToken ?? ''))
    },
    'token-refused-on-key-creation-after-refresh': async (c) => {
      const [, second] = await lineOfPairs(c, 1, ['apikey'])
      return !(await createsKey(c, { token: second?.accessToken ?? '' }))
    },
    'expired-token-creates-keys': async (c) => {
      const { accessToken } = await grantPair(c, ['apikey', 'expiresIn:1000'])
      c.clock.advance(1001)
      return createsKey(c, { token: accessToken })
    },
    'wrong-secret-three-times-ends-tokens': async (c) => {
      const pair = await grantPair(c)
      await inTurn(3, () => c.grant(['solution'], { id: c.root.id, secret: 'wrong' }))
      return !(await accessWorks(c, pair))
    },
    'refresh-ends-tokens-of-key-with-same-name': async (c) => {
      const [one, other] = [await makeKey(c), await makeKey(c)]
      const pair = await grantPair(c, ['solution'], one)
      await refreshWorks(c, await grantPair(c, ['solution'], other))
      return !(await accessWorks(c, pair))
    },
    'refresh-ends-pair-granted-in-same-millisecond': async (c) => {
      const [one, other] = [await grantPair(c), await grantPair(c)]
      await refreshWorks(c, one)
      return !(await accessWorks(c, other))
    },
    'hundredth-use-ends-access-token': async (c) => {
      const pair = await grantPair(c, ['solution', 'expiresIn:600000'])
      return (await inTurn(100, () => accessWorks(c, pair))).includes(false)
    },
  })
})
