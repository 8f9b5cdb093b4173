/** Servers that speak HTTP in unusual ways; each is called in every way in which calls are sent. */
import { createServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { gzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import type { WireAnswer, WireRequest } from '../engine/target.ts'
import { listening } from '../self/local-server.ts'
import { noAnswer, openWire } from './transport.ts'

type Wire = ReturnType<typeof openWire>

const body = '{"jsonrpc":"2.0","id":1,"result":{}}'
const date = 'Thu, 01 Jan 2026 00:00:00 GMT'

const request: WireRequest = {
  method: 'POST',
  path: '/api',
  headers: [['content-type', 'application/json']],
  body: new TextEncoder().encode('{}'),
}

const ways: readonly [string, (wire: Wire) => Promise<WireAnswer | undefined>][] = [
  ['on a kept connection', (wire) => wire.send({ ...request, connection: 'kept' })],
  ['on a new connection', (wire) => wire.send({ ...request, connection: 'fresh' })],
  ['byte for byte', (wire) => wire.send({ ...request, raw: true })],
  ['in a race', async (wire) => (await wire.sendTogether([request, request]))[1]],
]

/** Servers that answer with such bytes. */
type Speakers = readonly [name: string, speak: (socket: Socket) => void][]
const inEveryWay = (speakers: Speakers) =>
  speakers.flatMap(([name, speak]) => ways.map(([way, send]) => ({ name, way, speak, send })))

/** Asks a server that answers with these bytes, once it has seen the whole request. */
async function ask(
  speak: (socket: Socket) => void,
  way: (wire: Wire) => Promise<WireAnswer | undefined>,
  { host = '127.0.0.1', requestTimeoutMs = 5000, maxAnswerBytes = 10_000 } = {},
): Promise<WireAnswer | undefined> {
  const server = createServer((socket) => {
    let seen = ''
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      seen += bytes.toString('latin1')
      if (!seen.endsWith('{}')) return
      seen = ''
      speak(socket)
    })
  })
  const { url: baseUrl, close } = await listening(server, host)
  const wire = openWire({ baseUrl, requestTimeoutMs, maxAnswerBytes })
  try {
    return await way(wire)
  } finally {
    wire.close()
    close()
  }
}

const head = (...headers: string[]): string => `HTTP/1.1 200 OK\r\n${headers.join('\r\n')}\r\n\r\n`
const zipped = gzipSync(body)
const filler = `x-filler: ${'x'.repeat(8000)}`

