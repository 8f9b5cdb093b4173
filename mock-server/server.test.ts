import { expect, test } from 'vitest'
import { createTestClient, no, ok } from './test-client.ts'

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

test('a batch has one caller, so one signature is enough', async () => {
  const client = createTestClient({ profile: { batch: 'answered' } })
  const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'solution/listSolutions', params: {} })
  const body = JSON.stringify([list(1), list(2), 7])
  const { json } = await client.send({
    body: Buffer.from(body),
    headers: client.headersFor({ hmac: client.root }, body),
  })
  expect(json).toMatchObject([{ id: 1, result: {} }, { id: 2, result: {} }, { error: { code: -32700 } }])
})

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
