import { expect, test } from 'vitest'
import { createTestClient } from './test-client.ts'

const ok = expect.objectContaining({ json: expect.objectContaining({ result: expect.anything() }) })
const no = (code: number) =>
  expect.objectContaining({ json: expect.objectContaining({ error: expect.objectContaining({ code }) }) })

test('the answer echoes the id, small, zero and of 53 bits, and strings', async () => {
  const client = createTestClient()
  for (const id of [1, 0, -5, Number.MAX_SAFE_INTEGER, 'a', 1.5]) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method: 'solution/listSolutions', params: {} }))
    const answer = await client.send({ body, headers: client.headersFor({ basic: client.root }, '') })
    expect(answer.json).toMatchObject({ jsonrpc: '2.0', id, result: { list: [{ id: expect.any(String) }, {}] } })
  }
})

test.each([
  '',
  '{',
  '[]',
  '"x"',
  'null',
  '\ufeff{}',
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
  const headers = client.headersFor({ basic: client.root }, '')
  const { json } = await client.send({ body: Buffer.from(body), headers })
  expect(json).toEqual({ jsonrpc: '2.0', error: { code: -32700, message: 'Parse error' } })
  expect(await client.list({ basic: client.root })).toEqual(ok)
})

test('bytes that are not UTF-8 are refused; other methods and paths are not found', async () => {
  const client = createTestClient()
  const envelope = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{},"x":"?"}'
  const headers = client.headersFor({ basic: client.root }, '')
  const bytes = Buffer.from(envelope)
  expect(await client.send({ body: bytes, headers })).toEqual(ok)
  bytes[bytes.indexOf('?')] = 0xff
  expect(await client.send({ body: bytes, headers })).toEqual(no(-32700))
  expect((await client.send({ method: 'GET' })).status).toBe(404)
  for (const target of ['/', '/api/', '/api?x', '/API', '/x/api'])
    expect((await client.send({ target })).status).toBe(404)
})

test('the method is looked at first, then authorization, params and scope', async () => {
  const client = createTestClient()
  const { accessToken } = (await client.grant(['context'])).json.result
  expect(await client.call('solution/nothing')).toEqual(no(-32601))
  expect(await client.call('__proto__', {}, { basic: client.root })).toEqual(no(-32601))
  expect(await client.call('solution/listSolutions', { x: 1 })).toEqual(no(24879))
  expect(await client.call('solution/listSolutions', { x: 1 }, { token: accessToken })).toEqual(no(-32602))
  expect(await client.call('solution/listSolutions', {}, { token: accessToken })).toEqual(no(24878))
})

test('Basic takes the whole secret of the key only', async () => {
  const client = createTestClient()
  const { id, secret } = client.root
  expect(await client.list({ basic: client.root })).toEqual(ok)
  for (const wrong of ['', secret.slice(1), `${secret}0`, secret.toUpperCase().replace(/^\d/, 'A')]) {
    expect(await client.list({ basic: { id, secret: wrong } })).toEqual(no(24879))
  }
  expect(await client.list({ basic: { id: 'x', secret } })).toEqual(no(24879))
  const right = Buffer.from(`${id}:${secret}`).toString('base64')
  for (const header of [
    `Basic ${id}:${secret}`,
    `Basic ${right.slice(0, -2)}!!`,
    `basic ${right}`,
    `Basic  ${right}`,
    right,
    'Basic',
    '',
  ]) {
    expect(await client.list({ header })).toEqual(no(24879))
  }
})

test('createApiKey takes every means, gives an id and a secret, and needs the scope', async () => {
  const client = createTestClient()
  const params = { name: 'k', scope: ['apikey', 'solution'] }
  const { accessToken } = (await client.grant(['apikey'])).json.result
  const made = []
  for (const auth of [{ basic: client.root }, { hmac: client.root }, { token: accessToken }]) {
    const { json } = await client.createKey(params, auth)
    expect(json.result).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      secret: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    made.push(json.result)
  }
  expect(new Set(made.flatMap(({ id, secret }) => [id, secret])).size).toBe(6)
  expect(await client.createKey(params, { none: true })).toEqual(no(24879))
  expect(await client.createKey(params, { basic: made[0] })).toEqual(ok)
  const poor = (await client.createKey({ name: 'k', scope: ['solution'] })).json.result
  expect(await client.createKey(params, { basic: poor })).toEqual(no(24878))
  const wrong = [
    {},
    { name: 'k' },
    { scope: [] },
    { name: 1, scope: [] },
    { name: 'k', scope: 'apikey' },
    { name: 'k', scope: [1] },
    { ...params, scope: ['expiresIn:5'] },
    { ...params, extra: 1 },
  ]
  for (const bad of wrong) expect(await client.createKey(bad)).toEqual(no(-32602))
})

