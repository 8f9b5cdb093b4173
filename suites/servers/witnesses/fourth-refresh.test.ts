import { describe } from 'vitest'
import {
  accessWorks,
  grantPair,
  lineOfPairs,
  listingBody,
  openSessions,
  type Pair,
  refreshPair,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

const hour = 3_600_000

describe('fourth set: refreshes', () => {
  testWitnesses({
    'refreshed-token-known-on-connection-of-its-refresh-only': async (c) => {
      const { refreshToken } = await grantPair(c)
      const params = { grantType: 'refresh_token', refreshToken }
      const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/auth', params }))
      const pair: Pair = (await c.send({ body, connection: 1 })).json.result
      const listsOn = async (connection: number) =>
        works(
          await c.send({
            body: Buffer.from(listingBody),
            headers: { authorization: `Bearer ${pair.accessToken}` },
            connection,
          }),
        )
      return (await listsOn(1)) && !(await listsOn(2))
    },
    'refreshed-scope-cut-at-32-characters': async (c) => {
      const wide = await grantPair(c, ['context', 'thread', 'store', 'inbox', 'stream', 'solution'])
      const next = await refreshPair(c, wide)
      return next.scope.length < 6 || !(await accessWorks(c, next))
    },
    'address-lost-by-fourth-refresh': async (c) => {
      const pairs = await lineOfPairs(c, 4, ['solution', 'ipAddr:198.51.100.9'])
      const [third, fourth] = [pairs[3], pairs[4]]
      return !(await accessWorks(c, third, '198.51.100.9')) && (await accessWorks(c, fourth))
    },
    'pair-that-was-never-used-leaves-its-session-at-refresh': async (c) => {
      const [used, unused] = await openSessions(c, 2)
      await accessWorks(c, used)
      const next = [await refreshPair(c, used as Pair), await refreshPair(c, unused as Pair)]
      for (let count = 0; count < 16; count++) await grantPair(c, ['solution', `session:more-${count}`])
      return !(await accessWorks(c, next[0])) && (await accessWorks(c, next[1]))
    },
    'revocation-kept-for-the-default-lifetime-only': async (c) => {
      const long = await grantPair(c, ['solution', `expiresIn:${5 * hour}`])
      await refreshPair(c, long)
      const soon = await accessWorks(c, long)
      c.clock.advance(hour)
      return !soon && (await accessWorks(c, long))
    },
    'refresh-from-another-address-leaves-old-access-token': async (c) => {
      const [near, far] = [await grantPair(c), await grantPair(c)]
      await c.refresh(near.refreshToken)
      await c.refresh(far.refreshToken, { from: '198.51.100.9' })
      return !(await accessWorks(c, near)) && (await accessWorks(c, far))
    },
    'listing-in-flight-brings-its-revoked-pair-back': async (c) => {
      const [quiet, busy] = [await grantPair(c), await grantPair(c)]
      await refreshPair(c, quiet)
      await Promise.all([accessWorks(c, busy), refreshPair(c, busy)])
      return !(await accessWorks(c, quiet)) && (await accessWorks(c, busy))
    },
    'refreshed-refresh-token-ends-with-the-first-one': async (c) => {
      const [, next] = await lineOfPairs(c, 1, ['solution'], 6 * 24 * hour)
      c.clock.advance(2 * 24 * hour)
      return (next?.refreshTokenExpiry ?? 0) > c.clock.now() && !(await refreshWorks(c, next))
    },
    'refresh-in-session-refused-after-access-expiry': async (c) => {
      const pairs = [await grantPair(c), await grantPair(c, ['solution', 'session:one'])]
      c.clock.advance(hour)
      return (await refreshWorks(c, pairs[0])) && !(await refreshWorks(c, pairs[1]))
    },
    'refreshed-access-token-begins-when-the-old-one-would-end': async (c) => {
      const next = await refreshPair(c, await grantPair(c, ['solution', 'expiresIn:50000']))
      const early = await accessWorks(c, next)
      const late = await grantPair(c, ['solution', 'expiresIn:50000'])
      c.clock.advance(50_000)
      return !early && (await accessWorks(c, await refreshPair(c, late)))
    },
    'refresh-of-token-with-expires-in-needs-scope': async (c) =>
      !(await refreshWorks(c, await grantPair(c, ['solution', 'expiresIn:50000']))),
    'call-refused-for-its-grant-type-ends-the-pair-that-it-names': async (c) => {
      const pair = await grantPair(c)
      await c.call('manager/auth', { grantType: 'refresh', refreshToken: pair.refreshToken })
      return !(await accessWorks(c, pair))
    },
  })
})
