import http, { createServer } from 'node:http'
import net, { type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { WireAnswer, WireRequest } from '../engine/target.ts'
import { bodyOf, listening } from '../self/local-server.ts'
import { noAnswer, openSpares, openWire } from './transport.ts'

const post = (body: Uint8Array, more: Partial<WireRequest> = {}): WireRequest => ({
  method: 'POST',
  path: '/api',
  headers: [['content-type', 'application/json']],
  body,
  ...more,
})

/** Opens a wire that is closed after the test. */
function wireTo(baseUrl: string, options: Partial<Parameters<typeof openWire>[0]> = {}) {
  const wire = openWire({ baseUrl, requestTimeoutMs: 600_000, ...options })
  onTestFinished(() => wire.close())
  return wire
}

/** A server that listens until the test has ended. */
async function untilEnd(server: http.Server) {
  const { url, port, close } = await listening(server)
  onTestFinished(close)
  return { url, port }
}

describe('spare connections', () => {
  /** A server, an agent with spare connections to it, and what came of them: the ports that were opened, and those that carried a call. */
  async function open({ most = 9, now }: { most?: number; now?: () => number } = {}) {
    const opened: (number | undefined)[] = []
    const used = new Set<number | undefined>()
    const server = http.createServer((request, response) => {
      used.add(request.socket.remotePort)
      response.end('well')
    })
    server.on('connection', ({ remotePort }) => opened.push(remotePort))
    const { port } = await untilEnd(server)
    const agent = new http.Agent({ keepAlive: false })
    const sockets: Socket[] = []
    const made = agent as unknown as { createConnection(...args: unknown[]): Socket }
    const connect = made.createConnection.bind(agent)
    made.createConnection = (...args) => {
      const socket = connect(...args)
      sockets.push(socket)
      return socket
    }
    const spares = openSpares(agent, () => most, now)
    onTestFinished(() => {
      spares.close()
      agent.destroy()
    })
    const get = (): Promise<string> =>
      new Promise((resolve, reject) => {
        http
          .get({ host: '127.0.0.1', port, agent }, (response) => {
            response.setEncoding('utf8')
            response.on('data', resolve)
          })
          .on('error', reject)
      })
    /** Waits as long as it takes on a busy machine, then a little for more than that. */
    const untilOpened = async (count: number): Promise<void> => {
      await vi.waitFor(() => expect(opened.length).toBeGreaterThanOrEqual(count), { timeout: 600_000 })
      await new Promise((resolve) => setTimeout(resolve, 20))
      expect(opened).toHaveLength(count)
    }
    return { server, sockets, spares, opened, used, get, untilOpened }
  }

  test('none are opened ahead unless that is allowed, and some as soon as it is', async () => {
    const { spares, get, untilOpened } = await open()
    for (let made = 0; made < 3; made += 1) await get()
    await untilOpened(3)
    spares.allow()
    spares.allow()
    await untilOpened(5)
  })

  test('connections that were opened ahead carry one call each', async () => {
    const { spares, opened, used, get, untilOpened } = await open()
    spares.allow()
    for (let made = 0; made < 3; made += 1) {
      expect(await get()).toBe('well')
      await untilOpened(3 + 2 * made)
    }
    expect([...used]).toEqual(opened.slice(0, 3))
  })

  test('no more are open than allowed', async () => {
    const { spares, get, untilOpened } = await open({ most: 3 })
    spares.allow()
    await Promise.all([get(), get()])
    await untilOpened(5)
  })

  test('one that lay idle for long is not used', async () => {
    let nowMs = 0
    const { spares, opened, used, get, untilOpened } = await open({ now: () => nowMs })
    spares.allow()
    await get()
    await untilOpened(3)
    nowMs = 5000
    expect(await get()).toBe('well')
    expect(used).toEqual(new Set([opened[0], opened[3]]))
  })

  test('one that the server closed is not used, and no more are opened', async () => {
    const { server, sockets, spares, get, untilOpened } = await open()
    spares.allow()
    await get()
    await untilOpened(3)
    server.closeAllConnections()
    await vi.waitFor(() => expect(sockets.every(({ destroyed }) => destroyed)).toBe(true), { timeout: 600_000 })
    expect(await get()).toBe('well')
    await untilOpened(4)
  })
})

describe('http', async () => {
  /** Answers with the bytes that came, in hex. */
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    if (request.url === '/drop') return request.socket.destroy()
    response.setHeader('x-connection', request.headers.connection ?? '')
    response.setHeader('x-port', String(request.socket.remotePort))
    return response.end(body.toString('hex'))
  })
  const { url, close } = await listening(server)
  afterAll(close)

  const textOf = (answer: WireAnswer): string => (answer.kind === 'answer' ? Buffer.from(answer.body).toString() : '')
  const hexOf = (body: Uint8Array): string => Buffer.from(body).toString('hex')

  /** A byte order mark, a byte that is no UTF-8, CR LF, and the end of a multi-byte character alone. */
  const odd = Uint8Array.from([0xef, 0xbb, 0xbf, 0x22, 0xff, 0x22, 0x0d, 0x0a, 0xa9])

  test.each([
    ['raw bytes', odd, true],
    ['JSON text with white space, CR LF and others', Buffer.from('  {"a" : "ö鍵🔑",\r\n "b":1}\n'), false],
  ])('%s arrive as they are', async (_what, body, raw) => {
    expect(textOf(await wireTo(url).send(post(body, { raw })))).toBe(hexOf(body))
  })

  test('racing bytes too, every one of them', async () => {
    const bodies = Array.from({ length: 30 }, (_nothing, index) => Uint8Array.from([index, ...odd]))
    const answers = await wireTo(url).sendTogether(bodies.map((body) => post(body)))
    expect(answers.map(textOf)).toEqual(bodies.map(hexOf))
  })

  test('requests with one name share a connection, which no others use, and over which they also race', async () => {
    const wire = wireTo(url)
    const portsOf = (answers: readonly WireAnswer[]) =>
      answers.map((answer) => (answer.kind === 'answer' ? answer.headers['x-port'] : answer.kind))
    const named = (['own one', 'own two'] as const).map((connection) => post(odd, { connection }))
    const inTurn = async () => [await wire.send(post(odd, { connection: 'kept' }))]
    const before = portsOf(await Promise.all(named.map((one) => wire.send(one))))
    expect(new Set([...before, ...portsOf(await inTurn())]).size).toBe(3)
    for (const one of named) expect(before).toContain(portsOf([await wire.send(one)])[0])
    expect(portsOf(await wire.sendTogether(named))).toEqual(before)
  })

  test('each answer of a race is heard when it is there', async () => {
    const held = createServer(async (incoming, response) => {
      if (String(await bodyOf(incoming)) === 'last') await heardTwo
      response.end('{}')
    })
    const heard: number[] = []
    let hearTwo = (): void => {}
    const heardTwo = new Promise<void>((resolve) => (hearTwo = resolve))
    const requests = ['last', 'one', 'two'].map((text) => post(Buffer.from(text)))
    await wireTo((await untilEnd(held)).url).sendTogether(requests, (index) => {
      heard.push(index)
      if (heard.length === 2) hearTwo()
    })
    expect(heard.slice(0, 2).sort()).toEqual([1, 2])
    expect(heard[2]).toBe(0)
  })

  test.each([1, 3])(
    'a kept connection that the server closes without notice after %s answers is stale, also for calls that queued for it',
    async (answersEach) => {
      const closing = createServer((incoming, response) => {
        const socket = incoming.socket as Socket & { answers?: number }
        socket.answers = (socket.answers ?? 0) + 1
        if (socket.answers > answersEach) return void socket.destroy()
        incoming.resume().on('end', () => response.end('{}'))
      })
      const wire = wireTo((await untilEnd(closing)).url)
      // More than there are kept connections, so that some queue.
      const answers = await Promise.all(Array.from({ length: 300 }, () => wire.send(post(odd))))
      const silent = answers.filter(({ kind }) => kind === 'none')
      expect(silent.length).toBeGreaterThan(0)
      expect(silent.filter((answer) => answer.kind === 'none' && !answer.stale)).toEqual([])
    },
  )

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
    const wire = wireTo((await untilEnd(closing)).url)
    const warm = Array.from({ length: 8 }, () => post(odd, { connection: 'warm' }))
    for (let race = 0; race < 3; race += 1)
      expect((await wire.sendTogether(warm)).filter(({ kind }) => kind !== 'answer')).toEqual([])
  })

  test.each([
    ['dropped', () => url, { path: '/drop', connection: 'fresh' as const }, false],
    ['refused', () => 'http://127.0.0.1:1', {}, true],
  ])('no answer is a value where the connection was %s', async (_what, to, more, refusedConnection) => {
    const answer = await wireTo(to()).send(post(odd, more))
    expect(answer).toMatchObject({ kind: 'none', refusedConnection, stale: false })
  })
})

