/**
 * What the reference server does beyond the document, or in its own way: its other methods, codes, ids and limits. What the document says
 * is shown by the scenarios that run against it, and each of its rules by a server of suites/servers that breaks it.
 */
import { expect, test } from 'vitest'
import { rawId } from './encoding.ts'
import { basicOf, createTestClient, no, ok } from './test-client.ts'

test('keys can be listed, read and renamed; a key cannot disable or delete itself', async () => {
  const client = createTestClient()
  const { id } = (await client.createKey({ name: 'k', scope: ['solution'] })).json.result
  const call = (operation: string, params: object) =>
    client.call(`manager/${operation}`, params, { basic: client.root })
  const names = async () => (await call('listApiKeys', {})).json.result.list.map(({ name }: { name: string }) => name)
  expect(await names()).toEqual(['root', 'k'])
  expect(await call('updateApiKey', { id, name: 'renamed' })).toEqual(ok)
  const created = client.context.now()
  const renamed = { id, created, enabled: true, name: 'renamed', scope: ['solution'] }
  expect((await call('getApiKey', { id })).json.result.apiKey).toEqual(renamed)
  expect(await call('updateApiKey', { id, scope: ['apiKey'] })).toEqual(no(-32602))
  expect(await call('deleteApiKey', { id })).toEqual(ok)
  expect(await names()).toEqual(['root'])
  for (const operation of ['getApiKey', 'deleteApiKey', 'updateApiKey'])
    expect(await call(operation, { id })).toEqual(no(24875))
  expect(await call('updateApiKey', { id: client.root.id, enabled: false })).toEqual(no(48))
  expect(await call('deleteApiKey', { id: client.root.id })).toEqual(no(48))
})

test('solutions can be created, read, renamed and deleted', async () => {
  const client = createTestClient()
  const call = (operation: string, params: object) =>
    client.call(`solution/${operation}`, params, { basic: client.root })
  const { solutionId: id } = (await call('createSolution', { name: 's' })).json.result
  expect(await call('updateSolution', { id, name: 't' })).toEqual(ok)
  const renamed = { id, created: client.context.now(), name: 't' }
  expect((await call('getSolution', { id })).json.result.solution).toEqual(renamed)
  expect(await call('deleteSolution', { id })).toEqual(ok)
  expect(await call('getSolution', { id })).toEqual(no(48))
})

test('a page of contexts is limited and sorted, and shows what the token reaches', async () => {
  const client = createTestClient()
  const [one = '', two = ''] = [...client.context.state.solutions.keys()]
  const token = async (...scope: string[]) => ({ token: (await client.granted(...scope)).accessToken as string })
  for (const solution of [one, two]) {
    const params = { solution, name: 'c', description: '', scope: 'private' }
    await client.call('context/createContext', params, { basic: client.root })
  }
  const list = async (params: object, ...scope: string[]) =>
    (await client.call('context/listContexts', params, await token(...scope))).json.result
  expect((await list({}, `solution:${one}`)).list).toMatchObject([{ solution: one }])
  const page = { count: 2, list: [{ solution: two }] }
  expect(await list({ limit: 1, sortOrder: 'desc' }, 'solution:*')).toMatchObject(page)
})

test('params that fit no schema, and scopes that are not granted, have their codes', async () => {
  const client = createTestClient()
  const key = { name: 'k', scope: ['apikey', 'solution'] }
  const wrongTypes = [{ name: 'k' }, { name: 1, scope: [] }, { name: 'k', scope: [1] }]
  for (const bad of [...wrongTypes, { ...key, scope: ['expiresIn:5'] }, { ...key, extra: 1 }])
    expect(await client.createKey(bad)).toEqual(no(-32602))
  const { id, secret } = client.root
  const right = { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope: ['solution'] }
  const attempt = (more: object) => client.call('manager/auth', { ...right, ...more })
  for (const name of ['grantType', 'apiKeyId', 'apiKeySecret', 'scope'])
    expect(await attempt({ [name]: undefined })).toEqual(no(-32602))
  for (const scope of ['nonsense', 'ipAddr:::1', 'ipAddr:1.2.3', 'expiresIn:-1', 'expiresIn:604800001', 'session:'])
    expect(await attempt({ scope: [scope] })).toEqual(no(24878))
  expect(await attempt({ apiKeySecret: 'x' })).toEqual(no(24876))
  expect(await attempt({ apiKeyId: 'x' })).toEqual(no(24875))
  expect(await client.refresh('x')).toEqual(no(21))
  for (let made = 0; made < 10; made++) expect(await client.createKey(key)).toEqual(ok)
  expect(await client.createKey(key)).toEqual(no(24877))
})

