import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  createsKey,
  grantPair,
  lineOfPairs,
  listOn,
  type Pair,
  refreshPair,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** A pair that is used and then refreshed, each a second after the other. */
async function usedAndRefreshed(c: Client): Promise<[Pair, Pair]> {
  const old = await grantPair(c)
  c.clock.advance(1000)
  await accessWorks(c, old)
  return [old, await refreshPair(c, old)]
}

describe('third set: refresh', () => {
  testWitnesses({
    'refused-second-refresh-undoes-revocation': async (c) => {
      const [old] = await usedAndRefreshed(c)
      const before = await accessWorks(c, old)
      await refreshPair(c, old)
      return !before && (await accessWorks(c, old))
    },
    'access-token-that-was-never-used-survives-refresh': async (c) => {
      const [used] = await usedAndRefreshed(c)
      const [unused] = await lineOfPairs(c, 1, ['solution'], 1000)
      return !(await accessWorks(c, used)) && (await accessWorks(c, unused))
    },
    'access-token-refreshed-in-its-first-millisecond-lives-on': async (c) => {
      const [early] = await lineOfPairs(c, 1)
      const [late] = await lineOfPairs(c, 1, ['solution'], 1)
      return (await accessWorks(c, early)) && !(await accessWorks(c, late))
    },
    'apikey-lost-by-refresh-after-access-expiry': async (c) => {
      const [, early, late] = [
        ...(await lineOfPairs(c, 1, ['apikey', 'expiresIn:5000'])),
        (await lineOfPairs(c, 1, ['apikey', 'expiresIn:5000'], 6000))[1],
      ]
      return (
        works(await c.refresh(early?.refreshToken ?? '')) && !(await createsKey(c, { token: late?.accessToken ?? '' }))
      )
    },
    'refreshes-in-flight-share-scopes': async (c) => {
      const [thread, solution] = [await grantPair(c, ['thread']), await grantPair(c)]
      const [renewed] = await Promise.all([thread, solution].map((pair) => refreshPair(c, pair)))
      return accessWorks(c, renewed)
    },
    'refresh-ends-pairs-of-other-grants-with-same-scope': async (c) => {
      const [same, wider] = [await grantPair(c), await grantPair(c, ['solution', 'context'])]
      await lineOfPairs(c, 1)
      return !(await accessWorks(c, same)) && (await accessWorks(c, wider))
    },
    'revocation-known-to-one-of-two-workers': async (c) => {
      const [old] = await usedAndRefreshed(c)
      const on = async (connection: number) => works(await listOn(c, connection, { token: old.accessToken }))
      return !(await on(2)) && (await on(3)) && !(await on(4))
    },
    'old-refresh-token-works-when-successor-has-expired': async (c) => {
      const [old] = await lineOfPairs(c, 1, ['solution', 'expiresIn:5000'])
      const before = await refreshWorks(c, old)
      c.clock.advance(5000)
      return !before && (await refreshWorks(c, old))
    },
    'refresh-reports-scopes-of-previous-refresh': async (c) => {
      await lineOfPairs(c, 1)
      const [, second] = await lineOfPairs(c, 1, ['context'])
      return second?.scope.includes('solution') === true
    },
  })
})