test('ten keys can be created, deleting frees a place, disabling does not', async () => {
  const client = createTestClient()
  const params = { name: 'k', scope: ['solution'] }
  const keys: { id: string; secret: string }[] = []
  for (let made = 0; made < 10; made++) keys.push((await client.createKey(params)).json.result)
  expect(await client.createKey(params)).toEqual(no(24877))
  for (const key of keys) expect(await client.list({ basic: key })).toEqual(ok)
  const [first, second] = keys as [{ id: string; secret: string }, { id: string; secret: string }]
  const { accessToken, refreshToken } = (await client.grant(['solution'], first)).json.result
  expect(await client.call('manager/updateApiKey', { id: first.id, enabled: false }, { basic: client.root })).toEqual(
    ok,
  )
  for (const auth of [{ basic: first }, { hmac: first }, { token: accessToken }])
    expect(await client.list(auth)).toEqual(no(24879))
  expect(await client.refresh(refreshToken)).toEqual(no(24875))
  expect(await client.grant(['solution'], first)).toEqual(no(24875))
  expect(await client.createKey(params)).toEqual(no(24877))
  await client.call('manager/updateApiKey', { id: first.id, enabled: true }, { basic: client.root })
  expect(await client.list({ token: accessToken })).toEqual(ok)
  expect(await client.call('manager/deleteApiKey', { id: second.id }, { basic: client.root })).toEqual(ok)
  expect(await client.list({ basic: second })).toEqual(no(24879))
  expect(await client.createKey(params)).toEqual(ok)
  expect(await client.call('manager/deleteApiKey', { id: client.root.id }, { basic: client.root })).toEqual(no(48))
})

test('keys can be listed, read and renamed; a key cannot disable or delete itself', async () => {
  const client = createTestClient()
  const { id } = (await client.createKey({ name: 'k', scope: ['solution'] })).json.result
  const call = (operation: string, params: object) =>
    client.call(`manager/${operation}`, params, { basic: client.root })
  const names = async () => (await call('listApiKeys', {})).json.result.list.map(({ name }: { name: string }) => name)
  expect(await names()).toEqual(['root', 'k'])
  expect(await call('updateApiKey', { id, name: 'renamed' })).toEqual(ok)
  expect((await call('getApiKey', { id })).json.result.apiKey).toEqual({
    id,
    created: client.context.now(),
    enabled: true,
    name: 'renamed',
    scope: ['solution'],
  })
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
  expect((await call('getSolution', { id })).json.result.solution).toEqual({
    id,
    created: client.context.now(),
    name: 't',
  })
  expect(await call('deleteSolution', { id })).toEqual(ok)
  expect(await call('getSolution', { id })).toEqual(no(48))
})

test('a batch is one caller, so that its one signature is enough', async () => {
  const client = createTestClient({ profile: { batch: 'answered' } })
  const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'solution/listSolutions', params: {} })
  const body = JSON.stringify([list(1), list(2), 7])
  const { json } = await client.send({
    body: Buffer.from(body),
    headers: client.headersFor({ hmac: client.root }, body),
  })
  expect(json).toMatchObject([{ id: 1, result: {} }, { id: 2, result: {} }, { error: { code: -32700 } }])
})

test('a scope asked for twice is granted once; an IPv4 address is one in either form', async () => {
  const client = createTestClient()
  const { result } = (await client.grant(['solution', 'solution', 'ipAddr:10.0.0.1'])).json
  expect(result.scope).toEqual(['solution'])
  expect(await client.list({ token: result.accessToken }, '::ffff:10.0.0.1')).toEqual(ok)
  expect(await client.list({ token: result.accessToken }, '10.0.0.11')).toEqual(no(24879))
})

test('the eleventh key pushes out the oldest where the profile says so', async () => {
  const client = createTestClient({ profile: { eleventhKey: 'oldest-removed' } })
  const keys: { id: string; secret: string }[] = []
  for (let made = 0; made < 11; made++)
    keys.push((await client.createKey({ name: 'k', scope: ['solution'] })).json.result)
  const works = await Promise.all(keys.map(async (basic) => 'result' in (await client.list({ basic })).json))
  expect(works).toEqual([false, ...Array<boolean>(10).fill(true)])
})

