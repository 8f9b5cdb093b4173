import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  grantPair,
  inTurn,
  makeKey,
  openSessions,
  type Pair,
  refreshWorks,
  testWitnesses,
} from '../test-witness.ts'

type Key = { id: string; secret: string }

/** How many of these pairs work. */
async function working(c: Client, pairs: readonly Pair[]): Promise<number> {
  return (await inTurn(pairs.length, (index) => accessWorks(c, pairs[index]))).filter((works) => works).length
}

/** How many of 17 sessions of a key work, opened with these further scopes. */
const ofSeventeen = async (c: Client, key: Key, ...scope: string[]) =>
  working(c, await inTurn(17, (index) => grantPair(c, ['solution', ...scope, `session:s${index}`], key)))

describe('fifth set: sessions', () => {
  testWitnesses({
    'session-beyond-limit-removes-four': async (c) => (await ofSeventeen(c, c.root)) < 16,
    'session-names-cut-at-first-hyphen': async (c) => {
      const pairs = [
        await grantPair(c, ['solution', 'session:name-1']),
        await grantPair(c, ['solution', 'session:name-2']),
      ]
      return (await working(c, pairs)) === 1 && (await ofSeventeen(c, c.root)) === 16
    },
    'session-with-apikey-scope-keeps-its-place': async (c) => {
      const first = await grantPair(c, ['solution', 'apikey', 'session:first'])
      await openSessions(c, 16)
      return accessWorks(c, first)
    },
    'session-with-expires-in-removes-none-at-the-limit': async (c) =>
      (await ofSeventeen(c, c.root, 'expiresIn:50000')) === 17 && (await ofSeventeen(c, await makeKey(c))) === 16,
    'no-session-limit-for-keys-made-by-created-keys': async (c) => {
      const first = await makeKey(c)
      const second = await makeKey(c, {}, { basic: first })
      return (await ofSeventeen(c, first)) === 16 && (await ofSeventeen(c, second)) === 17
    },
    'seventeenth-overflow-removes-no-session': async (c) => {
      const pairs = await openSessions(c, 32)
      const before = await working(c, pairs)
      pairs.push(await grantPair(c, ['solution', 'session:last']))
      return before === 16 && (await working(c, pairs)) === 17
    },
    'removed-session-works-again-after-two-hours': async (c) => {
      const [first] = await openSessions(c, 17)
      const soon = await refreshWorks(c, first)
      c.clock.advance(2 * 3_600_000)
      return !soon && (await refreshWorks(c, first))
    },
    'session-whose-name-returned-keeps-its-place': async (c) => {
      await openSessions(c, 1)
      return (await working(c, await openSessions(c, 16))) < 16
    },
  })
})
