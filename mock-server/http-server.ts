import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Bounds } from './bounds.ts'
import { createConnectionNumbers } from './connection-numbers.ts'
import type { Handle, MockAnswer } from './http.ts'
import type { RecordingWriter } from './recording.ts'

interface HttpServerOptions {
  bounds: Bounds
  /** A longer body is not read to its end. */
  maxBodyBytes: number
  recording?: RecordingWriter | undefined
}

const noBytes = Buffer.alloc(0)

/** The plain node:http edge: gathers the bytes of a request and hands them to the handler. It does not listen yet. */
export function createHttpServer(handle: Handle, { bounds, maxBodyBytes, recording }: HttpServerOptions): Server {
  const connectionOf = createConnectionNumbers()
  const server = createServer(
    {
      maxHeaderSize: bounds.headerBytes,
      requestTimeout: bounds.requestMs,
      connectionsCheckingInterval: Math.min(bounds.requestMs, 5000),
    },
    (incoming, response) => {
      response.sendDate = false
      const exchange = recording?.begin(incoming, response)
      const finish = (answer: MockAnswer) => {
        exchange?.answered(answer)
        write(response, answer, incoming.complete)
      }
      readBody(incoming, maxBodyBytes, (body) => {
        exchange?.received(body)
        const answer = handle({
          method: incoming.method ?? '',
          target: incoming.url ?? '',
          headers: incoming.headers as { [name: string]: string | undefined },
          body,
          remoteAddress: incoming.socket.remoteAddress ?? '',
          connection: connectionOf(incoming.socket),
        })
        if (answer instanceof Promise) answer.then(finish)
        else finish(answer)
      })
    },
  )
  server.maxConnections = bounds.connections
  server.keepAliveTimeout = 65_000
  return server
}

/** Calls back once, with the whole body, or with slightly more bytes than allowed; the rest is not read then. */
function readBody(incoming: IncomingMessage, maxBytes: number, done: (body: Buffer) => void): void {
  let first: Buffer = noBytes
  let more: Buffer[] | undefined
  let bytes = 0
  const take = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes === chunk.length) first = chunk
    else if (more) more.push(chunk)
    else more = [first, chunk]
    if (bytes > maxBytes) {
      incoming.off('data', take).off('end', end).pause()
      end()
    }
  }
  const end = () => done(more ? Buffer.concat(more) : first)
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

/** Resolves when the server listens; rejects with the error of node:net when it cannot. */
export function listenOn(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Closes a server and its connections: all at once, or gently, each when its calls have ended. */
export function closeHttpServer(server: Server, { gently = false } = {}): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    if (gently) server.closeIdleConnections()
    else server.closeAllConnections()
  })
}