test('a grant has all six members, and says when its tokens end', async () => {
  const client = createTestClient()
  const { json } = await client.grant(['apikey', 'solution', 'context', 'session:s'])
  const now = client.context.now()
  expect(json.result).toEqual({
    accessToken: expect.stringMatching(/^[\w-]{43}$/),
    accessTokenExpiry: now + 900_000,
    refreshToken: expect.stringMatching(/^[\w-]{43}$/),
    refreshTokenExpiry: now + 604_800_000,
    tokenType: 'Bearer',
    scope: ['apiKey', 'solution', 'context'],
  })
  expect(await client.list({ token: json.result.accessToken })).toEqual(ok)
  expect(await client.list({ token: json.result.refreshToken })).toEqual(no(24879))
  expect(await client.refresh(json.result.accessToken)).toEqual(no(21))
  client.clock.advance(900_000 - 1)
  expect(await client.list({ token: json.result.accessToken })).toEqual(ok)
  client.clock.advance(1)
  expect(await client.list({ token: json.result.accessToken })).toEqual(no(24879))
})

test('a grant is refused for wrong credentials, params and scopes', async () => {
  const client = createTestClient()
  const { id, secret } = client.root
  const right = { grantType: 'api_key_credentials', apiKeyId: id, apiKeySecret: secret, scope: ['solution'] }
  const attempt = (params: object) => client.call('manager/auth', params)
  expect(await attempt({ ...right, apiKeySecret: 'x' })).toEqual(no(24876))
  expect(await attempt({ ...right, apiKeyId: 'x' })).toEqual(no(24875))
  for (const name of ['grantType', 'apiKeyId', 'apiKeySecret', 'scope'])
    expect(await attempt({ ...right, [name]: undefined })).toEqual(no(-32602))
  for (const bad of [{ grantType: 'password' }, { extra: 1 }, { scope: 'solution' }])
    expect(await attempt({ ...right, ...bad })).toEqual(no(-32602))
  for (const scope of [
    'Solution',
    'nonsense',
    'ipAddr:::1',
    'ipAddr:1.2.3',
    'expiresIn:-1',
    'expiresIn:1.5',
    'expiresIn:x',
    'expiresIn:604800001',
    'session:',
  ]) {
    expect(await attempt({ ...right, scope: [scope] })).toEqual(no(24878))
  }
  const poor = (await client.createKey({ name: 'k', scope: ['solution'] })).json.result
  expect(await client.grant(['solution', 'context'], poor)).toEqual(no(24878))
})

test('a refresh gives a new pair, revokes the old one and keeps what was granted', async () => {
  const client = createTestClient()
  let { result } = (await client.grant(['context', 'ipAddr:127.0.0.1', 'expiresIn:60000', 'session:s'])).json
  for (let round = 0; round < 5; round++) {
    client.clock.advance(70_000)
    const next = (await client.refresh(result.refreshToken)).json.result
    expect(Object.keys(next).sort()).toEqual(Object.keys(result).sort())
    expect(next).toMatchObject({ scope: ['context'], accessTokenExpiry: client.context.now() + 60_000 })
    expect(next.accessToken).not.toBe(result.accessToken)
    const context = (token: string, from?: string) => client.call('context/listContexts', {}, { token }, from)
    expect(await context(next.accessToken)).toEqual(ok)
    expect(await context(next.accessToken, '127.0.0.2')).toEqual(no(24879))
    expect(await client.list({ token: next.accessToken })).toEqual(no(24878))
    expect(await context(result.accessToken)).toEqual(no(24879))
    expect(await client.refresh(result.refreshToken)).toEqual(no(21))
    result = next
  }
  client.clock.advance(604_800_000)
  expect(await client.refresh(result.refreshToken)).toEqual(no(21))
})

test('of twenty refreshes of one token exactly one wins', async () => {
  const client = createTestClient()
  const { refreshToken } = (await client.grant(['solution'])).json.result
  const answers = await Promise.all(Array.from({ length: 20 }, () => client.refresh(refreshToken)))
  expect(answers.filter(({ json }) => 'result' in json)).toHaveLength(1)
})

