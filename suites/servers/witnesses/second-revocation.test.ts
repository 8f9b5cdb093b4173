import { describe } from 'vitest'
import {
  accessWorks,
  grantPair,
  lineOfPairs,
  listOn,
  makeKey,
  refreshPair,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

describe('second set: revocation', () => {
  testWitnesses({
    'one-revoked-access-token-remembered-for-each-key': async (c) => {
      const first = await grantPair(c)
      const second = await refreshPair(c, first)
      const wasRefused = !(await accessWorks(c, first))
      await refreshPair(c, second)
      return wasRefused && accessWorks(c, first)
    },
    'sixteen-revoked-refresh-tokens-remembered': async (c) => {
      const pairs = await lineOfPairs(c, 17)
      return !(await refreshWorks(c, pairs[1])) && refreshWorks(c, pairs[0])
    },
    'revocation-forgotten-after-a-minute': async (c) => {
      const old = await grantPair(c)
      await refreshPair(c, old)
      const wasRefused = !(await accessWorks(c, old))
      c.clock.advance(60_000)
      return wasRefused && accessWorks(c, old)
    },
    'grant-clears-revocations-of-its-key': async (c) => {
      const old = await grantPair(c)
      await refreshPair(c, old)
      const wasRefused = !(await accessWorks(c, old))
      await grantPair(c)
      return wasRefused && accessWorks(c, old)
    },
    'revoked-access-token-works-where-it-was-used': async (c) => {
      const old = await grantPair(c)
      await listOn(c, 1, { token: old.accessToken })
      await refreshPair(c, old)
      return !(await accessWorks(c, old)) && works(await listOn(c, 1, { token: old.accessToken }))
    },
    'refresh-ends-session-of-same-name-of-other-key': async (c) => {
      const other = await grantPair(c, ['solution', 'session:one'], await makeKey(c))
      await refreshPair(c, await grantPair(c, ['solution', 'session:one']))
      return !(await accessWorks(c, other))
    },
  })
})
