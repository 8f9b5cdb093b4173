import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WireRequest } from '../engine/target.ts'
import { openWire } from './http.ts'

/** Answers with the bytes that came, in hex. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (request.url === '/drop') return request.socket.destroy()
    response.setHeader('x-connection', request.headers.connection ?? '')
    response.setHeader('x-port', String(request.socket.remotePort))
    return response.end(Buffer.concat(chunks).toString('hex'))
  })
})
let baseUrl = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())

const request = (body: Uint8Array, more: Partial<WireRequest> = {}): WireRequest => ({
  method: 'POST',
  path: '/api',
  headers: [['content-type', 'application/json']],
  body,
  ...more,
})

/** A byte order mark, a byte that is no UTF-8, CR LF, and the end of a multi-byte character alone. */
const odd = Uint8Array.from([0xef, 0xbb, 0xbf, 0x22, 0xff, 0x22, 0x0d, 0x0a, 0xa9])

describe('the bytes that are sent', () => {
  test('raw ones arrive as they are', async () => {
    const wire = openWire({ baseUrl, requestTimeoutMs: 5000 })
    const answer = await wire.send(request(odd, { raw: true }))
    expect(answer.kind === 'answer' && Buffer.from(answer.body).toString()).toBe(Buffer.from(odd).toString('hex'))
    wire.close()
  })

  test('JSON text with white space, CR LF and multi-byte characters arrives as it is', async () => {
    const wire = openWire({ baseUrl, requestTimeoutMs: 5000 })
    const text = '  {"a" : "ö鍵🔑",\r\n "b":1}\n'
    const answer = await wire.send(request(new TextEncoder().encode(text)))
    expect(answer.kind === 'answer' && Buffer.from(answer.body).toString()).toBe(Buffer.from(text).toString('hex'))
    wire.close()
  })

  test('racing ones too, every one of them', async () => {
    const wire = openWire({ baseUrl, requestTimeoutMs: 5000 })
    const bodies = Array.from({ length: 30 }, (_nothing, index) => Uint8Array.from([index, ...odd]))
    const answers = await wire.sendTogether(bodies.map((body) => request(body)))
    expect(answers.map((answer) => answer.kind === 'answer' && Buffer.from(answer.body).toString())).toEqual(
      bodies.map((body) => Buffer.from(body).toString('hex')),
    )
    wire.close()
  })
})

test('requests with one name share a connection, which no others use', async () => {
  const wire = openWire({ baseUrl, requestTimeoutMs: 5000 })
  const portOf = async (connection: NonNullable<WireRequest['connection']>): Promise<string> => {
    const answer = await wire.send(request(odd, { connection }))
    return answer.kind === 'answer' ? (answer.headers['x-port'] ?? '') : ''
  }
  const [one, kept, two] = [await portOf('own one'), await portOf('kept'), await portOf('own two')]
  expect(new Set([one, kept, two]).size).toBe(3)
  expect(await portOf('own one')).toBe(one)
  expect(await portOf('own two')).toBe(two)
  wire.close()
})

describe('a kept connection that the server closes without notice', () => {
  test.each([1, 3])('after %s answers is stale, also for calls that queued for it', async (answersEach) => {
    const closing = createServer((incoming, response) => {
      const socket = incoming.socket as Socket & { answers?: number }
      socket.answers = (socket.answers ?? 0) + 1
      if (socket.answers > answersEach) return void socket.destroy()
      incoming.resume().on('end', () => response.end('{}'))
    })
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
    const wire = openWire({
      baseUrl: `http://127.0.0.1:${(closing.address() as AddressInfo).port}`,
      requestTimeoutMs: 5000,
    })
    const answers = await Promise.all(Array.from({ length: 12 }, () => wire.send(request(odd))))
    const silent = answers.filter(({ kind }) => kind === 'none')
    expect(silent.length).toBeGreaterThan(0)
    expect(silent.filter((answer) => answer.kind === 'none' && !answer.stale)).toEqual([])
    wire.close()
    closing.close()
  })
})

test('a race on kept connections that the server has closed is run on new ones', async () => {
  const closing = createServer((incoming, response) => incoming.resume().on('end', () => response.end('{}')))
  closing.on('connection', (socket: Socket) => {
    // Ends every connection as soon as it is used again.
    let requests = 0
    socket.on('data', (bytes: Buffer) => {
      if (!bytes.toString('latin1').startsWith('POST')) return
      requests += 1
      if (requests > 1) socket.resetAndDestroy()
    })
  })
  await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve))
  const wire = openWire({
    baseUrl: `http://127.0.0.1:${(closing.address() as AddressInfo).port}`,
    requestTimeoutMs: 5000,
  })
  const warm = Array.from({ length: 8 }, () => request(odd, { connection: 'warm' }))
  for (let race = 0; race < 3; race += 1)
    expect((await wire.sendTogether(warm)).filter(({ kind }) => kind !== 'answer')).toEqual([])
  wire.close()
  closing.close()
})

describe('no answer is a value', () => {
  test('a dropped connection', async () => {
    const wire = openWire({ baseUrl, requestTimeoutMs: 5000 })
    const answer = await wire.send(request(odd, { path: '/drop', raw: true, connection: 'fresh' }))
    expect(answer).toMatchObject({ kind: 'none', refusedConnection: false, stale: false })
    wire.close()
  })

  test.each([true, false])('a refused connection (raw: %s)', async (raw) => {
    const wire = openWire({ baseUrl: 'http://127.0.0.1:1', requestTimeoutMs: 5000 })
    expect(await wire.send(request(odd, { raw }))).toMatchObject({ kind: 'none', refusedConnection: true })
    wire.close()
  })
})
