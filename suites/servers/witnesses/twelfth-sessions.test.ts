import { describe } from 'vitest'
import { accessWorks, type Client, grantPair, openSessions, testWitnesses } from '../test-witness.ts'

const minute = 60_000

/** How many of these pairs have an access token that works. */
const countWorking = async (c: Client, pairs: Awaited<ReturnType<typeof openSessions>>) => {
  const working = await Promise.all(pairs.map((pair) => accessWorks(c, pair)))
  return working.filter((works) => works).length
}

describe('twelfth set: sessions', () => {
  testWitnesses({
    'sessions-beyond-eight-removed-each-minute': async (c) => {
      const pairs = await openSessions(c, 16)
      const before = await countWorking(c, pairs)
      c.clock.advance(minute)
      return before === 16 && (await countWorking(c, pairs)) === 8 && accessWorks(c, pairs[15])
    },
    'sessions-of-last-second-not-counted-at-limit': async (c) => {
      const quick = await countWorking(c, await openSessions(c, 18))
      c.clock.advance(2000)
      const more = await grantPair(c, ['solution', 'session:more'])
      return quick === 18 && accessWorks(c, more)
    },
  })
})
