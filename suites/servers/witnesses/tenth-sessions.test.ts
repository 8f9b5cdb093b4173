import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  grantPair,
  inTurn,
  makeKey,
  openSessions,
  type Pair,
  testWitnesses,
} from '../test-witness.ts'

const named = (c: Client, name: string) => grantPair(c, ['solution', `session:${name}`])

/** The places of the pairs that no longer work. */
async function deadOf(c: Client, pairs: Pair[]): Promise<string> {
  const work = await inTurn(pairs.length, (index) => accessWorks(c, pairs[index]))
  return work.flatMap((isLive, index) => (isLive ? [] : [index])).join(' ')
}

describe('tenth set: sessions', () => {
  testWitnesses({
    'session-names-cut-at-colon': async (c) => {
      const pairs = [await named(c, 'job:one'), await named(c, 'jobs:one'), await named(c, 'job:two')]
      return (await deadOf(c, pairs)) === '0'
    },
    'ended-sessions-keep-their-places': async (c) => {
      await inTurn(3, (index) => named(c, `early${index}`))
      c.clock.advance(8 * 24 * 3_600_000)
      const pairs = await openSessions(c, 14)
      return (await deadOf(c, pairs)) === '0'
    },
    'session-removal-ends-tokens-without-session': async (c) => {
      const [plain, other] = [await grantPair(c), await grantPair(c, ['solution'], await makeKey(c))]
      await openSessions(c, 16)
      const before = await deadOf(c, [plain, other])
      const last = await named(c, 'last')
      return before === '' && (await deadOf(c, [plain, other, last])) === '0'
    },
    'sessions-in-flight-share-their-name': async (c) => {
      const inTurnDead = await deadOf(c, [await named(c, 'one'), await named(c, 'two')])
      const together = await Promise.all([named(c, 'three'), named(c, 'four')])
      return inTurnDead === '' && (await deadOf(c, together)) === '0'
    },
    'removed-session-works-for-token-of-one-solution': async (c) => {
      const bound = await grantPair(c, ['solution', 'solution:abc', 'session:bound'])
      const pairs = await openSessions(c, 17)
      return (await deadOf(c, [bound, ...pairs])) === '1'
    },
  })
})
