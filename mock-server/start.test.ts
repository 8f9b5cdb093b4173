import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import supertest from 'supertest'
import { expect, onTestFinished, test } from 'vitest'
import { createHandler } from './handler.ts'
import { createApp } from './http-server.ts'
import * as door from './index.ts'
import { type MockServer, mockServerFixture, serve, startMockServer } from './start.ts'
import { basicOf, ed25519Pair, httpCall, listAt, listing, signedHeader } from './test-client.ts'

async function start(options: Parameters<typeof startMockServer>[0] = {}): Promise<MockServer> {
  const server = await startMockServer({ clock: 'virtual', ...options })
  onTestFinished(() => server.close())
  return server
}

test('a server answers over HTTP, dates its answers by its own clock, and names its solutions', async () => {
  const server = await start({ profile: { clockOffsetMs: 60_000 } })
  const answer = await listAt(server)
  expect(answer.json.result.list.map(({ id }: { id: string }) => id)).toEqual(server.solutions)
  expect(answer.headers.date).toBe('Thu, 01 Jan 2026 00:01:00 GMT')
  expect((await httpCall(`${server.url}/other`)).headers.date).toBe('Thu, 01 Jan 2026 00:01:00 GMT')
})

test('servers share nothing', async () => {
  const [one, other] = [await start(), await start()]
  expect((await listAt(other, { headers: basicOf(one.rootKey) })).json.error.code).toBe(24879)
  one.clock.advance(5000)
  expect(other.clock.now()).toBe(Date.UTC(2026, 0, 1))
})

test('a real clock runs, starts at a given time, and stops when frozen', async () => {
  const server = await start({ clock: 'real', now: 1_000_000 })
  expect(server.clock.now()).toBeGreaterThanOrEqual(1_000_000)
  server.clock.freeze()
  server.clock.set(5)
  server.clock.advance(10)
  expect(server.clock.now()).toBe(15)
  expect(() => server.clock.advance(-1)).toThrow(RangeError)
  expect(() => server.clock.set(Number.NaN)).toThrow(RangeError)
})

test('the root key may have a given id and secret, or a public key', async () => {
  const { pem, privateKey } = ed25519Pair()
  const server = await start({ rootKey: { id: 'root', publicKey: pem } })
  const authorization = signedHeader({ id: 'root', privateKey }, listing, server.clock.now())
  const answer = await listAt(server, { headers: { authorization } })
  expect(answer.json.result).toBeDefined()
  expect((await listAt(server)).json.error).toBeDefined()
  const given = await start({ rootKey: { id: 'a', secret: 'b' } })
  expect(given.rootKey).toEqual({ id: 'a', secret: 'b' })
  await expect(startMockServer({ rootKey: { publicKey: 'no PEM' } })).rejects.toThrow('ED25519 public key in PEM form')
})

test('a token is bound to the address it came for', async () => {
  const server = await start()
  const key = { apiKeyId: server.rootKey.id, apiKeySecret: server.rootKey.secret }
  const params = { grantType: 'api_key_credentials', ...key, scope: ['solution', 'ipAddr:127.0.0.1'] }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'manager/auth', params })
  const grant = await httpCall(`${server.url}/api`, { body })
  const headers = { authorization: `Bearer ${grant.json.result.accessToken}`, 'x-forwarded-for': '127.0.0.1' }
  expect((await listAt(server, { headers })).json.result).toBeDefined()
  const elsewhere = await listAt(server, { headers, localAddress: '127.0.0.2' }).catch(() => undefined)
  // Where the system has no second loopback address the call cannot be made at all.
  if (elsewhere) expect(elsewhere.json.error.code).toBe(24879)
})

test('the express edge gives the same answers below any mount point', async () => {
  const { handle, context } = createHandler({ clock: 'virtual', profile: { basePath: '/auth' } })
  const app = supertest(await createApp(handle, { maxBodyBytes: 1024 }))
  const body = `${listing}\r\n`
  const authorization = signedHeader(context.root, body, context.now())
  const call = (text: string) =>
    app.post('/auth/api').set({ authorization, 'content-type': 'application/json' }).send(text)
  const { body: answer, headers } = await call(body)
  expect(answer.result.list).toHaveLength(2)
  expect(headers.date).toBe('Thu, 01 Jan 2026 00:00:00 GMT')
  expect((await call('x'.repeat(2000))).status).toBe(413)
  expect((await app.get('/auth/api')).status).toBe(404)
})

