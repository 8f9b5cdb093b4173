/** The proxy passes bytes as they come, in both directions, and hands on what it saw; a server or a client that fails is said to. */
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { bodyOf, listening } from '../self/local-server.ts'
import { openProxy } from './proxy.ts'
import { type Observed, observedOf, type Seen } from './records.ts'

/** Lets a server listen until the test has ended, and returns its URL. */
async function urlOf(server: net.Server): Promise<string> {
  const { url, close } = await listening(server)
  onTestFinished(close)
  return url
}

/** A proxy before a server, and what it saw. */
async function before(url: string, more: Partial<Parameters<typeof openProxy>[0]> = {}) {
  const seen: Observed[] = []
  const waiting: ((observed: Observed) => void)[] = []
  const end = (call: Seen): void => {
    const observed = observedOf(call)
    seen.push(observed)
    waiting.shift()?.(observed)
  }
  const [begin, other] = [() => {}, () => {}]
  const here = { host: '127.0.0.1', port: 0, forwards: false, timeoutMs: 600_000 }
  const proxy = await openProxy({ url, ...here, begin, end, other, ...more })
  onTestFinished(() => proxy.close())
  return { ...proxy, seen, next: () => new Promise<Observed>((resolve) => waiting.push(resolve)) }
}

/** Sends bytes, and resolves with all that came back once `until` is in it. */
async function raw(url: string, bytes: string, until: string | RegExp): Promise<string> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(bytes)
  let text = ''
  for await (const chunk of socket) {
    text += chunk
    if (text.match(until) !== null) break
  }
  socket.destroy()
  return text
}

const mixedCase = ['X-Mixed-Case', 'a', 'X-Mixed-Case', 'b', 'Content-Type', 'text/plain']
/** A server that answers with what it got. */
const echo = () =>
  urlOf(
    http.createServer(async (request, response) => {
      const body = await bodyOf(request)
      response.writeHead(200, mixedCase).end(`${request.rawHeaders.join('|')}\n${body}`)
    }),
  )

const head = 'POST /api HTTP/1.1\r\nHost: x\r\nX-Own: 1\r\nx-own: 2\r\nAUTHORIZATION: a b\r\n'

test('headers keep their case, their number and their values; the body is the same, also in chunks', async () => {
  const { url, next } = await before(await echo())
  const seen = next()
  const text = await raw(url, `${head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`, 'abcde')
  expect(text).toContain('X-Own|1|X-Own|2|AUTHORIZATION|a b')
  expect(text).toMatch(/X-Mixed-Case: a\r\nX-Mixed-Case: b/)
  const whole = { target: '/api', bodyBytes: 5, answer: { status: 200 }, isExact: true, unknown: [] }
  expect(await seen).toMatchObject(whole)
})

test('a body is in memory of its own, because whoever judges it in another thread keeps all of that memory', async () => {
  const begun: Uint8Array[] = []
  const { url, next } = await before(await echo(), { begin: (_, tell) => begun.push(tell().body) })
  const seen = next()
  await raw(url, `${head}Content-Length: 3\r\n\r\nabc`, 'abc')
  for (const body of [...begun, (await seen).body]) expect(structuredClone(body).buffer.byteLength).toBe(3)
  expect(begun).toHaveLength(1)
})

test('pipelined requests are answered in order, on one connection', async () => {
  const { url, seen } = await before(await echo())
  const request = (text: string) => `${head}Content-Length: ${text.length}\r\n\r\n${text}`
  const text = await raw(url, request('first') + request('second'), 'second')
  expect(text.indexOf('first')).toBeLessThan(text.indexOf('second'))
  expect(seen.map(({ connection }) => connection)).toEqual([1, 1])
})

test('a client of HTTP/1.0 gets its answer without chunks', async () => {
  const { url } = await before(await echo())
  const text = await raw(url, 'POST /api HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc', 'abc')
  expect(text).toMatch(/^HTTP\/1\.1 200/)
  expect(text).not.toMatch(/transfer-encoding/i)
})

