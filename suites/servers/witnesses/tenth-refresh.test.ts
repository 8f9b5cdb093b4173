import { describe } from 'vitest'
import {
  accessWorks,
  grantPair,
  lineOfPairs,
  makeKey,
  refreshPair,
  refreshWorks,
  testWitnesses,
} from '../test-witness.ts'

describe('tenth set: refreshes', () => {
  testWitnesses({
    'last-of-refreshes-in-flight-undoes-revocations-of-the-others': async (c) => {
      const [one, two] = [await grantPair(c), await grantPair(c)]
      await Promise.all([refreshPair(c, one), refreshPair(c, two)])
      const [three, four] = [await grantPair(c), await grantPair(c)]
      await refreshPair(c, three)
      await refreshPair(c, four)
      const olderEnded = !(await accessWorks(c, two)) && !(await refreshWorks(c, two))
      return olderEnded && (await accessWorks(c, one)) && !(await accessWorks(c, three)) && refreshWorks(c, one)
    },
    'refresh-of-token-with-address-gives-scope-of-key': async (c) => {
      const key = await makeKey(c)
      const widens = async (scope: string[]) => {
        const pair = await refreshPair(c, await grantPair(c, scope, key))
        return pair.scope.join() === 'context' && (await accessWorks(c, pair))
      }
      return !(await widens(['context'])) && widens(['context', 'ipAddr:127.0.0.1'])
    },
    'refreshed-pair-cannot-be-refreshed-in-its-first-second': async (c) => {
      const pairs = await lineOfPairs(c, 1)
      const atOnce = await refreshWorks(c, pairs[1])
      c.clock.advance(1000)
      return !atOnce && refreshWorks(c, pairs[1])
    },
  })
})
