import { describe } from 'vitest'
import { accessWorks, type Client, grantPair, listOn, makeKey, testWitnesses, works } from '../test-witness.ts'

const grants = async (c: Client, key: { id: string; secret: string }, ...scope: string[]) =>
  works(await c.grant(scope, key))

const grantsOn = async (c: Client, connection: number, key: { id: string; secret: string }, scope: string[]) => {
  const params = { grantType: 'api_key_credentials', apiKeyId: key.id, apiKeySecret: key.secret, scope }
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'manager/auth', params }))
  return works(await c.send({ body, connection }))
}

describe('fourth set: scopes', () => {
  testWitnesses({
    'grants-of-key-made-by-created-key-checked-against-its-creator': async (c) => {
      const child = await makeKey(c, { scope: ['apikey', 'solution', 'store'] })
      const grandchild = await makeKey(c, { scope: ['solution'] }, { basic: child })
      return (await grants(c, grandchild, 'store')) && !(await grants(c, grandchild, 'stream'))
    },
    'grant-checked-against-key-of-earlier-call-on-connection': async (c) => {
      const key = await makeKey(c, { scope: ['solution'] })
      const before = await grantsOn(c, 1, key, ['store'])
      await listOn(c, 1, { basic: c.root })
      return !before && (await grantsOn(c, 1, key, ['store'])) && !(await grantsOn(c, 2, key, ['store']))
    },
    'single-scope-of-key-searched-as-text': async (c) =>
      (await grants(c, await makeKey(c, { scope: ['solution:*'] }), 'solution')) &&
      !(await grants(c, await makeKey(c, { scope: ['solution:*', 'store'] }), 'solution')),
    'any-solution-granted-to-key-of-one-solution': async (c) =>
      grants(c, await makeKey(c, { scope: ['solution:one'] }), 'solution:two'),
    'inbox-token-of-created-key-lists-solutions': async (c) => {
      const key = await makeKey(c, { scope: ['inbox'] })
      return (
        (await accessWorks(c, await grantPair(c, ['inbox'], key))) &&
        !(await accessWorks(c, await grantPair(c, ['inbox'])))
      )
    },
    'scope-of-narrow-signer-not-checked-behind-wide-one-on-connection': async (c) => {
      const key = await makeKey(c, { scope: ['store'] })
      const before = works(await listOn(c, 1, { hmac: key }))
      await listOn(c, 1, { hmac: c.root })
      return !before && works(await listOn(c, 1, { hmac: key }))
    },
    'scopes-of-token-cached-by-key-and-number-of-scopes': async (c) => {
      await grantPair(c, ['solution'])
      return accessWorks(c, await grantPair(c, ['context']))
    },
    'entries-behind-session-in-scope-dropped': async (c) =>
      (await accessWorks(c, await grantPair(c, ['solution', 'session:one', 'ipAddr:198.51.100.9']))) &&
      !(await accessWorks(c, await grantPair(c, ['solution', 'ipAddr:198.51.100.9', 'session:one']))),
  })
})
