import http from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { openWire } from './transport.ts'

const server = http.createServer((request, response) => {
  request.resume()
  request.on('end', () => response.end('{"result":{}}'))
})
const asked: string[] = []
const proxy = http.createServer()
proxy.on('connect', ({ url = '', headers }, socket) => {
  asked.push(`${url} ${headers['proxy-authorization'] ?? ''}`)
  if (url.startsWith('forbidden')) {
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    return
  }
  if (url.startsWith('away')) {
    socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n')
    return
  }
  const { port } = server.address() as AddressInfo
  const there = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    there.pipe(socket).pipe(there)
  })
})
for (const each of [server, proxy]) await new Promise<void>((resolve) => each.listen(0, '127.0.0.1', resolve))
const { port } = proxy.address() as AddressInfo
afterAll(() => {
  for (const each of [server, proxy]) each.close()
})

const call = { method: 'POST', path: '/api', headers: [], body: new TextEncoder().encode('{}') }

test('a call goes through the proxy, with the credentials for the proxy', async () => {
  const wire = openWire({
    baseUrl: 'http://a.example',
    requestTimeoutMs: 2000,
    proxy: `http://me:pass@127.0.0.1:${port}`,
  })
  expect(await wire.send(call)).toMatchObject({ kind: 'answer', status: 200 })
  expect((await wire.sendTogether([call, call])).map(({ kind }) => kind)).toEqual(['answer', 'answer'])
  expect(asked).toEqual(Array(3).fill(`a.example:80 Basic ${btoa('me:pass')}`))
  wire.close()
})

test.each([
  [
    'forbidden',
    `the proxy 127.0.0.1:${port} answered HTTP 403 instead of opening a connection; it may allow CONNECT`,
    false,
  ],
  ['away', `the proxy 127.0.0.1:${port} answered HTTP 503 instead of opening a connection`, true],
])('a proxy that does not open a connection is named as the reason: %s', async (host, reason, refusedConnection) => {
  const wire = openWire({
    baseUrl: `http://${host}.example`,
    requestTimeoutMs: 2000,
    proxy: `http://me:pass@127.0.0.1:${port}`,
  })
  for (const raw of [true, false])
    expect(await wire.send({ ...call, raw })).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining(reason),
      refusedConnection,
    })
  wire.close()
})

test('a proxy that is not there is named, and not the target', async () => {
  const wire = openWire({ baseUrl: 'http://a.example', requestTimeoutMs: 2000, proxy: 'http://me:pass@127.0.0.1:1' })
  for (const raw of [true, false])
    expect(await wire.send({ ...call, raw })).toMatchObject({
      kind: 'none',
      reason: 'the proxy 127.0.0.1:1 could not be reached (ECONNREFUSED)',
      refusedConnection: false,
    })
  wire.close()
})