const plain = head(`Date: ${date}`, `Content-Length: ${body.length}`) + body
const inChunks = [...body].map((character) => `1\r\n${character}\r\n`).join('')
const speakers: Speakers = [
  ['HTTP/1.0 and the end of the connection', (socket) => socket.end(`HTTP/1.0 200 OK\r\nDate: ${date}\r\n\r\n${body}`)],
  [
    'chunks of one byte',
    (socket) => socket.write(`${head(`Date: ${date}`, 'Transfer-Encoding: chunked')}${inChunks}0\r\n\r\n`),
  ],
  [
    'gzip, whether the request allows it or not',
    (socket) => {
      socket.write(head(`Date: ${date}`, 'Content-Encoding: gzip', `Content-Length: ${zipped.length}`))
      socket.write(zipped)
    },
  ],
  ['large headers', (socket) => socket.write(head(`Date: ${date}`, filler, `Content-Length: ${body.length}`) + body)],
  ['early hints first', (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${plain}`)],
]

test.each(inEveryWay(speakers))('$name is understood $way', async ({ speak, send }) => {
  const answer = await ask(speak, send)
  expect(answer).toMatchObject({ kind: 'answer', status: 200, headers: { date } })
  expect(answer?.kind === 'answer' && Buffer.from(answer.body).toString()).toBe(body)
})

test.each(ways)('an answer that never ends counts as no answer, %s', async (_way, send) => {
  const dripping = (socket: Socket): void => {
    socket.write(head('Content-Length: 100000'))
    const timer = setInterval(() => socket.write(' '), 5)
    socket.on('close', () => clearInterval(timer))
  }
  const answer = await ask(dripping, send, { requestTimeoutMs: 60 })
  expect(answer).toMatchObject({ kind: 'none', refusedConnection: false, timedOut: true })
})

const bomb = gzipSync(' '.repeat(1_000_000))
const tooLong: Speakers = [
  [
    'a body that never ends',
    (socket) => {
      socket.write(`${head('Transfer-Encoding: chunked')}`)
      const timer = setInterval(() => socket.write(`1000\r\n${' '.repeat(4096)}\r\n`), 1)
      socket.on('close', () => clearInterval(timer))
    },
  ],
  [
    'a small body that is large when it is unpacked',
    (socket) => {
      socket.write(head('Content-Encoding: gzip', `Content-Length: ${bomb.length}`))
      socket.write(bomb)
    },
  ],
]

test.each(inEveryWay(tooLong))('$name is not read to its end $way', async ({ speak, send }) => {
  expect(await ask(speak, send)).toMatchObject({ kind: 'unread', status: 200, limitBytes: 10_000 })
})

test('answers that are in memory together share the bytes of four', async () => {
  const speak = (socket: Socket): void => void socket.write(head('Content-Length: 900') + ' '.repeat(900))
  const shared = (sharedBy: number) =>
    ask(speak, (wire) => wire.send({ ...request, sharedBy }), { maxAnswerBytes: 1000 })
  expect(await shared(4)).toMatchObject({ kind: 'answer' })
  expect(await shared(40)).toMatchObject({ kind: 'unread', limitBytes: 100 })
})

test('long answers that come at the same time are all read, a few at a time', async () => {
  const long = 600_000
  const speak = (socket: Socket): void => void socket.write(head(`Content-Length: ${long}`) + ' '.repeat(long))
  const lengths: unknown[] = []
  const race = async (wire: Wire): Promise<undefined> => {
    for (const answer of await wire.sendTogether(Array.from({ length: 10 }, () => request)))
      lengths.push(answer.kind === 'answer' ? answer.body.length : answer.kind)
  }
  await ask(speak, race, { maxAnswerBytes: 1_000_000 })
  expect(lengths).toEqual(Array(10).fill(long))
})

const cutShort: Speakers = [
  [
    'a reset within the answer',
    (socket) => {
      socket.write(`${head('Content-Length: 100')}{"jsonrpc"`)
      setTimeout(() => socket.resetAndDestroy(), 5)
    },
  ],
  ['a body that is shorter than it says', (socket) => socket.end(`${head('Content-Length: 100')}{"jsonrpc"`)],
  [
    'bytes that are not the gzip they are called',
    (socket) => socket.end(`${head('Content-Encoding: gzip', 'Content-Length: 4')}what`),
  ],
]

test.each(inEveryWay(cutShort))('$name is an answer or none $way, and nothing is printed', async ({ speak, send }) => {
  const printed = ['log', 'warn', 'error'].map((name) => vi.spyOn(console, name as 'log').mockImplementation(() => {}))
  const answer = await ask(speak, send, { requestTimeoutMs: 500 })
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(['none', 'answer']).toContain(answer?.kind)
  for (const spy of printed) {
    expect(spy.mock.calls).toEqual([])
    spy.mockRestore()
  }
})

const speaksIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
const withoutIPv6 = speaksIPv6 ? '' : ' (NOT RUN: needs the address ::1)'

test.skipIf(!speaksIPv6).each(ways)(`an address of IPv6 is called %s${withoutIPv6}`, async (_way, send) => {
  expect(await ask((socket) => socket.write(plain), send, { host: '::1' })).toMatchObject({
    kind: 'answer',
    status: 200,
  })
})

const openSsl = (what: string): string =>
  `80CC:error:0A00045C:SSL routines:ssl3_read_bytes:${what}:../deps/openssl/ssl/rec_layer_s3.c:1601:SSL alert number 116\n`

test('a server that requires a client certificate is recognised, and OpenSSL is not quoted in full', () => {
  const required = Object.assign(new Error(openSsl('tlsv13 alert certificate required')), {
    code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  })
  expect(noAnswer(required, false)).toMatchObject({
    reason: 'it requires a client certificate (tls.cert and tls.key in the target file name one)',
  })
  expect(noAnswer(new Error(openSsl('sslv3 alert bad certificate')), false)).toMatchObject({
    reason: 'TLS failed: sslv3 alert bad certificate',
  })
})
