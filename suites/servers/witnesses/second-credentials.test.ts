import { describe } from 'vitest'
import {
  basic,
  grantPair,
  inTurn,
  listingBody,
  makeEccKey,
  makeKey,
  post,
  refreshPair,
  testWitnesses,
  works,
} from '../test-witness.ts'

describe('second set: credentials', () => {
  testWitnesses({
    'basic-cache-looks-at-64-characters': async (c) => {
      const key = await makeKey(c)
      await c.list({ basic: key })
      return works(await c.list({ basic: { id: key.id, secret: `${key.secret.slice(0, 15)}-and-another-end` } }))
    },
    'access-token-accepted-as-basic-secret': async (c) => {
      const { accessToken } = await grantPair(c, ['context'])
      return works(await c.list({ basic: { id: c.root.id, secret: accessToken } }))
    },
    'refresh-token-accepted-as-secret-of-grant': async (c) => {
      const { refreshToken } = await grantPair(c, ['context'])
      return works(await c.grant(['solution'], { id: c.root.id, secret: refreshToken }))
    },
    'ecc-signature-opens-basic-for-its-key': async (c) => {
      const key = await makeEccKey(c)
      const wasRefused = !works(await c.list({ basic: key }))
      await c.list(key.auth)
      return wasRefused && works(await c.list({ basic: key }))
    },
    'allowed-basic-call-opens-its-method-to-every-key': async (c) => {
      const key = await makeKey(c, { scope: ['context'] })
      const wasRefused = !works(await c.list({ basic: key }))
      await c.list({ basic: c.root })
      return wasRefused && works(await c.list({ basic: key }))
    },
    'accepted-listing-cached-by-body': async (c) => {
      await post(c, listingBody, basic(c.root.id, c.root.secret))
      return works(await post(c, listingBody))
    },
    'sixth-wrong-secret-in-a-row-accepted': async (c) => {
      const attempts = await inTurn(6, () => c.grant(['solution'], { id: c.root.id, secret: 'wrong' }))
      return attempts.slice(0, 5).every((attempt) => !works(attempt)) && attempts.slice(5).every(works)
    },
    'grant-without-secret-takes-that-of-last-grant': async (c) => {
      await grantPair(c)
      const params = { grantType: 'api_key_credentials', apiKeyId: c.root.id, scope: ['solution'] }
      return works(await c.call('manager/auth', params))
    },
    'missing-grant-type-is-that-of-last-grant': async (c) => {
      const pair = await refreshPair(c, await grantPair(c))
      return works(await c.call('manager/auth', { refreshToken: pair.refreshToken }))
    },
    'grants-in-flight-merged-by-key-id': async (c) => {
      const attempts = [c.grant(['solution']), c.grant(['solution'], { id: c.root.id, secret: 'wrong' })]
      return (await Promise.all(attempts)).every(works)
    },
    'session-granted-to-key-with-public-key': async (c) => {
      const key = await makeEccKey(c)
      return works(await c.grant(['solution', 'session:one'], key))
    },
  })
})
