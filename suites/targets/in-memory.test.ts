import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WireRequest } from '../engine/target.ts'
import { basicHeader } from '../self/made-up-calls.ts'
import { type MockServer, startMockServer } from './bundled.ts'
import { openInProcess } from './in-memory.ts'
import { openWire } from './transport.ts'

const secondAddress = '127.0.0.12'
let server: MockServer
let wire: ReturnType<typeof openWire>
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
const asking = (handle: Parameters<typeof openInProcess>[0]['handle']) =>
  openInProcess({ handle, baseUrl: server.url, secondAddress }, overWire)
const answer = { status: 200, headers: {}, body: '' }
beforeAll(async () => {
  server = await startMockServer({ clock: 'virtual', profile: { basePath: '/base' } })
  wire = openWire({ baseUrl: server.url, requestTimeoutMs: 600_000, secondAddress })
  inProcess = asking(server.handle)
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
  const [without, over] = [await inProcess.send(request()), await wire.send(request())]
  if (without?.kind !== 'answer' || over.kind !== 'answer') throw new Error('There is no answer')
  const { connection: _c, 'keep-alive': _k, ...headers } = over.headers
  expect(without).toEqual({ ...over, headers, body: Buffer.from(over.body) })
})

test('raw requests, long bodies and headers sent twice need a connection, and races with one of them', async () => {
  const plain = call('solution/listSolutions')
  const [body, headers] = [Buffer.alloc(300_000), [basic('a'), basic('b')]]
  const needing = [{ raw: true }, { body }, { headers }].map((more) => call('x', more))
  for (const request of needing) await inProcess.send(request)
  await inProcess.sendTogether([plain, plain])
  expect(sent.splice(0)).toEqual(needing)
  await inProcess.sendTogether([plain, ...needing.slice(2)])
  expect(sent.splice(0)).toEqual([plain, ...needing.slice(2)])
})

test('calls at once are answered in their own places, and each is heard', async () => {
  const heard: number[] = []
  const calls = ['solution/listSolutions', 'solution/noSuchOperation'].map((method) => call(method))
  const answers = await inProcess.sendTogether(calls, (index) => heard.push(index))
  expect(answers.map((one) => ('body' in one ? String(one.body).includes('"error"') : one))).toEqual([false, true])
  expect(heard.sort()).toEqual([0, 1])
})

test('calls at once begin before any of them is answered', async () => {
  let there = 0
  const racing = asking(async () => {
    there += 1
    await new Promise((resolve) => setImmediate(resolve))
    return { ...answer, body: String(there) }
  })
  const answers = await racing.sendTogether([call('x'), call('x'), call('x')])
  expect(answers).toMatchObject(Array(3).fill({ kind: 'answer', body: Buffer.from('3') }))
})

test('timers have their turn among the calls of many cases as often as among those of one', async () => {
  let [calls, isOver] = [0, false]
  const busy = asking(() => {
    calls += 1
    for (const endMs = performance.now() + 1; performance.now() < endMs; );
    return answer
  })
  setTimeout(() => (isOver = true), 1)
  const ask = async (): Promise<unknown> => isOver || busy.send(call('x')).then(ask)
  await Promise.all(Array.from({ length: 8 }, ask))
  expect(calls).toBeLessThan(40)
})

test('a connection that is dropped is no answer', async () => {
  server.faults.add({ fault: 'drop', when: 'before', method: 'solution/listSolutions' })
  expect(await inProcess.send(call('solution/listSolutions'))).toMatchObject({ kind: 'none', stale: false })
})

test('only calls on the kept connection, and requests with one name, share a number', async () => {
  const seen: number[] = []
  const numbering = asking(({ connection }) => {
    seen.push(connection)
    return answer
  })
  const connections = ['kept', 'own one', 'fresh', 'own two', 'unused', 'kept', 'own one'] as const
  for (const connection of connections) await numbering.send(call('x', { connection }))
  await numbering.send(call('x', { from: 'second-address' }))
  expect(seen.slice(5, 7)).toEqual(seen.slice(0, 2))
  expect(new Set(seen).size).toBe(6)
})
