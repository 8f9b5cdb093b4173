import { describe } from 'vitest'
import {
  accessWorks,
  grantPair,
  inTurn,
  makeKey,
  openSessions,
  type Pair,
  refreshPair,
  refreshWorks,
  testWitnesses,
} from '../test-witness.ts'

describe('fourth set: sessions', () => {
  testWitnesses({
    'session-with-the-earliest-time-of-day-removed': async (c) => {
      const dayMs = 24 * 3_600_000
      // The clock starts at midnight at first, and goes on after a reset.
      c.clock.advance(dayMs - (c.clock.now() % dayMs) - 3_600_000)
      const early = await openSessions(c, 15)
      c.clock.advance(2 * 3_600_000)
      const [late] = await inTurn(2, (at) => grantPair(c, ['solution', `session:late-${at}`]))
      const worked = [await refreshWorks(c, early[0]), await refreshWorks(c, late)]
      return worked[0] === true && worked[1] === false
    },
    'access-token-with-expires-in-outlives-removed-session': async (c) => {
      const pairs = [
        await grantPair(c, ['solution', 'session:first', 'expiresIn:500000']),
        await grantPair(c, ['solution', 'session:second']),
      ]
      await openSessions(c, 16)
      return (await accessWorks(c, pairs[0])) && !(await accessWorks(c, pairs[1]))
    },
    'session-not-counted-once-its-pair-is-refreshed': async (c) => {
      const next = await refreshPair(c, await grantPair(c, ['solution', 'session:first']))
      const others = await openSessions(c, 16)
      return (await accessWorks(c, next)) && (await accessWorks(c, others[0])) && (await accessWorks(c, others[15]))
    },
    'fourth-overflow-removes-no-session': async (c) => {
      const pairs = await openSessions(c, 20)
      return (await accessWorks(c, pairs[3])) && !(await accessWorks(c, pairs[2]))
    },
    'no-session-limit-for-keys-created-by-signature': async (c) => {
      const [bySignature, byBasic] = [await makeKey(c, {}, { hmac: c.root }), await makeKey(c)]
      const [first] = await openSessions(c, 17, bySignature)
      const [other] = await openSessions(c, 17, byBasic)
      return (await accessWorks(c, first)) && !(await accessWorks(c, other))
    },
    'session-that-removed-another-cannot-be-refreshed': async (c) => {
      const pairs = await openSessions(c, 17)
      return (await refreshWorks(c, pairs[15])) && !(await refreshWorks(c, pairs[16]))
    },
    'refresh-in-flight-brings-its-removed-session-back': async (c) => {
      const pairs = await openSessions(c, 16)
      const [next] = await Promise.all([refreshPair(c, pairs[0] as Pair), grantPair(c, ['solution', 'session:beyond'])])
      return accessWorks(c, next)
    },
  })
})
