/**
 * The proxy of `watch`: bytes pass unchanged in both directions, and a copy of every call of the interface is handed on. httpxy does the
 * plumbing. Each connection of a client has one of its own to the server, so what the server does to a connection its client sees too.
 */
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import type { Duplex, Stream, Writable } from 'node:stream'
import tls from 'node:tls'
import { createProxyServer } from 'httpxy'
import { portError } from '../engine/errors.ts'
import { groupBy } from '../engine/group.ts'
import { noAnswer, type Tls } from '../targets/transport.ts'
import type { Begun } from './follow.ts'
import { isCall, pairsOf, type Seen } from './records.ts'

interface ProxyOptions {
  /** The base URL of the server. */
  url: string
  host: string
  /** 0: any free one. */
  port: number
  /** How the server is reached by https. */
  tls?: Tls | undefined
  /** The certificate and key of the proxy, in PEM; without them it speaks http. */
  certificate?: { cert: string; key: string } | undefined
  /** Headers that every request to the server carries. */
  headers?: { readonly [name: string]: string }
  /** Whether the server is told the address of the client, as X-Forwarded-For. */
  forwards: boolean
  /** How long the server may take to begin an answer, and to go on with it. */
  timeoutMs: number
  /** `tell` may be asked later, even after the call is over. */
  begin(number: number, tell: () => Begun): void
  end(seen: Seen): void
  /** A request that is no call of the interface. */
  other(): void
}

interface WatchProxy {
  url: string
  /** Takes no more connections, ends the idle ones and, a moment later, the others. */
  close(): Promise<void>
}

/** More of a body is passed on, and not kept. */
const keptBytes = 256 * 1024
const longestHeader = 256 * 1024
/** How long calls under way may take to end after the end of the proxy. */
const closingMs = 1000

/** A call that is under way. */
interface Underway extends Pick<Seen, 'number' | 'connection' | 'startedMs' | 'receivedMs' | 'because'> {
  from: number
  request: Copy
  answer: Copy
  /** Its answer, once all of it has come. */
  told: { status: number; headers: readonly string[]; atMs: number; to: number } | null
}

/** What belongs to a connection of a client. */
interface Client {
  number: number
  remoteAddress: string
  /** Holds its connection to the server. */
  agent: http.Agent
  /** How many of its requests are under way. */
  busy: number
}

interface Copy {
  chunks: Buffer[]
  bytes: number
}

const emptyCopy = (): Copy => ({ chunks: [], bytes: 0 })

function copyInto(copy: Copy, chunk: Buffer): void {
  if (copy.bytes < keptBytes) copy.chunks.push(chunk.subarray(0, keptBytes - copy.bytes))
  copy.bytes += chunk.length
}

const { timeOrigin } = performance
/** On the same clock as everything else here, and finer than a millisecond. */
const preciseNow = (): number => timeOrigin + performance.now()

