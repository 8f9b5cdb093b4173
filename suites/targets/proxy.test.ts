import http from 'node:http'
import { connect } from 'node:net'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { listening } from '../self/local-server.ts'
import { openWire } from './transport.ts'

const server = await listening(
  http.createServer((request, response) => void request.resume().on('end', () => response.end('{"result":{}}'))),
)
const asked: string[] = []
const proxy = http.createServer()
proxy.on('connect', ({ url = '', headers }, socket) => {
  asked.push(`${url} ${headers['proxy-authorization'] ?? ''}`)
  if (url.startsWith('forbidden')) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  if (url.startsWith('away')) return void socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n')
  const there = connect(server.port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    there.pipe(socket).pipe(there)
  })
})
const { port, close } = await listening(proxy)
afterAll(() => {
  server.close()
  close()
})

const call = { method: 'POST', path: '/api', headers: [], body: new TextEncoder().encode('{}') }

function throughProxy(baseUrl: string, { at = port } = {}) {
  const wire = openWire({ baseUrl, requestTimeoutMs: 60_000, proxy: `http://me:pass@127.0.0.1:${at}` })
  onTestFinished(() => wire.close())
  return wire
}

test('a call goes through the proxy, with the credentials for the proxy', async () => {
  const wire = throughProxy('http://a.example')
  asked.splice(0)
  for (const connection of ['own 0', 'kept', 'fresh'] as const)
    expect(await wire.send({ ...call, connection })).toMatchObject({ kind: 'answer', status: 200 })
  expect((await wire.sendTogether([call, call])).map(({ kind }) => kind)).toEqual(['answer', 'answer'])
  expect(asked).toEqual(Array(5).fill(`a.example:80 Basic ${btoa('me:pass')}`))
})

const notOpened = (status: number) =>
  `the proxy 127.0.0.1:${port} answered HTTP ${status} instead of opening a connection`
test.each([
  ['http://forbidden.example', port, `${notOpened(403)}; it may allow CONNECT`, false],
  ['http://away.example', port, notOpened(503), true],
  // A proxy that is not there is named, and not the target.
  ['http://a.example', 1, 'the proxy 127.0.0.1:1 could not be reached (ECONNREFUSED)', false],
])(
  'a proxy that does not open a connection to %s is named as the reason',
  async (url, at, reason, refusedConnection) => {
    const none = { kind: 'none', reason: expect.stringContaining(reason), refusedConnection }
    expect(await throughProxy(url, { at }).send(call)).toMatchObject(none)
  },
)
