import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  grantPair,
  inTurn,
  makeKey,
  openSessions,
  refreshPair,
  refreshWorks,
  testWitnesses,
} from '../test-witness.ts'

const open = (client: Client, name: string, ...scope: string[]) =>
  grantPair(client, ['solution', `session:${name}`, ...scope])

describe('second set: sessions', () => {
  testWitnesses({
    'session-names-like-numbers-compared-as-numbers': async (c) => {
      const one = await open(c, '10')
      await open(c, '1e1')
      return !(await accessWorks(c, one))
    },
    'oldest-session-is-first-member-of-an-object': async (c) => {
      const oldest = await open(c, '99')
      await inTurn(16, (index) => open(c, String(50 - index)))
      return accessWorks(c, oldest)
    },
    'session-beyond-limit-removes-oldest-of-any-user': async (c) => {
      const key = await makeKey(c)
      const other = await grantPair(c, ['solution', 'session:other'], key)
      c.clock.advance(1000)
      await openSessions(c, 17)
      return !(await accessWorks(c, other))
    },
    'session-with-expired-access-token-is-not-removed': async (c) => {
      const oldest = await open(c, 'oldest', 'expiresIn:5000')
      c.clock.advance(6000)
      await openSessions(c, 16)
      return refreshWorks(c, oldest)
    },
    'address-beside-session-makes-no-session': async (c) => {
      const pairs = await inTurn(17, (index) => open(c, `s${index}`, 'ipAddr:127.0.0.1'))
      return accessWorks(c, pairs[0])
    },
    'removed-session-refreshes-after-access-expiry': async (c) => {
      const oldest = await open(c, 'oldest', 'expiresIn:5000')
      await openSessions(c, 16)
      c.clock.advance(6000)
      return refreshWorks(c, oldest)
    },
    'session-looked-up-every-five-seconds': async (c) => {
      const oldest = await open(c, 'oldest')
      await openSessions(c, 15)
      await accessWorks(c, oldest)
      await open(c, 'next')
      const worked = await accessWorks(c, oldest)
      c.clock.advance(5000)
      return worked && !(await accessWorks(c, oldest))
    },
    'first-access-token-of-seventeenth-session-is-dead': async (c) => {
      const newest = (await openSessions(c, 17)).at(-1)
      return newest !== undefined && !(await accessWorks(c, newest)) && accessWorks(c, await refreshPair(c, newest))
    },
  })
})
