import http from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { openHttpWire } from './http-wire.ts'
import type { Request } from './wire.ts'

const lengths: (string | undefined)[] = []
const server = http.createServer((request, response) => {
  lengths.push(request.headers['transfer-encoding'] ?? request.headers['content-length'])
  request.resume().on('end', () => {
    if (request.url === '/silent/api') return
    const body = request.url === '/long/api' ? 'x'.repeat(2000) : '{"result":{}}'
    response.setHeader('content-encoding', 'gzip')
    response.end(gzipSync(body))
  })
})
const asked: string[] = []
const proxy = http.createServer()
proxy.on('connect', ({ url = '' }, socket) => {
  asked.push(url)
  const there = connect(portOf(server), '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    there.pipe(socket).pipe(there)
  })
})
for (const each of [server, proxy]) await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve))
afterAll(() => {
  for (const each of [server, proxy]) {
    each.closeAllConnections()
    each.close()
  }
})

function portOf(each: http.Server): number {
  return (each.address() as AddressInfo).port
}

const options = { timeoutMs: 60_000, maxAnswerBytes: 1000, rate: 0 }
const request: Request = { authorization: undefined, body: '{}', from: undefined, connection: 0 }

test('calls of the model go through the proxy, on kept and on new connections', async () => {
  const wire = openHttpWire({ ...options, baseUrl: 'http://a.example', proxy: `http://127.0.0.1:${portOf(proxy)}` })
  for (const connection of [0, 'new'] as const)
    expect(await wire.send({ ...request, connection })).toMatchObject({ kind: 'answer', body: '{"result":{}}' })
  expect(asked).toEqual(['a.example:80', 'a.example:80'])
  wire.close()
})

test('a body goes in chunks if that is wanted, and its length is announced otherwise', async () => {
  const wire = openHttpWire({ ...options, baseUrl: `http://127.0.0.1:${portOf(server)}` })
  lengths.splice(0)
  for (const inChunks of [true, undefined]) await wire.send({ ...request, inChunks })
  expect(lengths).toEqual(['chunked', '2'])
  wire.close()
})

test('an answer that is too long when it is decompressed is not read', async () => {
  const wire = openHttpWire({ ...options, baseUrl: `http://127.0.0.1:${portOf(server)}/long` })
  expect(await wire.send(request)).toEqual({ kind: 'unread' })
  wire.close()
})

test('closing the wire ends every call and every wait', async () => {
  const wire = openHttpWire({ ...options, baseUrl: `http://127.0.0.1:${portOf(server)}/silent` })
  const calls = [0, 'new' as const].map((connection) => wire.send({ ...request, connection }))
  const wait = wire.sleep(86_400_000)
  wire.close()
  expect(await Promise.all(calls)).toMatchObject([{ kind: 'none' }, { kind: 'none' }])
  await wait
})