test('CORS is closed unless origins are named', async () => {
  const closed = await start()
  const server = await start({ cors: ['https://app.example'] })
  const origin = 'https://app.example'
  const preflight = { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } }
  expect((await httpCall(`${closed.url}/api`, preflight)).status).toBe(404)
  const allowed = { 'access-control-allow-origin': origin }
  const headers = { ...allowed, 'access-control-allow-headers': 'authorization, content-type' }
  expect(await httpCall(`${server.url}/api`, preflight)).toMatchObject({ status: 204, headers })
  const call = (origin: string) => listAt(server, { headers: { ...basicOf(server.rootKey), origin } })
  expect((await call(origin)).headers).toMatchObject({ ...allowed, vary: 'origin' })
  expect((await call('https://evil.example')).headers['access-control-allow-origin']).toBeUndefined()
  const wide = await start({ cors: ['*'] })
  expect((await listAt(wide, { headers: { origin: 'null' } })).headers['access-control-allow-origin']).toBe('null')
})

test('a server that stops lets the call under way end', async () => {
  const server = await start()
  server.faults.add({ fault: 'barrier', calls: 2 })
  const waiting = listAt(server)
  while (server.faults.list()[0]?.met !== 1) await new Promise((resolve) => setImmediate(resolve))
  await server.stop()
  expect((await waiting).json.result).toBeDefined()
  await expect(httpCall(`${server.url}/api`)).rejects.toThrow('ECONNREFUSED')
})

const withMock = test.extend({ mock: mockServerFixture({ seed: 1 }) })
withMock('the vitest fixture gives a server with a clock that stands still', async ({ mock }) => {
  expect(mock.clock.frozen).toBe(true)
  expect((await listAt(mock)).status).toBe(200)
})

const page = readFileSync(new URL('../docs/mock.md', import.meta.url), 'utf8')
const section = /<!-- mock:begin -->([\s\S]*)<!-- mock:end -->/.exec(page)?.[1] ?? ''

test('the example in docs/mock.md runs unchanged', async () => {
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(section) ?? []
  const [, names, rest = ''] = /^import \{ (.*) \} from 'svc-conformance\/mock-server'\n([\s\S]*)$/.exec(code) ?? []
  expect(names).toBe('startMockServer')
  const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => (start: unknown) => Promise<void>
  await new AsyncFunction('startMockServer', rest)(door.startMockServer)
})

test('docs/mock.md names every scene and every fault, and nothing that is not exported', async () => {
  for (const scene of door.sceneNames) expect(section).toContain(`\`${scene}\``)
  const refused = await Promise.resolve({ fault: '' } as never)
    .then(createHandler().faults.add)
    .catch(String)
  const kinds = refused.split('expected one of ')[1]?.split(', ') ?? []
  expect(kinds.length).toBeGreaterThan(10)
  for (const kind of kinds) expect(section).toContain(kind.replaceAll('"', '`'))
  for (const name of ['mockServerFixture', 'createApp', 'createHandler']) expect(door).toHaveProperty(name)
})

const folder = fileURLToPath(new URL('../fixtures/clients/python', import.meta.url))
const pythonMissing = spawnSync('python3', ['--version']).status === 0 ? '' : ' (NOT RUN: needs python3)'

async function runTests(line: string): Promise<{ code: number | null; output: string }> {
  const env = { ...process.env, SVC_SERVER: line, PYTHONDONTWRITEBYTECODE: '1' }
  const child = spawn('python3', ['-m', 'unittest', 'test_svc_client'], { cwd: folder, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  return { code, output }
}

test.skipIf(pythonMissing !== '')(`a client in Python passes its own tests through serve${pythonMissing}`, async () => {
  let result: ReturnType<typeof runTests> | undefined
  const print = (line: string) => {
    result = runTests(line)
  }
  const edge = { print, complain: () => {}, onStop: (stop: () => void) => void result?.then(stop) }
  expect(await serve({ control: true, clock: 'virtual' }, edge)).toBe(0)
  const { code, output } = (await result) ?? { code: null, output: 'serve printed no line' }
  expect(code, output).toBe(0)
  expect(output).toMatch(/Ran 7 tests/)
})
