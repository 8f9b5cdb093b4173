import { describe } from 'vitest'
import {
  accessWorks,
  type Client,
  grantPair,
  lineOfPairs,
  openSessions,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

/** Whether a refresh is accepted with a changed text of a fresh refresh token. */
const takesChanged = async (client: Client, change: (text: string) => string) =>
  works(await client.refresh(change((await grantPair(client)).refreshToken)))

const minuteMs = 60_000

describe('refresh', () => {
  testWitnesses({
    'fifth-refresh-refused': async (c) => (await lineOfPairs(c, 5)).at(-1)?.accessToken === undefined,
    'third-access-token-does-not-work': async (c) => !(await accessWorks(c, (await lineOfPairs(c, 2))[2])),
    'refresh-token-without-last-character-accepted': (c) => takesChanged(c, (text) => text.slice(0, -1)),
    'refreshes-in-same-second-repeat-tokens': async (c) => {
      const [, second, third] = await lineOfPairs(c, 2)
      return second?.accessToken === third?.accessToken
    },
    'young-access-token-handed-out-again': async (c) => {
      const [first, second] = await lineOfPairs(c, 1)
      return first?.accessToken === second?.accessToken
    },
    'scope-widened-to-key-by-second-refresh': async (c) => accessWorks(c, (await lineOfPairs(c, 2, ['context']))[2]),
    'last-scope-lost-by-second-refresh': async (c) =>
      !(await accessWorks(c, (await lineOfPairs(c, 2, ['context', 'solution']))[2])),
    'address-lost-by-second-refresh': async (c) =>
      accessWorks(c, (await lineOfPairs(c, 2, ['solution', 'ipAddr:10.0.0.1']))[2], '10.0.0.2'),
    'session-lost-by-second-refresh': async (c) => {
      const [, , third] = await lineOfPairs(c, 2, ['solution', 'session:first'])
      await openSessions(c, 16)
      return accessWorks(c, third)
    },
    'token-type-in-lower-case-on-refresh': async (c) => (await lineOfPairs(c, 1))[1]?.tokenType !== 'Bearer',
    'refresh-expiry-missing-after-second-refresh': async (c) =>
      (await lineOfPairs(c, 2))[2]?.refreshTokenExpiry === undefined,
    'refresh-token-refused-an-hour-after-access-expiry': async (c) => {
      const pair = await grantPair(c, ['solution', `expiresIn:${minuteMs}`])
      c.clock.advance(62 * minuteMs)
      return !(await refreshWorks(c, pair))
    },
    'grant-clears-pairs-with-expired-access-token': async (c) => {
      const pair = await grantPair(c, ['solution', 'expiresIn:1000'])
      c.clock.advance(1001)
      await grantPair(c)
      return !(await refreshWorks(c, pair))
    },
    'refresh-in-session-needs-authorization-header': async (c) =>
      !(await refreshWorks(c, await grantPair(c, ['solution', 'session:one']))),
    'second-refresh-needs-scope': async (c) => (await lineOfPairs(c, 2))[2]?.accessToken === undefined,
  })
})