test('the seventeenth session removes the oldest, with its refresh token', async () => {
  const client = createTestClient()
  const pairs: { accessToken: string; refreshToken: string }[] = []
  const living = async () => {
    const answers = await Promise.all(pairs.map(({ accessToken }) => client.list({ token: accessToken })))
    return answers.map(({ json }) => 'result' in json)
  }
  for (let number = 1; number <= 16; number++)
    pairs.push((await client.grant(['solution', `session:${number}`])).json.result)
  expect(await living()).toEqual(Array(16).fill(true))
  for (const number of [17, 18]) {
    pairs.push((await client.grant(['solution', `session:${number}`])).json.result)
    expect(await living()).toEqual([...Array(number - 16).fill(false), ...Array(16).fill(true)])
  }
  expect(await client.refresh(pairs[0]?.refreshToken ?? '')).toEqual(no(21))
  pairs.push((await client.grant(['solution', 'session:18'])).json.result)
  expect(await living()).toEqual([false, false, ...Array(15).fill(true), false, true])
})

test('solution:ID and solution:* reach the contexts under those solutions', async () => {
  const client = createTestClient()
  const [one = '', two = ''] = [...client.context.state.solutions.keys()]
  const token = async (...scope: string[]) => ({ token: (await client.grant(scope)).json.result.accessToken as string })
  const narrow = await token(`solution:${one}`)
  const wide = await token('solution:*')
  const reach = (solution: string, auth: { token: string }) => client.call('context/listContexts', { solution }, auth)
  expect(await reach(one, narrow)).toEqual(ok)
  expect(await reach(two, narrow)).toEqual(no(48))
  for (const id of [one, two]) expect(await reach(id, wide)).toEqual(ok)
  expect(await client.list(wide)).toEqual(no(24878))
  for (const solution of [one, two]) {
    await client.call(
      'context/createContext',
      { solution, name: 'c', description: '', scope: 'private' },
      { basic: client.root },
    )
  }
  expect((await client.call('context/listContexts', {}, narrow)).json.result.list).toMatchObject([{ solution: one }])
  expect((await client.call('context/listContexts', { limit: 1, sortOrder: 'desc' }, wide)).json.result).toMatchObject({
    count: 2,
    list: [{ solution: two }],
  })
})

test.each(['thread/listThreads', 'store/listStores', 'inbox/listInboxes', 'stream/listStreams'])(
  '%s is opened by the scope of its area only',
  async (method) => {
    const client = createTestClient()
    const areas = ['solution', 'context', 'thread', 'store', 'inbox', 'stream']
    const opened: string[] = []
    for (const area of areas) {
      const { accessToken } = (await client.grant([area])).json.result
      if ('result' in (await client.call(method, {}, { token: accessToken })).json) opened.push(area)
    }
    expect(opened).toEqual([method.split('/')[0]])
  },
)

test('a profile changes the form of refusals, the path, the words and the clock', async () => {
  const client = createTestClient({
    profile: {
      refusalStatus: 'http',
      errorBody: 'text',
      basePath: '/v1',
      scheme: 'x-svc',
      tokenPrefix: '',
      clockOffsetMs: 5000,
      closeConnections: true,
    },
  })
  const send = (auth: { [name: string]: string }) =>
    client.send({
      target: '/v1/api',
      headers: auth,
      body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'),
    })
  expect(await send({})).toMatchObject({
    status: 401,
    text: 'Unauthorized',
    headers: { connection: 'close', date: 'Thu, 01 Jan 2026 00:00:05 GMT' },
  })
  expect(await send(client.headersFor({ basic: client.root }, ''))).toEqual(ok)
})

test('a rate limit is measured on the clock of the server, and delay moves a standing clock', async () => {
  const client = createTestClient({ profile: { callsPerSecond: 2, delayMs: 250 } })
  const statuses = []
  for (let calls = 0; calls < 8; calls++) statuses.push((await client.list({ basic: client.root })).status)
  expect(statuses).toEqual([200, 200, 429, 200, 200, 429, 429, 200])
})

test('a replaced rule breaks one thing, a late effect lets concurrent calls through', async () => {
  const later = () => new Promise<void>((resolve) => setImmediate(resolve))
  const client = createTestClient({ rules: { macBytes: () => 32, beforeEffect: later } })
  expect(await client.list({ hmac: client.root })).toEqual(no(24879))
  const { refreshToken } = (await client.grant(['solution'])).json.result
  const answers = await Promise.all([client.refresh(refreshToken), client.refresh(refreshToken)])
  expect(answers).toEqual([ok, ok])
})
