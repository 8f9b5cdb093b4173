import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createNetServer, type Socket } from 'node:net'
import { startMockServer } from '../../targets/bundled.ts'
import { listening } from '../local-server.ts'

/** A hostile server. */
export interface HostileServer {
  url: string
  close(): void
}

/** The key that every attack gives the command line. */
export const attackKey = { id: 'root-id', secret: 'a-root-secret-that-no-report-may-show' }

/** A request as a hostile server reads it. */
export interface Received {
  request: IncomingMessage
  body: { id?: unknown; method?: string; params?: { [name: string]: unknown } }
}

/** Starts an HTTP server that answers with `answer`. */
export async function hostileServer(
  answer: (received: Received, response: ServerResponse) => void,
): Promise<HostileServer> {
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => answer({ request, body: parse(text) }, response))
    response.on('error', () => {})
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  return listening(server)
}

/** Starts a plain TCP server: `onRequest` is called once for each chunk that arrives. */
export async function rawServer(onRequest: (socket: Socket) => void): Promise<HostileServer> {
  return tcpServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => onRequest(socket))
  })
}

/** Listens on a free port. `close` ends every connection, also those that `onSocket` passes to `keep`. */
export async function tcpServer(
  onSocket: (socket: Socket, keep: (another: Socket) => void) => void,
): Promise<HostileServer> {
  const sockets = new Set<Socket>()
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createNetServer((socket) => {
    keep(socket)
    onSocket(socket, keep)
  })
  const { url, close } = await listening(server)
  return {
    url,
    close: () => {
      for (const socket of sockets) socket.destroy()
      close()
    },
  }
}

/** Starts the reference server with one kind of answer replaced; it knows the key that attacks use. */
export async function spoiltServer(
  spoil: (answer: { status: number; headers: { [name: string]: string }; body: string }, method: string) => void,
): Promise<HostileServer> {
  const server = await startMockServer({
    rootKey: attackKey,
    around: (handle) => async (request) => {
      const answer = await handle(request)
      spoil(answer, parse(request.body.toString('utf8')).method ?? '')
      return answer
    },
  })
  return { url: server.url, close: () => void server.close() }
}

/** The reference server with other members in every result, or in those of one method. */
export const serverWithMembers = (members: { [name: string]: unknown }, only?: string): Promise<HostileServer> =>
  spoiltServer((answer, method) => {
    if (only !== undefined && method !== only) return
    const body = JSON.parse(answer.body)
    if (body.result === undefined) return
    answer.body = JSON.stringify({ ...body, result: { ...body.result, ...members } })
  })

/** The reference server behind another one, where `meets` says whether it has met a call itself. */
export async function serverBehind(
  meets: (received: Received, response: ServerResponse) => boolean | Promise<boolean>,
): Promise<HostileServer> {
  const inner = await spoiltServer(() => {})
  const outer = await hostileServer(async (received, response) => {
    if (await meets(received, response)) return
    const { authorization } = received.request.headers
    const answer = await fetch(`${inner.url}/api`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
      body: JSON.stringify(received.body),
    }).catch(() => undefined)
    if (answer !== undefined) response.writeHead(answer.status).end(await answer.text())
  })
  return {
    url: outer.url,
    close: () => {
      outer.close()
      inner.close()
    },
  }
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, value: unknown, headers: { [name: string]: string } = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

function parse(text: string): Received['body'] {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}
