import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ServerOptions } from './context.ts'
import { type MockServer, startMockServer } from './start.ts'
import { basicOf, httpCall, listAt, listing } from './test-client.ts'

/** Fixed, so that a failure is the same on every machine; fast-check prints it with the counterexample. */
const seed = 20_260_101
const right = { json: { result: { list: [{}, {}] } } }
const refusedOrPlain = (status: number) => [200, 404, 413].includes(status)

let server: MockServer
const uncaught: unknown[] = []
const note = (error: unknown) => uncaught.push(error)
beforeAll(async () => {
  process.on('uncaughtException', note).on('unhandledRejection', note)
  server = await startMockServer({ clock: 'virtual', profile: { maxBodyBytes: 4096 } })
})
afterAll(async () => {
  await server.close()
  process.off('uncaughtException', note).off('unhandledRejection', note)
  expect(uncaught).toEqual([])
})

const authorization = () => basicOf(server.rootKey).authorization
const bytesOf = (body: string, more = '') =>
  `POST /api HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization()}\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const stillAnswers = async () => expect(await listAt(server)).toMatchObject(right)

/** A raw connection: what is written to it, and all that comes back until the server closes it or `enough` is there. */
function raw(
  write: (socket: Socket) => void,
  enough: (text: string) => boolean = () => false,
  { url } = server,
): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => write(socket))
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (enough(text)) socket.destroy()
    })
    socket.on('close', () => resolve(text))
  })
}
const answers = (text: string) => text.split('HTTP/1.1 ').length - 1

test('pipelined requests are answered in order', async () => {
  const texts = [1, 2, 3].map((id) => bytesOf(listing.replace('"id":1', `"id":${id}`)))
  const text = await raw(
    (socket) => socket.write(texts.join('')),
    (got) => got.split('"result"').length > 3,
  )
  expect([...text.matchAll(/"id":(\d),/g)].map(([, id]) => id)).toEqual(['1', '2', '3'])
})

test('a body beyond the limit gets 413 and is not read to its end', async () => {
  expect((await httpCall(`${server.url}/api`, { body: 'x'.repeat(4096) })).status).toBe(200)
  expect((await httpCall(`${server.url}/api`, { body: 'x'.repeat(4097) })).status).toBe(413)
  let written = 0
  const text = await raw((socket) => {
    socket.write('POST /api HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`
    const pump = () => {
      if (socket.destroyed || written > 64 * 1024 * 1024) return
      written += chunk.length
      socket.write(chunk, () => setImmediate(pump))
    }
    pump()
  })
  expect(text).toMatch(/^HTTP\/1\.1 413 /)
  expect(written).toBeLessThan(4 * 1024 * 1024)
  await stillAnswers()
})

test('a chunked body is accepted; headers of 1 MiB, broken requests and half-closed sockets are not', async () => {
  const head = `POST /api HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization()}\r\n`
  const chunks = `${head}transfer-encoding: chunked\r\n\r\n46\r\n${listing}\r\n0\r\n\r\n`
  const isAnswered = (got: string) => got.includes('result')
  expect(await raw((socket) => socket.write(chunks), isAnswered)).toContain('"list"')
  const long = bytesOf(listing, `x: ${'y'.repeat(1024 * 1024)}\r\n`)
  expect(await raw((socket) => socket.write(long))).toMatch(/^HTTP\/1\.1 431 /)
  const noRequests = ['\r\n\r\nGET\r\n\r\n', `${'A'.repeat(100)}\r\n\r\n`, '\u0016\u0003\u0001\u0002\u0000']
  for (const broken of [...noRequests, 'POST /api HTTP/9.9\r\n\r\n', bytesOf(listing).slice(0, -10)])
    expect(await raw((socket) => socket.end(broken, 'latin1'))).toMatch(/^(HTTP\/1\.1 400 |$)/)
  const conflicting = `POST /api HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /`
  expect(answers(await raw((socket) => socket.end(conflicting)))).toBe(1)
  await stillAnswers()
})

/** Every character of Unicode. The unit "binary" of fast-check is the same, and first makes a table of a million of them. */
const character = fc.nat({ max: 0x10f7ff }).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800))

/** The signs of a path as they are, and any sign as a percent code. fc.webPath makes the same, but first a list of all signs there are. */
const pathOfAnySign = fc
  .array(fc.oneof(fc.constantFrom(..."abzABZ0189-._~!$&'()*+,;=:@/"), character.map(encodeURIComponent)))
  .map((signs) => signs.join(''))

test('methods and paths of every kind get 404 or no answer', async () => {
  const methods = fc.constantFrom('GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH')
  await fc.assert(
    fc.asyncProperty(methods, pathOfAnySign, async (method, path) => {
      const { status } = await httpCall(`${server.url}/${encodeURI(path)}`.slice(0, 2000), { method })
      expect(refusedOrPlain(status)).toBe(true)
    }),
    { seed, numRuns: 30 },
  )
  expect(await raw((socket) => socket.end('CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n'))).toBe('')
  const upgrade = 'GET /api HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'
  expect(await raw((socket) => socket.end(upgrade))).toMatch(/^HTTP\/1\.1 404 /)
})

