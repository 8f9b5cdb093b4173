import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Bounds } from './profile.ts'

/** A request as the handler sees it: complete and unchanged. */
export interface MockRequest {
  /** As received: `POST`. */
  method: string
  /** Path and query as received. */
  target: string
  /** Names in lower case. */
  headers: { readonly [name: string]: string | undefined }
  body: Buffer
  /** IPv4, or IPv6 where the server listens on it. */
  remoteAddress: string
  /** Numbers the connections of one HTTP server, from 1; absent where there is no connection. */
  connection?: number
}

/** An answer as the handler gives it. */
export interface MockAnswer {
  status: number
  headers: { [name: string]: string }
  body: string
  /** Close the connection without any answer (a fault, or a deliberately broken server). */
  hangUp?: boolean
  /** Send the body in chunks, without Content-Length. */
  chunked?: boolean
  /** For a recording; never sent. */
  notes?: AnswerNotes
}

/** Notes on how an answer was made. */
interface AnswerNotes {
  /** Where a refused call was stopped, such as `signature/mac`. */
  stage?: string
  /** The deliberate faults that applied to the call, in the order in which they were armed. */
  faults?: string[]
  /** The body before a fault changed it. */
  unspoilt?: string
}

export type Handle = (request: MockRequest) => MockAnswer | Promise<MockAnswer>

const noBytes = Buffer.alloc(0)

/** A listener of node:http, which express and connect can mount too. Its type needs no types of express. */
export type MountableApp = (request: IncomingMessage, response: ServerResponse) => void

/** Gathers the bytes of a request, hands them to the handler, and sends its answer. */
function createListener(
  handle: Handle,
  /** A longer body is not read to its end. */
  maxBodyBytes: number,
  recording?: ReturnType<typeof createRecording>,
): MountableApp {
  const connectionOf = createConnectionNumbers()
  return (incoming, response) => {
    response.sendDate = false
    const connection = connectionOf(incoming.socket)
    const note = recording?.begin(incoming, response, connection)
    const finish = (answer: MockAnswer) => {
      note?.answered(answer)
      write(response, answer, incoming.complete)
    }
    readBody(incoming, maxBodyBytes, (body) => {
      note?.received(body)
      const answer = handle({
        method: incoming.method ?? '',
        // express leaves the whole path there.
        target: ('originalUrl' in incoming ? String(incoming.originalUrl) : incoming.url) ?? '',
        headers: incoming.headers as { [name: string]: string | undefined },
        body,
        remoteAddress: incoming.socket.remoteAddress ?? '',
        connection,
      })
      if (answer instanceof Promise) answer.then(finish)
      else finish(answer)
    })
  }
}

interface ServerPlan {
  /** 0: any free port. */
  port: number
  host: string
  bounds: Bounds
  maxBodyBytes: number
  /** How much is recorded; undefined: nothing is. */
  recordedBytes?: number | undefined
}