test('a repeated scope is granted once; both forms of an IPv4 address are accepted', async () => {
  const client = createTestClient()
  const { scope, accessToken: token } = await client.granted('solution', 'solution', 'ipAddr:10.0.0.1')
  expect(scope).toEqual(['solution'])
  expect(await client.list({ token }, { from: '::ffff:10.0.0.1' })).toEqual(ok)
  expect(await client.list({ token }, { from: '10.0.0.11' })).toEqual(no(24879))
})

test.each([
  ...['', '{', '[]', '"x"', 'null', '\ufeff{}'],
  '{"id":1,"method":"solution/listSolutions","params":{}}',
  '{"jsonrpc":"1.0","id":1,"method":"solution/listSolutions","params":{}}',
  '{"jsonrpc":"2.0","method":"solution/listSolutions","params":{}}',
  '{"jsonrpc":"2.0","id":null,"method":"solution/listSolutions","params":{}}',
  '{"jsonrpc":"2.0","id":{},"method":"solution/listSolutions","params":{}}',
  '{"jsonrpc":"2.0","id":1,"method":7,"params":{}}',
  '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions"}',
  '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":[]}',
])('a body that is no request is refused without an id: %j', async (body) => {
  const client = createTestClient()
  const headers = basicOf(client.root)
  const { json } = await client.send({ body: Buffer.from(body), headers })
  expect(json).toEqual({ jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' } })
  expect(await client.list({ basic: client.root })).toEqual(ok)
})

test('bytes that are not UTF-8 are refused; other methods and paths are not found', async () => {
  const client = createTestClient()
  const envelope = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{},"x":"?"}'
  const headers = basicOf(client.root)
  const bytes = Buffer.from(envelope)
  expect(await client.send({ body: bytes, headers })).toEqual(ok)
  bytes[bytes.indexOf('?')] = 0xff
  expect(await client.send({ body: bytes, headers })).toEqual(no(-32700))
  expect((await client.send({ method: 'GET' })).status).toBe(404)
  for (const target of ['/', '/api/', '/api?x', '/API', '/x/api'])
    expect((await client.send({ target })).status).toBe(404)
})

test('a rate limit is measured on the clock of the server, and delay moves a standing clock', async () => {
  const client = createTestClient({ profile: { callsPerSecond: 2, delayMs: 250 } })
  expect(await client.statuses(8)).toEqual([200, 200, 429, 200, 200, 429, 429, 200])
})

test.each([
  ['{"id":9007199254740993}', '9007199254740993'],
  ['{"a":{"id":1},"id" : -12345678901234567890 ,"b":[{"id":2}]}', '-12345678901234567890'],
  ['{"x":"\\"id\\":3","\\u0069d":4}', '4'],
  ['{"id":1,"id":2}', '2'],
  ['{"id":"5"}', undefined],
  ['[{"id":6}]', undefined],
])('%s', (json, wanted) => {
  expect(rawId(json)).toBe(wanted)
})

test.each(['9007199254740993', '123456789012345678901234567890'])('the id %s comes back as it was sent', async (id) => {
  const client = createTestClient()
  const answer = async (method: string): Promise<string> => {
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{}}`)
    return (await client.send({ body, headers: basicOf(client.root) })).text
  }
  expect(await answer('solution/listSolutions')).toContain(`"id":${id},"result"`)
  expect(await answer('solution/nothing')).toContain(`"id":${id},"error"`)
})
