import { describe } from 'vitest'
import { accessWorks, type Client, grantPair, inTurn, openSessions, type Pair, testWitnesses } from '../test-witness.ts'

const named = (c: Client, name: string) => grantPair(c, ['solution', `session:${name}`])

/** The places of the pairs that no longer work. */
async function deadOf(c: Client, pairs: Pair[]): Promise<string> {
  const work = await inTurn(pairs.length, (index) => accessWorks(c, pairs[index]))
  return work.flatMap((isLive, index) => (isLive ? [] : [index])).join(' ')
}

describe('ninth set: sessions', () => {
  testWitnesses({
    'oldest-session-removed-when-next-grant-arrives': async (c) => {
      const pairs = await openSessions(c, 17)
      const atOnce = await deadOf(c, pairs)
      await grantPair(c)
      return atOnce === '' && (await deadOf(c, pairs)) === '0'
    },
    'session-named-0-makes-no-session': async (c) => {
      const first = await named(c, '0')
      const pairs = await openSessions(c, 17)
      return (await deadOf(c, [first, ...pairs])) === '1'
    },
    'session-names-with-same-letters-are-one': async (c) => {
      const pairs = [await named(c, 'a12'), await named(c, 'a3'), await named(c, '21a')]
      return (await deadOf(c, pairs)) === '0'
    },
    'refused-grant-frees-a-session-place': async (c) => {
      await c.grant(['solution', 'session:x'], { id: c.root.id, secret: 'wrong' })
      const pairs = await openSessions(c, 17)
      const atSeventeen = await deadOf(c, pairs)
      return atSeventeen === '' && (await deadOf(c, [...pairs, await named(c, 'last')])) === '0'
    },
    'refused-refresh-brings-removed-session-back': async (c) => {
      const pairs = await openSessions(c, 17)
      const before = await deadOf(c, pairs)
      await c.refresh(pairs[0]?.refreshToken ?? '')
      return before === '0' && (await deadOf(c, pairs)) === ''
    },
    'session-numbers-compared-as-text': async (c) => {
      const pairs = await openSessions(c, 17)
      const first = await deadOf(c, pairs)
      return first === '0' && (await deadOf(c, [...pairs, await named(c, 'last')])) === '0 9'
    },
  })
})
