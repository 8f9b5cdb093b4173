import { describe } from 'vitest'
import {
  accessWorks,
  grantPair,
  inTurn,
  listOn,
  makeKey,
  openSessions,
  refreshPair,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

describe('eighth set: sessions', () => {
  testWitnesses({
    'second-oldest-session-removed': async (c) => {
      const [first, second, third] = await openSessions(c, 17)
      return (await accessWorks(c, first)) && !(await accessWorks(c, second)) && (await accessWorks(c, third))
    },
    'removed-session-of-created-key-refreshes': async (c) => {
      const [first] = await openSessions(c, 17)
      const [ofCreated] = await openSessions(c, 17, await makeKey(c))
      const refused = !(await accessWorks(c, ofCreated)) && !(await refreshWorks(c, first))
      return refused && (await refreshWorks(c, ofCreated))
    },
    'sessions-with-address-not-counted': async (c) => {
      const scope = ['solution', 'ipAddr:127.0.0.1']
      const bound = await inTurn(17, (index) => grantPair(c, [...scope, `session:b${index}`]))
      const [free, second] = await openSessions(c, 17)
      return (await accessWorks(c, bound[0])) && (await accessWorks(c, second)) && !(await accessWorks(c, free))
    },
    'refreshed-session-counts-as-oldest': async (c) => {
      const [first, second] = await openSessions(c, 16)
      if (second === undefined) return false
      const pair = await refreshPair(c, second)
      const before = await accessWorks(c, pair)
      await grantPair(c, ['solution', 'session:next'])
      return before && !(await accessWorks(c, pair)) && (await accessWorks(c, first))
    },
    'removed-session-works-on-connection-that-used-it': async (c) => {
      const pair = await grantPair(c, ['solution', 'session:first'])
      const auth = { token: pair.accessToken }
      await listOn(c, 1, auth)
      await openSessions(c, 16)
      return works(await listOn(c, 1, auth)) && !works(await listOn(c, 2, auth)) && !(await refreshWorks(c, pair))
    },
    'sessions-of-same-millisecond-removed-together': async (c) => {
      const [first, second] = await openSessions(c, 2)
      c.clock.advance(1)
      const [third] = await inTurn(15, (index) => grantPair(c, ['solution', `session:later${index}`]))
      return !(await accessWorks(c, first)) && !(await accessWorks(c, second)) && (await accessWorks(c, third))
    },
  })
})
