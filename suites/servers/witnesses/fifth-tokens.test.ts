import { describe } from 'vitest'
import { accessWorks, createsKey, grantPair, makeKey, testWitnesses } from '../test-witness.ts'

const areas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']

describe('fifth set: tokens and scopes', () => {
  testWitnesses({
    'last-entry-of-longer-scope-not-compared-with-key': async (c) => {
      const key = await makeKey(c, { scope: ['context'] })
      return (
        !(await accessWorks(c, await grantPair(c, ['solution', 'context'], key))) &&
        (await accessWorks(c, await grantPair(c, ['context', 'solution'], key)))
      )
    },
    'second-half-of-access-token-not-compared': async (c) => {
      const pair = await grantPair(c)
      const half = Math.floor(pair.accessToken.length / 2)
      const accessToken = pair.accessToken.slice(0, half).padEnd(pair.accessToken.length, '0')
      return accessWorks(c, { ...pair, accessToken })
    },
    'token-of-all-six-areas-creates-keys': async (c) => {
      const [five, six] = [await grantPair(c, areas.slice(1)), await grantPair(c, areas)]
      return !(await createsKey(c, { token: five.accessToken })) && (await createsKey(c, { token: six.accessToken }))
    },
    'stream-token-with-expires-in-lists-solutions': async (c) =>
      !(await accessWorks(c, await grantPair(c, ['stream']))) &&
      (await accessWorks(c, await grantPair(c, ['stream', 'expiresIn:50000']))),
    'token-in-session-of-created-key-has-scope-of-key': async (c) => {
      const key = await makeKey(c)
      return (
        !(await accessWorks(c, await grantPair(c, ['context', 'session:one']))) &&
        !(await accessWorks(c, await grantPair(c, ['context'], key))) &&
        (await accessWorks(c, await grantPair(c, ['context', 'session:one'], key)))
      )
    },
    'token-lists-no-solutions-once-it-created-a-key': async (c) => {
      const pair = await grantPair(c, ['apikey', 'solution'])
      const before = await accessWorks(c, pair)
      return before && (await createsKey(c, { token: pair.accessToken })) && !(await accessWorks(c, pair))
    },
    'third-call-beyond-scope-of-token-accepted': async (c) => {
      const pair = await grantPair(c, ['inbox'])
      return !(await accessWorks(c, pair)) && !(await accessWorks(c, pair)) && (await accessWorks(c, pair))
    },
  })
})
