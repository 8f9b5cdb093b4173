import { describe } from 'vitest'
import { basic, type Client, grantPair, listingBody, listOn, post, testWitnesses, works } from '../test-witness.ts'

const asRoot = (c: Client, body: string) => post(c, body, basic(c.root.id, c.root.secret))
const call = (id: number, params: object) => JSON.stringify({ jsonrpc: '2.0', id, method: 'manager/auth', params })

const credentials = (c: Client) => ({
  grantType: 'api_key_credentials',
  apiKeyId: c.root.id,
  apiKeySecret: c.root.secret,
  scope: ['solution'],
})

describe('fourth set: envelope', () => {
  testWitnesses({
    'negative-id-loses-its-sign': async (c) =>
      (await asRoot(c, listingBody.replace('"id":7', '"id":-7'))).json.id !== -7,
    'refresh-answered-with-id-of-its-grant': async (c) => {
      const { json } = await post(c, call(21, credentials(c)))
      const { refreshToken } = json.result
      return (await post(c, call(22, { grantType: 'refresh_token', refreshToken }))).json.id !== 22
    },
    'jsonrpc-is-a-number-in-answers-to-tokens': async (c) =>
      (await c.list({ basic: c.root })).json.jsonrpc === '2.0' &&
      (await c.list({ token: (await grantPair(c)).accessToken })).json.jsonrpc !== '2.0',
    'dot-for-slash-in-method-name-taken': async (c) =>
      works(await asRoot(c, listingBody.replace('solution/list', 'solution.list'))),
    'comments-in-json-skipped': async (c) => works(await asRoot(c, listingBody.replace('"id"', '/* id */ "id"'))),
    'grant-authorizes-its-connection': async (c) => {
      const before = works(await listOn(c, 1, { none: true }))
      await post(c, call(21, credentials(c)), undefined, 1)
      return !before && works(await listOn(c, 1, { none: true })) && !works(await listOn(c, 2, { none: true }))
    },
    'body-of-a-multiple-of-256-bytes-not-read': async (c) =>
      works(await asRoot(c, listingBody.padEnd(255))) && !works(await asRoot(c, listingBody.padEnd(256))),
  })
})