/** The plain node:http edge. Resolves when it listens; rejects with the error of node:net when it cannot. */
export async function openServer(handle: Handle, plan: ServerPlan) {
  const { port, host, bounds, maxBodyBytes, recordedBytes } = plan
  const recording = recordedBytes === undefined ? undefined : createRecording(recordedBytes)
  const server = createServer(
    {
      maxHeaderSize: bounds.headerBytes,
      requestTimeout: bounds.requestMs,
      connectionsCheckingInterval: Math.min(bounds.requestMs, 5000),
    },
    createListener(handle, maxBodyBytes, recording),
  )
  server.maxConnections = bounds.connections
  server.keepAliveTimeout = 65_000
  await once(server.listen(port, host), 'listening')
  return {
    /** As in `http://127.0.0.1:8080`. */
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`,
    recording,
    /** Ends all connections: at once, or gently, each when its calls have ended. */
    close: (gently = false) =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        if (gently) server.closeIdleConnections()
        else server.closeAllConnections()
      }),
  }
}

/**
 * The express edge: the reference server to mount in another server. It takes every path below its mount point; mount it before any body
 * parser, since a signature covers the bytes as sent. express is loaded only here, so that a server without it starts quickly.
 */
export async function createApp(handle: Handle, options: { maxBodyBytes: number }): Promise<MountableApp> {
  const { default: express } = await import('express')
  const bounded: Handle = (request) =>
    request.body.length > options.maxBodyBytes
      ? { status: 413, headers: {}, body: 'Content too large' }
      : handle(request)
  return express().disable('x-powered-by').use(createListener(bounded, options.maxBodyBytes))
}

/** Calls back once, with the whole body, or with slightly more bytes than allowed; the rest is not read then. */
function readBody(incoming: IncomingMessage, maxBytes: number, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  const take = (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > maxBytes) {
      incoming.off('data', take).off('end', end).pause()
      end()
    }
  }
  const end = () => done(chunks.length > 1 ? Buffer.concat(chunks) : (chunks[0] ?? noBytes))
  incoming.on('data', take).on('end', end)
}

function write(response: ServerResponse, answer: MockAnswer, complete: boolean): void {
  if (answer.hangUp) {
    response.socket?.destroy()
    return
  }
  // The unread rest of a request would be taken for the next request on the connection.
  if (!complete) response.once('finish', () => response.socket?.destroySoon()).setHeader('connection', 'close')
  if (answer.chunked) {
    response.writeHead(answer.status, answer.headers)
    const bytes = Buffer.from(answer.body)
    const half = Math.floor(bytes.length / 2)
    response.write(bytes.subarray(0, half))
    response.end(bytes.subarray(half))
    return
  }
  const bytes = Buffer.byteLength(answer.body)
  answer.headers['content-length'] = String(bytes)
  response.writeHead(answer.status, answer.headers)
  // As many bytes as characters: all of them are ASCII, which is written faster if node is told so.
  response.end(answer.body, bytes === answer.body.length ? 'latin1' : 'utf8')
}

/** Numbers sockets from 1, in the order of their first request. */
function createConnectionNumbers(): (socket: Socket) => number {
  const numbers = new WeakMap<Socket, number>()
  let last = 0
  return (socket) => {
    const known = numbers.get(socket)
    if (known !== undefined) return known
    last += 1
    numbers.set(socket, last)
    return last
  }
}

/** One exchange as it went over the wire, SECRETS INCLUDED. Times are ms since 1970, with fractions. */
export interface RecordedExchange {
  /** Counts from 1, in the order in which the requests began to arrive. */
  number: number
  /** Counts from 1, in the order in which connections brought their first request. */
  connection: number
  /** When the header of the request had arrived. */
  startedMs: number
  /** When its body had arrived; null: it did not arrive. */
  receivedMs: number | null
  /** When the answer was ready; null: there was none. */
  answeredMs: number | null
  /** When the last byte of the answer was sent; null: it was not sent. */
  deliveredMs: number | null
  httpMethod: string
  /** Path and query as received. */
  target: string
  /** Names and values as received, in their order. */
  headers: [name: string, value: string][]
  /** At most the first 256 KiB. */
  body: Buffer
  /** The length of the whole body. */
  bodyBytes: number
  /** null: no answer. */
  answer: RecordedAnswer | null
  /** Where a refused call was stopped, such as `signature/mac`. */
  stage?: string
  /** The deliberate faults that applied to the call. */
  faults: string[]
}

export interface RecordedAnswer {
  /** 0 where the connection was closed instead. */
  status: number
  headers: { readonly [name: string]: string }
  /** As sent; at most the first 256 Ki characters. */
  body: string
  /** The body before a fault changed it. */
  unspoilt?: string
}

export interface Recording {
  /** Every exchange that is held, in the order of their numbers; those under way too. */
  exchanges(): readonly RecordedExchange[]
  /** Exchanges that came after the recording was full. */
  readonly dropped: number
}

const bodyBound = 256 * 1024

/** Keeps the exchanges of a server until `bytes` are held. Later ones are only counted, so the recording is complete from the beginning. */
function createRecording(bytes: number) {
  const held: RecordedExchange[] = []
  let room = bytes
  let dropped = 0
  return {
    exchanges: (): readonly RecordedExchange[] => held,
    get dropped() {
      return dropped
    },
    /** Returns what takes the rest of the exchange; undefined once the recording is full. */
    begin(incoming: IncomingMessage, response: ServerResponse, connection: number) {
      const { rawHeaders, method = '', url = '' } = incoming
      const startedMs = preciseNow()
      // Approximately what it takes without its bodies.
      room -= rawHeaders.reduce((sum, text) => sum + text.length, 500 + url.length)
      if (room < 0) {
        dropped += 1
        return undefined
      }
      const exchange: RecordedExchange = {
        number: held.length + 1,
        connection,
        startedMs,
        receivedMs: null,
        answeredMs: null,
        deliveredMs: null,
        httpMethod: method,
        target: url,
        headers: rawHeaders.flatMap((name, at): [string, string][] =>
          at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? '']] : [],
        ),
        body: noBytes,
        bodyBytes: 0,
        answer: null,
        faults: [],
      }
      held.push(exchange)
      response.once('finish', () => {
        exchange.deliveredMs = preciseNow()
      })
      return {
        received(body: Buffer): void {
          exchange.receivedMs = preciseNow()
          exchange.bodyBytes = body.length
          exchange.body = body.length > bodyBound ? Buffer.from(body.subarray(0, bodyBound)) : body
          room -= exchange.body.length
        },
        answered({ status, headers, body, hangUp, notes = {} }: MockAnswer): void {
          const { stage, faults = [], unspoilt } = notes
          exchange.answeredMs = preciseNow()
          exchange.answer = {
            status: hangUp ? 0 : status,
            headers: { ...headers },
            body: hangUp ? '' : body.slice(0, bodyBound),
            ...(unspoilt === undefined ? {} : { unspoilt: unspoilt.slice(0, bodyBound) }),
          }
          room -= body.length
          if (stage !== undefined) exchange.stage = stage
          exchange.faults = faults
        },
      }
    },
  }
}

/** More precise than Date.now, because an answer and the next request are often less than a millisecond apart. */
const preciseNow = (): number => performance.timeOrigin + performance.now()