test('large bodies, long headers and other paths pass; of a body the beginning is kept', async () => {
  const server = await urlOf(
    http.createServer({ maxHeaderSize: 256 * 1024 }, (request, response) => {
      request
        .resume()
        .on('end', () => response.end(request.headers['x-long'] === undefined ? request.url : 'z'.repeat(3_000_000)))
    }),
  )
  const { url, next, seen } = await before(server)
  const whole = next()
  const headers = { 'x-long': 'l'.repeat(64_000) }
  const sent = await fetch(`${url}/api`, { method: 'POST', body: 'y'.repeat(5_000_000), headers })
  expect(await sent.text()).toHaveLength(3_000_000)
  expect(await whole).toMatchObject({ bodyBytes: 5_000_000, unknown: ['body', 'answer'], isExact: false })
  expect(await (await fetch(`${url}/other?a=b`, { method: 'PUT', body: 'x' })).text()).toBe('/other?a=b')
  expect(seen).toHaveLength(1)
})

test.each([
  ['a dead', 502, 600_000, async () => 'http://127.0.0.1:9', 'the connection was refused'],
  ['a silent', 504, 50, () => urlOf(http.createServer(() => {})), 'no answer within'],
])('%s server gives %i, which is said to be of the proxy', async (_what, status, timeoutMs, server, because) => {
  const { url, next } = await before(await server(), { timeoutMs })
  const seen = next()
  expect((await fetch(`${url}/api`, { method: 'POST', body: '{}' })).status).toBe(status)
  expect(await seen).toMatchObject({ oursBecause: expect.stringContaining(because) })
})

test.each([
  ['the server hangs up', (response: http.ServerResponse) => response.destroy()],
  ['the server resets', (response: http.ServerResponse) => response.socket?.resetAndDestroy()],
  ['the client resets', (_: http.ServerResponse, client: net.Socket) => client.resetAndDestroy()],
])('within an answer %s: the other side ends too, and the call is told once', async (_, end) => {
  const client = new net.Socket()
  const bothEnded: Promise<unknown>[] = [once(client, 'close')]
  const server = await urlOf(
    http.createServer((_request, response) => {
      bothEnded.push(once(response, 'close'))
      response.writeHead(200, { 'content-length': 100 })
      response.write('part')
      client.once('data', () => end(response, client))
    }),
  )
  const { url, seen, next } = await before(server)
  const told = next()
  client.on('error', () => {}).connect(Number(new URL(url).port), '127.0.0.1')
  client.write(`${head}Content-Length: 2\r\n\r\n{}`)
  await once(client, 'data')
  await Promise.all([...bothEnded, told])
  // What would tell it again comes in the same turn or the next ones.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(seen).toMatchObject([{ answer: null }])
})

test('a client that goes away ends its call at the server', async () => {
  const server = http.createServer()
  const { url, next } = await before(await urlOf(server))
  const seen = next()
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  socket.write(`${head}Content-Length: 2\r\n\r\n{}`)
  const [request] = (await once(server, 'request')) as [http.IncomingMessage]
  const gone = once(request.resume().socket, 'close')
  socket.resetAndDestroy()
  await gone
  expect(await seen).toMatchObject({ answer: null, deliveredMs: null })
})

test('one connection carries many calls, and ends when the server ends its own between two calls', async () => {
  const warnings: string[] = []
  const warn = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', warn)
  const server = http.createServer((request, response) => void request.resume().on('end', () => response.end('done')))
  const { url, seen } = await before(await urlOf(server))
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  const ended = once(socket, 'end')
  for (let call = 0; call < 20; call++) {
    socket.write(`${head}Content-Length: 2\r\n\r\n{}`)
    await once(socket, 'data')
  }
  await new Promise((resolve) => setImmediate(resolve))
  server.closeIdleConnections()
  await ended
  process.off('warning', warn)
  expect(seen.map(({ connection }) => connection)).toEqual(Array(20).fill(1))
  expect(warnings).toEqual([])
})

test('another protocol passes, with all that follows', async () => {
  const server = http.createServer()
  server.on('upgrade', (_request, socket, head) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: own\r\nConnection: Upgrade\r\n\r\n')
    socket.write(`echo ${head}`)
  })
  const { url } = await before(await urlOf(server))
  const upgrade = 'GET /any HTTP/1.1\r\nHost: x\r\nUpgrade: own\r\nConnection: Upgrade\r\n\r\nhello'
  const text = await raw(url, upgrade, 'echo hello')
  expect(text).toMatch(/101 Switching/)
})