/** @throws SuiteError (`usage`) where the port is taken */
export async function openProxy(options: ProxyOptions): Promise<WatchProxy> {
  const target = new URL(options.url)
  const isSecure = target.protocol === 'https:'
  const { insecure = false, ...pem } = options.tls ?? {}
  const secured = isSecure
    ? { ...pem, rejectUnauthorized: !insecure, servername: net.isIP(target.hostname) === 0 ? target.hostname : '' }
    : {}
  const clients = new WeakMap<net.Socket, Client>()
  const mirrored = new WeakSet<net.Socket>()
  const underWay = new WeakMap<http.IncomingMessage, Underway>()
  /** Connections that speak another protocol now. */
  const tunnels = new Set<Duplex>()
  let connectionCount = 0
  let number = 0
  let order = 0

  const clientOf = (socket: net.Socket): Client => {
    const known = clients.get(socket)
    if (known !== undefined) return known
    const agent = new (isSecure ? https.Agent : http.Agent)({ keepAlive: true, maxSockets: 1, ...secured })
    // There is one server, so its name need not be put together for each call.
    agent.getName = () => 'server'
    const client = { number: ++connectionCount, remoteAddress: socket.remoteAddress ?? '', agent, busy: 0 }
    clients.set(socket, client)
    socket.once('close', () => agent.destroy())
    // Where the server ends a connection between two calls, its client's ends too.
    agent.on('free', (upstream: net.Socket) => {
      if (mirrored.has(upstream)) return
      mirrored.add(upstream)
      upstream.once('close', () => {
        if (client.busy === 0) socket.end()
      })
    })
    return client
  }

  const ofServer = { target, secure: !insecure, xfwd: options.forwards }
  const proxy = createProxyServer({ ...ofServer, selfHandleResponse: true, changeOrigin: true })

  proxy.on('proxyReq', (outgoing, request) => {
    restoreHeaders(outgoing, request)
    for (const [name, value] of Object.entries(options.headers ?? {})) outgoing.setHeader(name, value)
    outgoing.setTimeout(options.timeoutMs, () => {
      outgoing.destroy(new Error(`no answer within ${options.timeoutMs / 1000} s`))
    })
  })

  proxy.on('proxyRes', (answer, request, response) => {
    const call = underWay.get(request)
    if (!(response instanceof http.ServerResponse)) return
    response.sendDate = false
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? '', passedHeaders(answer.rawHeaders, request))
    if (call !== undefined) {
      answer.on('data', (chunk: Buffer) => copyInto(call.answer, chunk))
      answer.once('end', () => noteAnswer(call, answer.statusCode ?? 0, answer.rawHeaders))
    }
    answer.pipe(response)
  })

  /** The server gave no answer, or not a whole one. */
  const fail = (error: Error, request: http.IncomingMessage, response: unknown): void => {
    const call = underWay.get(request)
    if (!(response instanceof http.ServerResponse) || response.headersSent) {
      if (response instanceof http.ServerResponse) response.destroy()
      return
    }
    const status = /^no answer within/.test(error.message) ? 504 : 502
    const answer = noAnswer(error, false)
    const why = answer.kind === 'none' ? answer.reason : error.message
    const because = `svc-conformance watch: the server gave no answer (${why})`
    const text = Buffer.from(`${because}\n`)
    if (response.destroyed || request.socket.destroyed) return
    response.writeHead(status, { 'content-type': 'text/plain', 'content-length': text.length, connection: 'close' })
    response.end(text)
    if (call === undefined) return
    call.because = because
    copyInto(call.answer, text)
    noteAnswer(call, status, [])
  }
  proxy.on('error', (error, request, response) => {
    if (request !== undefined) fail(error, request, response)
  })

  const noteAnswer = (call: Underway, status: number, headers: readonly string[]): void => {
    call.told = { status, headers, atMs: preciseNow(), to: ++order }
  }

  /** Hands a call on when its answer is sent, or its client is gone. */
  const handOn = (
    { request: sent, told, answer, from, ...call }: Underway,
    request: http.IncomingMessage,
    isDelivered: boolean,
  ): void =>
    options.end({
      ...call,
      receivedMs: call.receivedMs ?? (request.complete ? call.startedMs : null),
      answeredMs: told?.atMs ?? null,
      deliveredMs: isDelivered ? preciseNow() : null,
      order: { from, to: told?.to ?? ++order },
      httpMethod: request.method ?? '',
      target: request.url ?? '',
      remoteAddress: clientOf(request.socket).remoteAddress,
      headers: request.rawHeaders,
      body: latin1Of(sent),
      bodyBytes: sent.bytes,
      answer:
        told === null
          ? null
          : { status: told.status, headers: told.headers, body: latin1Of(answer), bodyBytes: answer.bytes },
    })

  const serve = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const client = clientOf(request.socket)
    client.busy += 1
    const given = { agent: client.agent, ssl: { maxHeaderSize: longestHeader, ...secured } }
    if (!isCall({ target: request.url ?? '' })) {
      options.other()
      response.once('close', () => {
        client.busy -= 1
      })
      void proxy.web(request, response, given)
      return
    }
    const call: Underway = {
      number: ++number,
      connection: client.number,
      startedMs: preciseNow(),
      from: ++order,
      receivedMs: null,
      request: emptyCopy(),
      answer: emptyCopy(),
      told: null,
      because: undefined,
    }
    underWay.set(request, call)
    // httpxy takes its body from here once the connection is there; a stream between would take a tenth of all time.
    const pipe = (upstream: Writable): Writable => {
      request.on('data', (chunk: Buffer) => copyInto(call.request, chunk))
      request.once('end', () => {
        call.receivedMs = preciseNow()
        const { method: httpMethod = '', url = '', rawHeaders } = request
        options.begin(call.number, () => ({
          httpMethod,
          target: url,
          headers: pairsOf(rawHeaders),
          // In memory of its own: a small Buffer lies in one that it shares, and a message to a thread would take all of that along.
          body: Uint8Array.from(bytesOf(call.request)),
          from: call.from,
        }))
      })
      return request.pipe(upstream)
    }
    void proxy.web(request, response, { ...given, buffer: { pipe } as unknown as Stream })
    response.once('close', () => {
      client.busy -= 1
      handOn(call, request, response.writableFinished)
    })
  }

  const { certificate } = options
  const settings = { maxHeaderSize: longestHeader, requestTimeout: 0, headersTimeout: 60_000, keepAliveTimeout: 0 }
  const server =
    certificate === undefined
      ? http.createServer(settings, serve)
      : https.createServer({ ...settings, ...certificate }, serve)
  server.on('upgrade', (request, socket, head) => {
    options.other()
    tunnels.add(socket)
    socket.once('close', () => tunnels.delete(socket))
    tunnel(request, socket as net.Socket, head, { target, secured: isSecure ? secured : null })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(portError(options.port, cause)))
    server.listen(options.port, options.host, resolve)
  })
  const { port, address, family } = server.address() as net.AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  return {
    url: `${certificate === undefined ? 'http' : 'https'}://${host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          server.closeAllConnections()
          for (const socket of tunnels) socket.destroy()
        }, closingMs)
        server.close(() => {
          clearTimeout(timer)
          resolve()
        })
        server.closeIdleConnections()
      }),
  }
}

/** The names as they were spelt, and each header as often as it came: Node joins them and writes them in lower case. */
function restoreHeaders(outgoing: http.ClientRequest, { rawHeaders }: http.IncomingMessage): void {
  for (const [lower, sent] of groupBy(pairsOf(rawHeaders), ([name]) => name.toLowerCase())) {
    const [[name, value] = [lower, ''], ...more] = sent
    // The host is the server's; a connection is that of one hop.
    if (lower === 'host' || lower === 'connection' || (name === lower && more.length === 0)) continue
    if (outgoing.getHeader(lower) === undefined) continue
    outgoing.removeHeader(lower)
    outgoing.setHeader(name, more.length === 0 ? value : sent.map(([, one]) => one))
  }
}

/** Every header of an answer as it came, but for those about one connection. */
function passedHeaders(raw: readonly string[], { httpVersion }: http.IncomingMessage): string[] {
  return pairsOf(raw).flatMap(([name, value]) => {
    const lower = name.toLowerCase()
    const isOfHop =
      lower === 'connection' || lower === 'keep-alive' || (lower === 'transfer-encoding' && httpVersion === '1.0')
    return isOfHop ? [] : [name, value]
  })
}

const bytesOf = ({ chunks: [first, ...more] }: Copy): Buffer =>
  first === undefined ? Buffer.alloc(0) : more.length === 0 ? first : Buffer.concat([first, ...more])

const latin1Of = (copy: Copy): string => bytesOf(copy).toString('latin1')

/** Passes a request for another protocol, such as WebSocket, and all that follows. */
function tunnel(
  request: http.IncomingMessage,
  socket: net.Socket,
  head: Buffer,
  { target, secured }: { target: URL; secured: tls.ConnectionOptions | null },
): void {
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const port = Number(target.port) || (secured === null ? 80 : 443)
  const upstream = secured === null ? net.connect(port, host) : tls.connect({ ...secured, port, host })
  const headers = pairsOf(request.rawHeaders).map(
    ([name, value]) => `${name}: ${name.toLowerCase() === 'host' ? target.host : value}\r\n`,
  )
  upstream.write(
    `${request.method} ${target.pathname.replace(/\/$/, '')}${request.url} HTTP/1.1\r\n${headers.join('')}\r\n`,
  )
  upstream.write(head)
  upstream.pipe(socket).pipe(upstream)
  for (const [one, other] of [
    [socket, upstream],
    [upstream, socket],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
}
