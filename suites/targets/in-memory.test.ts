import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WireRequest } from '../engine/target.ts'
import { basicHeader } from '../self/made-up-calls.ts'
import { type MockServer, startMockServer } from './bundled.ts'
import { openInProcess } from './in-memory.ts'
import { openWire } from './transport.ts'

type Wire = ReturnType<typeof openWire>

const requestTimeoutMs = 600_000
const secondAddress = '127.0.0.12'
let server: MockServer
let wire: Wire
let inProcess: ReturnType<typeof openInProcess>
/** What was sent over the wire. */
const sent: WireRequest[] = []
const overWire: Parameters<typeof openInProcess>[1] = {
  send: (request) => {
    sent.push(request)
    return wire.send(request)
  },
  sendTogether: (requests) => {
    sent.push(...requests)
    return wire.sendTogether(requests)
  },
}
beforeAll(async () => {
  server = await startMockServer({ clock: 'virtual', profile: { basePath: '/base' } })
  wire = openWire({ baseUrl: server.url, requestTimeoutMs, secondAddress })
  inProcess = openInProcess({ handle: server.handle, baseUrl: server.url, secondAddress }, overWire)
})
afterAll(async () => {
  wire.close()
  await server.close()
})

const basic = (secret: string): [string, string] => ['Authorization', basicHeader(server.rootKey.id, secret)]
const ofJson: [string, string] = ['Content-Type', 'application/json']
const call = (method: string, more: Partial<WireRequest> = {}): WireRequest => ({
  method: 'POST',
  path: '/api',
  headers: [ofJson, basic(server.rootKey.secret)],
  body: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: {} })),
  ...more,
})

test.each<[string, () => WireRequest]>([
  ['an accepted call', () => call('solution/listSolutions')],
  ['a call on a new connection', () => call('solution/listSolutions', { connection: 'fresh' })],
  ['a call from another address', () => call('solution/listSolutions', { from: 'second-address' })],
  ['a refused call', () => call('solution/listSolutions', { headers: [ofJson, basic('x')] })],
  ['no credentials', () => call('solution/listSolutions', { headers: [ofJson] })],
  ['malformed JSON', () => call('', { body: Buffer.from('{') })],
  ['another path', () => call('solution/listSolutions', { path: '/other' })],
])('%s gets the same answer as over HTTP', async (_name, request) => {
  const without = await inProcess.send(request())
  const over = await wire.send(request())
  if (without?.kind !== 'answer' || over.kind !== 'answer') throw new Error('There is no answer')
  expect(without.status).toBe(over.status)
  expect(Buffer.from(without.body).toString()).toBe(Buffer.from(over.body).toString())
  const { connection: _c, 'keep-alive': _k, ...headers } = over.headers
  expect(without.headers).toEqual(headers)
})

test('raw requests, long bodies and headers sent twice need a connection, and races with one of them', async () => {
  const plain = call('solution/listSolutions')
  const [body, headers] = [Buffer.alloc(300_000), [basic('a'), basic('b')]]
  const needing = [{ raw: true }, { body }, { headers }].map((more) => call('x', more))
  for (const request of needing) await inProcess.send(request)
  await inProcess.sendTogether([plain, plain])
  expect(sent.splice(0)).toEqual(needing)
  const race = [plain, ...needing.slice(2)]
  await inProcess.sendTogether(race)
  expect(sent.splice(0)).toEqual(race)
})

test('calls at once are answered in their own places, and each is heard', async () => {
  const heard: number[] = []
  const answers = await inProcess.sendTogether(
    ['solution/listSolutions', 'solution/noSuchOperation'].map((method) => call(method)),
    (index) => heard.push(index),
  )
  const bodies = answers.map((answer) => (answer.kind === 'answer' ? String(Buffer.from(answer.body)) : ''))
  expect(bodies.map((body) => body.includes('"error"'))).toEqual([false, true])
  expect(heard.sort()).toEqual([0, 1])
})

test('calls at once begin before any of them is answered', async () => {
  let there = 0
  let letAllGo = (): void => {}
  const all = new Promise<void>((resolve) => (letAllGo = resolve))
  const handle: Parameters<typeof openInProcess>[0]['handle'] = async () => {
    there += 1
    if (there === 3) letAllGo()
    await all
    return { status: 200, headers: {}, body: '' }
  }
  const racing = openInProcess({ handle, baseUrl: server.url, secondAddress }, overWire)
  const answers = await racing.sendTogether([call('x'), call('x'), call('x')])
  expect(answers.map(({ kind }) => kind)).toEqual(['answer', 'answer', 'answer'])
})

test('a connection that is dropped is no answer', async () => {
  server.faults.add({ fault: 'drop', when: 'before', method: 'solution/listSolutions' })
  expect(await inProcess.send(call('solution/listSolutions'))).toMatchObject({ kind: 'none', stale: false })
})

test('only calls on the kept connection, and requests with one name, share a number', async () => {
  const seen: number[] = []
  const handle: Parameters<typeof openInProcess>[0]['handle'] = ({ connection }) => {
    seen.push(connection)
    return { status: 200, headers: {}, body: '' }
  }
  const numbering = openInProcess({ handle, baseUrl: server.url, secondAddress }, overWire)
  const connections = ['kept', 'own one', 'fresh', 'own two', 'unused', 'kept', 'own one'] as const
  for (const connection of connections) await numbering.send(call('x', { connection }))
  await numbering.send(call('x', { from: 'second-address' }))
  const [kept, one, , , , keptAgain, oneAgain] = seen
  expect([keptAgain, oneAgain]).toEqual([kept, one])
  expect(new Set(seen).size).toBe(6)
})
