import { describe } from 'vitest'
import {
  accessWorks,
  createsKey,
  grantPair,
  lineOfPairs,
  makeKey,
  refreshPair,
  refreshWorks,
  testWitnesses,
} from '../test-witness.ts'

describe('fifth set: refreshes', () => {
  testWitnesses({
    'old-refresh-token-works-until-new-pair-is-used': async (c) => {
      const [[left], [old, next]] = [await lineOfPairs(c, 1), await lineOfPairs(c, 1)]
      await accessWorks(c, next)
      return (await refreshWorks(c, left)) && !(await refreshWorks(c, old))
    },
    'refresh-needs-id-of-key': async (c) => !(await refreshWorks(c, await grantPair(c))),
    'second-refresh-in-session-leaves-old-refresh-token': async (c) => {
      const pairs = [await lineOfPairs(c, 2), await lineOfPairs(c, 2, ['solution', 'session:one'])]
      return !(await refreshWorks(c, pairs[0]?.[1])) && (await refreshWorks(c, pairs[1]?.[1]))
    },
    'refresh-leaves-old-access-token-with-apikey-scope': async (c) => {
      const pairs = [await lineOfPairs(c, 1), await lineOfPairs(c, 1, ['solution', 'apikey'])]
      return !(await accessWorks(c, pairs[0]?.[0])) && (await accessWorks(c, pairs[1]?.[0]))
    },
    'refreshed-token-of-narrow-key-creates-keys': async (c) => {
      const first = await grantPair(c, ['solution'], await makeKey(c, { scope: ['solution'] }))
      const next = await refreshPair(c, first)
      return (await createsKey(c, { token: next.accessToken })) && !next.scope.includes('apiKey')
    },
    'first-access-token-works-again-after-second-refresh': async (c) => {
      const [first] = await lineOfPairs(c, 2)
      const [other] = await lineOfPairs(c, 1)
      return (await accessWorks(c, first)) && !(await accessWorks(c, other))
    },
    'refresh-revokes-latest-pair-of-key-instead': async (c) => {
      const [first, second] = [await grantPair(c), await grantPair(c)]
      await refreshPair(c, first)
      return (await accessWorks(c, first)) && !(await accessWorks(c, second))
    },
    'refresh-behind-refused-refresh-revokes-nothing': async (c) => {
      await c.refresh('wrong')
      const [[first], [second]] = [await lineOfPairs(c, 1), await lineOfPairs(c, 1)]
      return (await accessWorks(c, first)) && !(await accessWorks(c, second))
    },
  })
})
