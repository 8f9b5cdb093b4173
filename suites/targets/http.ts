import http from 'node:http'
import https from 'node:https'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import supertest from 'supertest'
import type { WireAnswer, WireRequest } from '../engine/target.ts'
import { throughProxy } from './proxy.ts'

export interface WireOptions {
  baseUrl: string
  requestTimeoutMs: number
  /** The local address for requests `from: second-address`. */
  secondAddress?: string | undefined
  tls?: Tls | undefined
  /** The URL of a proxy; null: none. */
  proxy?: string | null | undefined
}

/** Texts of PEM files. */
export interface Tls {
  ca?: string
  cert?: string
  key?: string
  /** Take any certificate. */
  insecure?: boolean
}

export interface Wire {
  send(request: WireRequest): Promise<WireAnswer>
  sendTogether(requests: WireRequest[]): Promise<WireAnswer[]>
  close(): void
}

/** Opens the way to a base URL: ordinary calls through supertest on kept connections, races on sockets of their own. */
export function openWire(options: WireOptions): Wire {
  const { baseUrl, requestTimeoutMs, secondAddress, proxy = null } = options
  const secure = baseUrl.startsWith('https:')
  const { insecure = false, ...pem } = options.tls ?? {}
  const tls = secure ? { ...pem, rejectUnauthorized: !insecure } : {}
  const Agent = secure ? https.Agent : http.Agent
  const kept = throughProxy(new Agent({ keepAlive: true, maxSockets: 1, ...tls }), proxy)
  noteCarriers(kept)
  const fresh = throughProxy(new Agent({ keepAlive: false, ...tls }), proxy)
  const second =
    secondAddress === undefined ? fresh : new Agent({ keepAlive: false, localAddress: secondAddress, ...tls })

  const agentFor = (request: WireRequest): http.Agent => {
    if (request.from === 'second-address') return second
    return request.connection === 'fresh' ? fresh : kept
  }

  const send = (request: WireRequest): Promise<WireAnswer> =>
    sendOne(baseUrl, request, agentFor(request), requestTimeoutMs)
  return {
    send,
    sendTogether: (requests) =>
      race(baseUrl, requests, (request) => (request.from === 'second-address' ? second : fresh), requestTimeoutMs),
    close: () => {
      kept.destroy()
      fresh.destroy()
      second.destroy()
    },
  }
}

/** Connections that carried an answer: the next call on one may find it closed. */
const carriers = new WeakSet<object>()

/** Node tells of no call that had to queue for its connection that the connection was used before. */
function noteCarriers(agent: http.Agent): void {
  agent.on('free', (socket: object) => void carriers.add(socket))
}

const isOnCarrier = (request: http.ClientRequest | undefined): boolean =>
  typeof request?.socket === 'object' && request.socket !== null && carriers.has(request.socket)

/** supertest reads the body itself: a JSON parser that rejects bad JSON would hide what came. */
function collect(response: NodeJS.ReadableStream, done: (error: Error | null, body: Buffer) => void): void {
  const chunks: Buffer[] = []
  response.on('data', (chunk: Buffer) => chunks.push(chunk))
  response.on('end', () => done(null, Buffer.concat(chunks)))
  response.on('error', (error: Error) => done(error, Buffer.concat(chunks)))
}

async function sendOne(
  baseUrl: string,
  request: WireRequest,
  agent: http.Agent,
  requestTimeoutMs: number,
): Promise<WireAnswer> {
  if (request.raw) return sendRaw(baseUrl, request, agent, requestTimeoutMs)
  const test = supertest(baseUrl)
    .post(request.path)
    .agent(agent)
    .redirects(0)
    .ok(() => true)
    .timeout({ deadline: requestTimeoutMs })
    .buffer(true)
    .parse(collect as never)
  for (const [name, value] of request.headers) test.set(name, value)
  try {
    // A Buffer would be written as JSON again; the text keeps the bytes, which are UTF-8 in every call that is not raw.
    const response = await test.send(new TextDecoder().decode(request.body))
    return { kind: 'answer', status: response.status, headers: flat(response.headers), body: response.body as Buffer }
  } catch (error) {
    const { req } = test as { req?: http.ClientRequest }
    return noAnswer(error, isOnCarrier(req))
  }
}

interface Outgoing {
  /** Connected, and all but the last byte of the body handed over. */
  ready: Promise<void>
  finish(): void
  answer: Promise<WireAnswer>
}

