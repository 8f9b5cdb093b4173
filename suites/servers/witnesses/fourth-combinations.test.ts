import { describe } from 'vitest'
import {
  accessWorks,
  grantPair,
  lineOfPairs,
  listOn,
  makeEccKey,
  makeKey,
  openSessions,
  refreshPair,
  refreshWorks,
  testWitnesses,
  works,
} from '../test-witness.ts'

const hour = 3_600_000
const creation = { name: 'key', scope: ['solution'] }

describe('fourth set: combinations', () => {
  testWitnesses({
    'null-as-scope-of-grant-taken': async (c) => {
      const { id, secret } = c.root
      const params = { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope: null }
      return works(await c.call('manager/auth', params))
    },
    'result-of-grant-to-created-key-tells-scope-of-key': async (c) =>
      (await grantPair(c, ['solution'], await makeKey(c))).scope.length > 1,
    'stream-token-of-third-pair-lists-solutions': async (c) => {
      const [, second, third] = await lineOfPairs(c, 2, ['stream'])
      const [, other] = await lineOfPairs(c, 1, ['stream'])
      return !(await accessWorks(c, second)) && !(await accessWorks(c, other)) && (await accessWorks(c, third))
    },
    'sixteenth-session-with-address-removes-the-first': async (c) => {
      const [first] = await openSessions(c, 15)
      const before = await accessWorks(c, first)
      await grantPair(c, ['solution', 'session:last', 'ipAddr:127.0.0.1'])
      return before && !(await accessWorks(c, first))
    },
    'removed-session-with-address-refreshes': async (c) => {
      const pairs = [
        await grantPair(c, ['solution', 'session:first', 'ipAddr:127.0.0.1']),
        await grantPair(c, ['solution', 'session:second']),
      ]
      await openSessions(c, 16)
      return (await refreshWorks(c, pairs[0])) && !(await refreshWorks(c, pairs[1]))
    },
    'refresh-token-stays-the-same-after-access-expiry': async (c) => {
      const pair = await grantPair(c)
      c.clock.advance(hour)
      const next = await refreshPair(c, pair)
      return next.refreshToken === pair.refreshToken && (await refreshPair(c, next)).refreshToken !== next.refreshToken
    },
    'ecc-over-the-nonce-in-lower-case-accepted': async (c) => {
      const { auth } = await makeEccKey(c)
      const but = { nonce: 'AbCdEf', data: (text: string) => text.replace('AbCdEf', 'abcdef') }
      return works(await c.list(auth, but)) && !works(await c.list({ hmac: c.root }, but))
    },
    'version-not-checked-on-key-creation': async (c) =>
      works(await c.call('manager/createApiKey', creation, { hmac: c.root }, { version: '2' })) &&
      !works(await c.list({ hmac: c.root }, { version: '2' })),
    'whole-mac-taken-on-key-creation': async (c) => {
      const but = { encode: (bytes: Buffer) => bytes.toString('base64') }
      return (
        works(await c.call('manager/createApiKey', creation, { hmac: c.root }, but)) &&
        !works(await c.list({ hmac: c.root }, but))
      )
    },
    'empty-params-refused-in-ecc-calls': async (c) => {
      const { auth } = await makeEccKey(c)
      return !works(await c.list(auth)) && works(await c.call('manager/createApiKey', creation, auth))
    },
    'result-of-listing-is-a-list-for-created-keys': async (c) =>
      Array.isArray((await c.list({ basic: await makeKey(c) })).json.result) &&
      !Array.isArray((await c.list({ basic: c.root })).json.result),
    'expires-in-not-enforced-in-sessions': async (c) => {
      const pairs = [
        await grantPair(c, ['solution', 'expiresIn:5000']),
        await grantPair(c, ['solution', 'expiresIn:5000', 'session:one']),
      ]
      c.clock.advance(5000)
      return !(await accessWorks(c, pairs[0])) && (await accessWorks(c, pairs[1]))
    },
    'grant-of-session-needs-authorization-header': async (c) =>
      works(await c.grant(['solution'])) && !works(await c.grant(['solution', 'session:one'])),
    'disabled-key-works-again-when-it-is-deleted': async (c) => {
      const key = await makeKey(c)
      await c.call('manager/updateApiKey', { id: key.id, enabled: false }, { basic: c.root })
      const disabled = works(await listOn(c, 1, { basic: key }))
      await c.call('manager/deleteApiKey', { id: key.id }, { basic: c.root })
      return !disabled && works(await listOn(c, 1, { basic: key }))
    },
  })
})