test.each(['x: ', 'content-length: 99\r\n\r\n'])('a request that drips after %j is ended', async (begin) => {
  await using impatient = await startMockServer({ bounds: { requestMs: 200 } })
  const drip = (socket: Socket) => {
    socket.write(`POST /api HTTP/1.1\r\nhost: x\r\n${begin}`)
    const timer = setInterval(() => socket.write('a'), 50)
    socket.on('close', () => clearInterval(timer))
  }
  expect(await raw(drip, undefined, impatient)).toMatch(/^HTTP\/1\.1 408 /)
})

async function startRecorded(bytes = 1024 * 1024): Promise<MockServer> {
  const server = await startMockServer({ clock: 'virtual', recording: { bytes } })
  onTestFinished(() => server.close())
  return server
}

/** Sends the body and resolves when the answer, or the end of the connection, is here. */
function post(server: MockServer, agent: Agent | false, headers: { [name: string]: string } = {}): Promise<void> {
  return new Promise((resolve) => {
    const call = request(`${server.url}/api`, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('end', () => resolve())
    })
    call.on('error', () => resolve())
    call.end(listing)
  })
}

test('a recording holds both sides of an exchange, its times and its connection', async () => {
  const server = await startRecorded()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  await post(server, agent, basicOf(server.rootKey))
  await post(server, agent)
  await post(server, false)
  const [first, second, third] = server.recording?.exchanges() ?? []
  const asked = { httpMethod: 'POST', target: '/api', bodyBytes: listing.length }
  expect(first).toMatchObject({ number: 1, connection: 1, ...asked })
  expect(first?.headers).toContainEqual(['authorization', basicOf(server.rootKey).authorization])
  expect(String(first?.body)).toBe(listing)
  expect(first?.answer?.status).toBe(200)
  expect(JSON.parse(first?.answer?.body ?? '')).toMatchObject({ id: 1, result: {} })
  expect([second?.stage, second?.connection, third?.connection]).toEqual(['authorization/none', 1, 2])
  const times = [first, second].flatMap((one) => [one?.startedMs, one?.receivedMs, one?.answeredMs, one?.deliveredMs])
  expect(times).toEqual([...times].sort((one, other) => Number(one) - Number(other)))
  expect(Math.abs(Number(first?.startedMs) - Date.now())).toBeLessThan(60_000)
})

test('whoever answers sees the connection of a call', async () => {
  const seen: unknown[] = []
  const around: ServerOptions['around'] = (handle) => (request) => {
    seen.push(request.connection)
    return handle(request)
  }
  await using server = await startMockServer({ around })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  for (const by of [agent, agent, false] as const) await post(server, by)
  expect(seen).toEqual([1, 1, 2])
})

test('a fault is named, and the answer before it is kept', async () => {
  const server = await startRecorded()
  server.faults.add({ fault: 'malformed' })
  await post(server, false, basicOf(server.rootKey))
  server.faults.add({ fault: 'drop', when: 'after' })
  await post(server, false, basicOf(server.rootKey))
  server.faults.add({ fault: 'throttle', retryAfterSeconds: 1 })
  await post(server, false)
  const [spoilt, dropped, throttled] = server.recording?.exchanges() ?? []
  expect(spoilt?.faults).toEqual(['malformed'])
  expect(spoilt?.answer?.unspoilt).toContain(spoilt?.answer?.body ?? '-')
  expect(dropped).toMatchObject({ faults: ['drop'], deliveredMs: null, answer: { status: 0, body: '' } })
  expect(JSON.parse(dropped?.answer?.unspoilt ?? '')).toMatchObject({ result: {} })
  expect(throttled).toMatchObject({ faults: ['throttle'], stage: 'fault/throttle', answer: { status: 429 } })
})

test('a full recording keeps the first exchanges and counts the others', async () => {
  const server = await startRecorded(2500)
  for (let call = 0; call < 5; call++) await post(server, false)
  const held = server.recording?.exchanges() ?? []
  expect(held.map(({ number }) => number)).toEqual(held.map((_, index) => index + 1))
  expect(held.length).toBeLessThan(5)
  expect(server.recording?.dropped).toBe(5 - held.length)
})

test('a request that never ends stays without an answer', async () => {
  const server = await startRecorded()
  const held = () => server.recording?.exchanges() ?? []
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write('POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{')
  await expect.poll(() => held().length, { timeout: 600_000 }).toBe(1)
  socket.destroy()
  expect(held()).toMatchObject([{ receivedMs: null, answeredMs: null, answer: null }])
})
