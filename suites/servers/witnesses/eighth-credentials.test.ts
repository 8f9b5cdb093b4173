import { createHash } from 'node:crypto'
import { describe } from 'vitest'
import { grantPair, makeKey, testWitnesses, works } from '../test-witness.ts'

describe('eighth set: credentials', () => {
  testWitnesses({
    'line-feed-behind-secret-ignored-in-basic': async (c) =>
      works(await c.list({ basic: { ...c.root, secret: `${c.root.secret}\n` } })),
    'hash-of-secret-accepted-in-grant': async (c) => {
      const secret = createHash('sha256').update(c.root.secret).digest('hex')
      return works(await c.grant(['solution'], { ...c.root, secret }))
    },
    'hyphens-in-key-id-ignored-in-grant': async (c) =>
      works(await c.grant(['solution'], { ...c.root, id: c.root.id.replace(/.{8}/, '$&-') })),
    'beginning-of-grant-type-suffices': async (c) => {
      const { refreshToken } = await grantPair(c)
      return works(await c.call('manager/auth', { grantType: 'refresh', refreshToken }))
    },
    'missing-scope-taken-in-grant-of-created-key': async (c) => {
      const grantType = 'api_key_credentials'
      const grant = async ({ id, secret }: { id: string; secret: string }) =>
        works(await c.call('manager/auth', { grantType, apiKeyId: id, apiKeySecret: secret }))
      return !(await grant(c.root)) && (await grant(await makeKey(c)))
    },
    'grant-with-address-takes-secret-of-any-key': async (c) => {
      const other = { id: c.root.id, secret: (await makeKey(c)).secret }
      return !works(await c.grant(['solution'], other)) && works(await c.grant(['solution', 'ipAddr:127.0.0.1'], other))
    },
    'wrong-secret-accepted-in-basic-just-after-grant-of-its-key': async (c) => {
      const wrong = { ...c.root, secret: 'wrong' }
      const before = works(await c.list({ basic: wrong }))
      await grantPair(c)
      const after = works(await c.list({ basic: wrong }))
      c.clock.advance(5000)
      return !before && after && !works(await c.list({ basic: wrong }))
    },
    'unknown-key-id-in-basic-means-key-of-last-call': async (c) => {
      const unknown = { ...c.root, id: 'unknown' }
      const before = works(await c.list({ basic: unknown }))
      await c.list({ basic: c.root })
      return !before && works(await c.list({ basic: unknown }))
    },
  })
})