/** Any method, path and bytes, as given; the last byte of the body waits for `finish`. */
function start(baseUrl: string, request: WireRequest, agent: http.Agent, requestTimeoutMs: number): Outgoing {
  const url = new URL(baseUrl)
  const client = url.protocol === 'https:' ? https : http
  const { method, body } = request
  const outgoing = client.request({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    method,
    path: joinPath(url, request.path),
    agent,
    headers: withLength(request),
  })
  const answer = new Promise<WireAnswer>((resolve) => {
    // Not the timeout of a socket, which every byte begins anew.
    const deadline = setTimeout(() => {
      settle(noAnswer(new Error(`no answer within ${requestTimeoutMs} ms`), false))
      outgoing.destroy()
    }, requestTimeoutMs)
    const settle = (what: WireAnswer): void => {
      clearTimeout(deadline)
      resolve(what)
    }
    outgoing.on('response', (response) => {
      const { statusCode: status = 0, headers } = response
      collect(response, (error, received) => {
        if (error !== null) settle(noAnswer(error, false))
        else settle({ kind: 'answer', status, headers: flat(headers), body: decoded(headers, received) })
      })
    })
    outgoing.on('error', (error) => settle(noAnswer(error, isOnCarrier(outgoing))))
  })
  const ready = new Promise<void>((resolve) => {
    outgoing.on('error', () => resolve())
    outgoing.on('socket', (socket) => {
      if (socket.connecting) socket.once('connect', resolve)
      else resolve()
    })
  })
  outgoing.flushHeaders()
  if (body.length > 1) outgoing.write(body.subarray(0, -1))
  return { ready, finish: () => void outgoing.end(body.subarray(-1)), answer }
}

function sendRaw(
  baseUrl: string,
  request: WireRequest,
  agent: http.Agent,
  requestTimeoutMs: number,
): Promise<WireAnswer> {
  const { finish, answer } = start(baseUrl, request, agent, requestTimeoutMs)
  finish()
  return answer
}

/** All at once: every connection is open and has sent all but its last byte before the last bytes go out together. */
async function race(
  baseUrl: string,
  requests: WireRequest[],
  agentFor: (request: WireRequest) => http.Agent,
  requestTimeoutMs: number,
): Promise<WireAnswer[]> {
  const outgoing = requests.map((request) => start(baseUrl, request, agentFor(request), requestTimeoutMs))
  await Promise.all(outgoing.map(({ ready }) => ready))
  await new Promise((resolve) => setImmediate(resolve))
  for (const { finish } of outgoing) finish()
  return Promise.all(outgoing.map(({ answer }) => answer))
}

const decoders: { readonly [coding: string]: typeof gunzipSync } = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
}
const longestDecoded = 2 ** 26

/** Who names no codings takes them all (RFC 9110, 12.5.3). Where the bytes are not what they say, they stay as they came. */
function decoded(headers: http.IncomingHttpHeaders, body: Buffer): Buffer {
  const decode = decoders[headers['content-encoding']?.toLowerCase() ?? '']
  if (decode === undefined) return body
  try {
    return decode(body, { maxOutputLength: longestDecoded })
  } catch {
    return body
  }
}

function joinPath(url: URL, path: string): string {
  return url.pathname.replace(/\/$/, '') + path
}

function withLength(request: WireRequest): http.OutgoingHttpHeaders {
  const headers: http.OutgoingHttpHeaders = {}
  for (const [name, value] of request.headers) headers[name] = value
  if (request.body.length > 0) headers['content-length'] = request.body.length
  return headers
}

function flat(headers: { [name: string]: string | string[] | undefined }): { [name: string]: string } {
  const result: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value
  }
  return result
}

function noAnswer(error: unknown, reused: boolean): WireAnswer {
  const message = error instanceof Error ? error.message : String(error)
  // supertest puts the code of a refused connection into the message and keeps none.
  const named = /\bE[A-Z]{4,}\b/.exec(message)?.[0] ?? ''
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : named
  const reason = sentences[code] ?? message
  return {
    kind: 'none',
    reason,
    refusedConnection: code === 'ECONNREFUSED',
    stale: reused && (code === 'ECONNRESET' || code === 'EPIPE'),
  }
}

const sentences: { [code: string]: string } = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was dropped without an answer',
  EPIPE: 'the connection was dropped while the request was sent',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  ECONNABORTED: 'no answer within the time limit of a request',
  HPE_INVALID_CONSTANT: 'the answer is not HTTP',
  EADDRNOTAVAIL: 'it is no address of this machine',
  EPROTO: 'it does not speak TLS there; is it http:// and not https://?',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS there; is it http:// and not https://?',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted (tls.ca in the target file names one to trust)',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted (tls.ca in the target file names one to trust)',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not trusted (tls.ca in the target file names one to trust)',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed (tls.ca in the target file names one to trust)',
}
