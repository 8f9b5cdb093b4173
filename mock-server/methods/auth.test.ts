import { expect, test } from 'vitest'
import { createTestClient, no, ok } from '../test-client.ts'

test('a grant has all six members, and reports when its tokens expire', async () => {
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
    const context = (token: string, from?: string) => client.call('context/listContexts', {}, { token }, { from })
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

test('of twenty refreshes of one token exactly one succeeds', async () => {
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

test('a repeated scope is granted once; both forms of an IPv4 address are accepted', async () => {
  const client = createTestClient()
  const { result } = (await client.grant(['solution', 'solution', 'ipAddr:10.0.0.1'])).json
  expect(result.scope).toEqual(['solution'])
  expect(await client.list({ token: result.accessToken }, { from: '::ffff:10.0.0.1' })).toEqual(ok)
  expect(await client.list({ token: result.accessToken }, { from: '10.0.0.11' })).toEqual(no(24879))
})
