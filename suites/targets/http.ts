import http from 'node:http'
import https from 'node:https'
import type { WireAnswer, WireRequest } from '../engine/target.ts'
import { collectAnswers } from './long-answers.ts'
import { lateAnswer, noAnswer } from './no-answer.ts'
import { throughProxy } from './proxy.ts'
import { defaultMaxAnswerBytes, flatHeaders, readAnswer } from './read-answer.ts'
import { openSpares } from './spare-connections.ts'

interface WireOptions {
  baseUrl: string
  requestTimeoutMs: number
  /** A longer answer is not read. */
  maxAnswerBytes?: number | undefined
  /** How many kept connections there may be; 1 unless given. */
  connections?: number | undefined
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
  /** Closes the connections that were kept for a race. */
  endRaces(): Promise<void>
  close(): void
}

/** Opens a connection to a base URL: ordinary calls go through supertest on kept connections, races over their own sockets. */
export function openWire(options: WireOptions): Wire {
  const { baseUrl, secondAddress, proxy = null } = options
  const limits = {
    requestTimeoutMs: options.requestTimeoutMs,
    maxAnswerBytes: options.maxAnswerBytes ?? defaultMaxAnswerBytes,
  }
  const secure = baseUrl.startsWith('https:')
  const { insecure = false, ...pem } = options.tls ?? {}
  const tls = secure ? { ...pem, rejectUnauthorized: !insecure } : {}
  const Agent = secure ? https.Agent : http.Agent
  const kept = throughProxy(new Agent({ keepAlive: true, maxSockets: options.connections ?? 1, ...tls }), proxy)
  noteCarriers(kept)
  // As many as race at once; they stay open between two races of a step.
  const warm = throughProxy(new Agent({ keepAlive: true, ...tls }), proxy)
  noteCarriers(warm)
  const fresh = throughProxy(new Agent({ keepAlive: false, ...tls }), proxy)
  const unused = throughProxy(new Agent({ keepAlive: false, ...tls }), proxy)
  const spares = proxy === null ? openSpares(unused) : undefined
  const second =
    secondAddress === undefined ? fresh : new Agent({ keepAlive: false, localAddress: secondAddress, ...tls })

  const agentFor = (request: WireRequest): http.Agent => {
    if (request.from === 'second-address') return second
    if (request.connection === 'unused') return unused
    return request.connection === 'fresh' ? fresh : kept
  }
  const racingAgentFor = (request: WireRequest): http.Agent => {
    if (request.from === 'second-address') return second
    return request.connection === 'warm' ? warm : fresh
  }

  const isIdle = (): boolean => Object.keys(kept.freeSockets).length > 0
  return {
    send: async (request) => {
      const wasIdle = isIdle()
      const answer = await sendOne(baseUrl, request, agentFor(request), limits)
      // A server that serves one connection at a time would wait for a request that comes on another.
      if (request.connection === 'unused' && answer.kind === 'answer' && wasIdle && isIdle()) spares?.allow()
      return answer
    },
    sendTogether: (requests) => race(baseUrl, requests, racingAgentFor, limits),
    endRaces: async () => {
      for (const sockets of Object.values(warm.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
      // The server hears of it a moment later.
      await new Promise((resolve) => setTimeout(resolve, closingMs))
    },
    close: () => {
      kept.destroy()
      warm.destroy()
      fresh.destroy()
      spares?.close()
      unused.destroy()
      second.destroy()
      collectAnswers()
    },
  }
}

/** Time for a server to notice that connections were closed. In ms. */
const closingMs = 5

/** Connections that carried an answer; the next call may find them closed. */
const carriers = new WeakSet<object>()

/** Node does not report that a connection was used before if the call had to queue for it. */
function noteCarriers(agent: http.Agent): void {
  agent.on('free', (socket: object) => void carriers.add(socket))
}

const isOnCarrier = (request: http.ClientRequest | undefined): boolean =>
  typeof request?.socket === 'object' && request.socket !== null && carriers.has(request.socket)

interface Limits {
  requestTimeoutMs: number
  maxAnswerBytes: number
}

/** Answers in memory together may take as much space as this many of the longest ones. */
const longestTogether = 4

/** The maximum size of the answer to this request. */
function answerLimit({ sharedBy = 1 }: WireRequest, { maxAnswerBytes }: Limits): number {
  return Math.min(maxAnswerBytes, Math.ceil((longestTogether * maxAnswerBytes) / sharedBy))
}

async function sendOne(baseUrl: string, request: WireRequest, agent: http.Agent, limits: Limits): Promise<WireAnswer> {
  if (request.raw) return sendRaw(baseUrl, request, agent, limits)
  const timeoutMs = request.timeoutMs ?? limits.requestTimeoutMs
  // A bundled run never gets here, and loading it takes time.
  const { default: supertest } = await import('supertest')
  let answer: WireAnswer | undefined
  // supertest must not parse the body: a JSON parser that rejects bad JSON would hide the answer.
  const read = (response: http.IncomingMessage, done: (error: Error | null) => void): void => {
    readAnswer(response, answerLimit(request, limits)).then(
      (whole) => {
        answer = whole
        done(null)
      },
      (error: Error) => done(error),
    )
  }
  const test = supertest(baseUrl)
    .post(request.path)
    .agent(agent)
    .redirects(0)
    .ok(() => true)
    .timeout({ deadline: timeoutMs })
    .buffer(true)
    .maxResponseSize(Number.MAX_SAFE_INTEGER)
    .parse(read as never)
  endOnce(test as never)
  for (const [name, value] of request.headers) test.set(name, value)
  try {
    // supertest would write a Buffer as JSON; a string keeps the bytes, which are UTF-8 in every call that is not raw.
    const { status, headers } = await test.send(new TextDecoder().decode(request.body))
    return answer ?? { kind: 'answer', status, headers: flatHeaders(headers), body: new Uint8Array() }
  } catch (error) {
    if (answer !== undefined) return answer
    const { req } = test as { req?: http.ClientRequest }
    return isTimeout(error) ? lateAnswer(timeoutMs) : noAnswer(error, isOnCarrier(req))
  }
}

const isTimeout = (error: unknown): boolean => typeof error === 'object' && error !== null && 'timeout' in error

/** superagent warns if a connection ends twice, as after a reset within an answer; the first end counts. */
function endOnce(test: { callback(...given: unknown[]): void }): void {
  const callback = test.callback.bind(test)
  let isEnded = false
  test.callback = (...given) => {
    if (isEnded) return
    isEnded = true
    callback(...given)
  }
}

interface Outgoing {
  /** Resolves when it is connected and all but the last byte of the body is sent. */
  ready: Promise<void>
  finish(): void
  answer: Promise<WireAnswer>
}

/** Any method, path and bytes, as given; the last byte of the body waits for `finish`. */
function start(baseUrl: string, request: WireRequest, agent: http.Agent, limits: Limits): Outgoing {
  const url = new URL(baseUrl)
  const transport = url.protocol === 'https:' ? https : http
  const { method, body, timeoutMs = limits.requestTimeoutMs } = request
  const outgoing = transport.request({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    method,
    path: joinPath(url, request.path),
    agent,
    headers: withLength(request),
  })
  const answer = new Promise<WireAnswer>((resolve) => {
    // The timeout of a socket would start again with every byte.
    const deadline = setTimeout(() => {
      resolve(lateAnswer(timeoutMs))
      outgoing.destroy()
    }, timeoutMs)
    const settle = (what: WireAnswer): void => {
      clearTimeout(deadline)
      resolve(what)
    }
    outgoing.on('response', (response) => {
      readAnswer(response, answerLimit(request, limits)).then(settle, (error) => settle(noAnswer(error, false)))
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

function sendRaw(baseUrl: string, request: WireRequest, agent: http.Agent, limits: Limits): Promise<WireAnswer> {
  const { finish, answer } = start(baseUrl, request, agent, limits)
  finish()
  return answer
}

/** Sends requests at once: every connection is open and has sent all but its last byte before the last bytes are sent together. */
async function race(
  baseUrl: string,
  requests: WireRequest[],
  agentFor: (request: WireRequest) => http.Agent,
  limits: Limits,
): Promise<WireAnswer[]> {
  const outgoing = requests.map((request) => start(baseUrl, request, agentFor(request), limits))
  await Promise.all(outgoing.map(({ ready }) => ready))
  await new Promise((resolve) => setImmediate(resolve))
  for (const { finish } of outgoing) finish()
  return Promise.all(outgoing.map(({ answer }) => answer))
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