describe('a connection with a name', async () => {
  const lengths: (string | undefined)[] = []
  const ports = new Set<number | undefined>()
  const server = http.createServer((request, response) => {
    ports.add(request.socket.remotePort)
    lengths.push(request.headers['transfer-encoding'] ?? request.headers['content-length'])
    request.resume().on('end', () => {
      if (request.url !== '/silent/api') response.end('{"result":{}}')
    })
  })
  const { url, close } = await listening(server)
  afterAll(close)

  const open = (path = '', mostIdleMs = 600_000) => wireTo(url + path, { opensSpares: false, mostIdleMs })
  const request = post(Buffer.from('{}'), { connection: 'own 0' })

  test('a body goes in chunks if that is wanted, and its length is announced otherwise', async () => {
    const wire = open()
    lengths.splice(0)
    for (const headers of [[['transfer-encoding', 'chunked'] as [string, string]], []])
      await wire.send({ ...request, headers })
    expect(lengths).toEqual(['chunked', '2'])
  })

  test.each([
    ['used again', 600_000, 1],
    ['not used again after it was idle for long', 5, 3],
  ])('a connection with a name is %s', async (_what, mostIdleMs, connections) => {
    const wire = open('', mostIdleMs)
    ports.clear()
    for (let call = 0; call < 3; call += 1) {
      await wire.send(request)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(ports.size).toBe(connections)
  })

  test('closing the wire ends every call', async () => {
    const wire = open('/silent')
    const calls = (['own 0', 'fresh'] as const).map((connection) => wire.send({ ...request, connection }))
    await new Promise((resolve) => setTimeout(resolve, 20))
    wire.close()
    expect(await Promise.all(calls)).toMatchObject([{ kind: 'none' }, { kind: 'none' }])
  })
})

/** Servers that speak HTTP in unusual ways; each is called in every way in which calls are sent. */

type Wire = ReturnType<typeof openWire>

const body = '{"jsonrpc":"2.0","id":1,"result":{}}'
const date = 'Thu, 01 Jan 2026 00:00:00 GMT'

const request = post(new TextEncoder().encode('{}'))

const ways: readonly [string, (wire: Wire) => Promise<WireAnswer | undefined>][] = [
  ['on a kept connection', (wire) => wire.send({ ...request, connection: 'kept' })],
  ['on a new connection', (wire) => wire.send({ ...request, connection: 'fresh' })],
  ['on a connection of its own', (wire) => wire.send({ ...request, connection: 'own 0' })],
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
  { host = '127.0.0.1', requestTimeoutMs = 600_000, maxAnswerBytes = 10_000 } = {},
): Promise<WireAnswer | undefined> {
  const server = net.createServer((socket) => {
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
const says =
  (...bytes: (string | Buffer)[]) =>
  (socket: Socket): void => {
    for (const one of bytes) socket.write(one)
  }
const saysAtEnd = (bytes: string) => (socket: Socket) => void socket.end(bytes)
const zipped = gzipSync(body)
const zippedHead = head(`Date: ${date}`, 'Content-Encoding: gzip', `Content-Length: ${zipped.length}`)
const filler = `x-filler: ${'x'.repeat(8000)}`

const plain = head(`Date: ${date}`, `Content-Length: ${body.length}`) + body
const inChunks = `${[...body].map((character) => `1\r\n${character}\r\n`).join('')}0\r\n\r\n`
const speakers: Speakers = [
  ['HTTP/1.0 and the end of the connection', saysAtEnd(`HTTP/1.0 200 OK\r\nDate: ${date}\r\n\r\n${body}`)],
  ['chunks of one byte', says(head(`Date: ${date}`, 'Transfer-Encoding: chunked'), inChunks)],
  ['gzip, whether the request allows it or not', says(zippedHead, zipped)],
  ['large headers', says(head(`Date: ${date}`, filler, `Content-Length: ${body.length}`), body)],
  ['early hints first', says(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${plain}`)],
]

test.each(inEveryWay(speakers))('$name is understood $way', async ({ speak, send }) => {
  const answer = await ask(speak, send)
  expect(answer).toMatchObject({ kind: 'answer', status: 200, headers: { date } })
  expect(answer?.kind === 'answer' && Buffer.from(answer.body).toString()).toBe(body)
})

/** Sends these bytes again and again, until the connection ends. */
const saysForEver = (first: string, again: string, everyMs: number) => (socket: Socket) => {
  socket.write(first)
  const timer = setInterval(() => socket.write(again), everyMs)
  socket.on('close', () => clearInterval(timer))
}
const bomb = gzipSync(' '.repeat(1_000_000))
const bombHead = head('Content-Encoding: gzip', `Content-Length: ${bomb.length}`)
const endless = saysForEver(head('Transfer-Encoding: chunked'), `1000\r\n${' '.repeat(4096)}\r\n`, 1)
const tooLong: Speakers = [
  ['a body that never ends', endless],
  ['a small body that is large when it is unpacked', says(bombHead, bomb)],
]

test.each(ways)('an answer that never ends counts as no answer, %s', async (_way, send) => {
  const dripping = saysForEver(head('Content-Length: 100000'), ' ', 5)
  const answer = await ask(dripping, send, { requestTimeoutMs: 60 })
  expect(answer).toMatchObject({ kind: 'none', refusedConnection: false, timedOut: true })
})

test.each(inEveryWay(tooLong))('$name is not read to its end $way', async ({ speak, send }) => {
  expect(await ask(speak, send)).toMatchObject({ kind: 'unread', status: 200, limitBytes: 10_000 })
})

test('answers that are in memory together share the bytes of four', async () => {
  const speak = says(head('Content-Length: 900'), ' '.repeat(900))
  const shared = (sharedBy: number) =>
    ask(speak, (wire) => wire.send({ ...request, sharedBy }), { maxAnswerBytes: 1000 })
  expect(await shared(4)).toMatchObject({ kind: 'answer' })
  expect(await shared(40)).toMatchObject({ kind: 'unread', limitBytes: 100 })
})

test('long answers that come at the same time are all read, a few at a time', async () => {
  const long = 600_000
  const speak = says(head(`Content-Length: ${long}`), ' '.repeat(long))
  const lengths: unknown[] = []
  const race = async (wire: Wire): Promise<undefined> => {
    for (const answer of await wire.sendTogether(Array.from({ length: 10 }, () => request)))
      lengths.push(answer.kind === 'answer' ? answer.body.length : answer.kind)
  }
  await ask(speak, race, { maxAnswerBytes: 1_000_000 })
  expect(lengths).toEqual(Array(10).fill(long))
})

const beginning = `${head('Content-Length: 100')}{"jsonrpc"`
const resetWithin = (socket: Socket): void => {
  socket.write(beginning)
  setTimeout(() => socket.resetAndDestroy(), 5)
}
const noGzip = `${head('Content-Encoding: gzip', 'Content-Length: 4')}what`
const cutShort: Speakers = [
  ['a reset within the answer', resetWithin],
  ['a body that is shorter than it says', saysAtEnd(beginning)],
  ['bytes that are not the gzip they are called', saysAtEnd(noGzip)],
]

test.each(inEveryWay(cutShort))('$name is an answer or none $way, and nothing is printed', async ({ speak, send }) => {
  const printed = ['log', 'warn', 'error'].map((name) => vi.spyOn(console, name as 'log').mockImplementation(() => {}))
  const answer = await ask(speak, send)
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
  expect(await ask(says(plain), send, { host: '::1' })).toMatchObject({ kind: 'answer', status: 200 })
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
