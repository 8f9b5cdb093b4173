import { spawnSync } from 'node:child_process'
import http from 'node:http'
import https from 'node:https'
import { connect } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { listening } from '../self/local-server.ts'
import { openFolder } from '../self/temporary.ts'
import { openWire, type Tls } from './transport.ts'

const server = await listening(
  http.createServer((request, response) => void request.resume().on('end', () => response.end('{"result":{}}'))),
)
const asked: string[] = []
const { at, read } = openFolder()
const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=made -addext'
const names = ['subjectAltName=DNS:a.example,IP:127.0.0.1', '-keyout', at('key'), '-out', at('cert')]
spawnSync('openssl', [...request.split(' '), ...names])
const certificate = { key: read('key'), cert: read('cert') }
const secure = await listening(
  https.createServer(certificate, ({ socket }, response) => {
    response.end(JSON.stringify({ result: { spoken: (socket as TLSSocket & { servername: unknown }).servername } }))
  }),
)
const proxy = http.createServer()
proxy.on('connect', ({ url = '', headers }, socket) => {
  asked.push(`${url} ${headers['proxy-authorization'] ?? ''}`)
  if (url.startsWith('forbidden')) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  if (url.startsWith('away')) return void socket.end('HTTP/1.1 503 Service Unavailable\r\n\r\n')
  const there = connect(url.endsWith(':443') ? secure.port : server.port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    there.pipe(socket).pipe(there)
  })
})
const { port, close } = await listening(proxy)
afterAll(() => {
  server.close()
  secure.close()
  close()
})

const call = { method: 'POST', path: '/api', headers: [], body: new TextEncoder().encode('{}') }

function throughProxy(baseUrl: string, { at = port, tls = {} }: { at?: number; tls?: Tls } = {}) {
  const wire = openWire({ baseUrl, requestTimeoutMs: 60_000, proxy: `http://me:pass@127.0.0.1:${at}`, tls })
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

test.each([
  // A name is told to the server, an address is not.
  ['https://a.example', 'a.example:443', { result: { spoken: 'a.example' } }],
  ['https://127.0.0.1', '127.0.0.1:443', { result: { spoken: false } }],
])('a call to %s is encrypted for its server: the proxy only sees where it goes', async (url, authority, body) => {
  asked.splice(0)
  const answer = await throughProxy(url, { tls: { ca: certificate.cert } }).send(call)
  expect(answer).toMatchObject({ kind: 'answer', status: 200 })
  expect(JSON.parse(new TextDecoder().decode((answer as { body: Uint8Array }).body))).toEqual(body)
  expect(asked).toEqual([`${authority} Basic ${btoa('me:pass')}`])
  const reason = expect.stringContaining('its certificate is self-signed')
  expect(await throughProxy(url).send(call)).toMatchObject({ kind: 'none', reason })
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
