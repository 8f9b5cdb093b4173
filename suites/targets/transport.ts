/** The way to a server: kept, new and named connections, races, and chunked bodies. A missing answer is a value. */

import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { type Instance, isOwn, localAddressOf, type WireAnswer, type WireRequest } from '../engine/target.ts'
import { throughProxy } from './proxy.ts'
import { collectAnswers, defaultMaxAnswerBytes, lateAnswer, noAnswer, readAnswer } from './read-answer.ts'

/** How a server is reached. */
export interface Route {
  baseUrl: string
  tls?: Tls | undefined
  /** The URL of a proxy; null: none. */
  proxy?: string | null | undefined
  /** Connect to this address, and still speak the name of the URL: to TLS and in `Host`. */
  address?: string | undefined
}

/** Texts of PEM files. */
export interface Tls {
  ca?: string
  cert?: string
  key?: string
  /** Take any certificate. */
  insecure?: boolean
}

/** @returns makes agents of node:http for this route */
function agentMaker({ baseUrl, tls = {}, proxy = null, address }: Route): (options: http.AgentOptions) => http.Agent {
  const isSecure = baseUrl.startsWith('https:')
  const { insecure = false, ...pem } = tls
  const secured = isSecure ? { ...pem, rejectUnauthorized: !insecure } : {}
  const found = address === undefined ? {} : { lookup: lookupOf(address) }
  const Agent = isSecure ? https.Agent : http.Agent
  return (options) => {
    const agent = throughProxy(new Agent({ ...secured, ...found, ...options }), proxy)
    if (options.keepAlive === true) noteCarriers(agent)
    return agent
  }
}

/** Finds this address for every name. */
const lookupOf =
  (address: string): net.LookupFunction =>
  (_name, { all }, found) => {
    const family = net.isIP(address)
    // Node asks for all addresses where it may choose the family.
    if (all === true) found(null, [{ address, family }])
    else found(null, address, family)
  }

/** Connections that carried an answer; the next call may find them closed. */
const carriers = new WeakSet<object>()

/** Node does not report that a connection was used before if the call had to queue for it. */
function noteCarriers(agent: http.Agent): void {
  agent.on('free', (socket: object) => void carriers.add(socket))
}

/** Whether a request went over a connection that had carried an answer. */
const isOnCarrier = (request: http.ClientRequest | undefined): boolean =>
  typeof request?.socket === 'object' && request.socket !== null && carriers.has(request.socket)

// One request over node:http: any method, path and bytes, as given. A missing answer is a value.

interface Limits {
  timeoutMs: number
  maxAnswerBytes: number
}

/** Sends a request and resolves with its answer. */
async function sendRequest(
  baseUrl: string,
  request: WireRequest,
  agent: http.Agent,
  limits: Limits,
): Promise<WireAnswer> {
  try {
    const outgoing = request.raw ? openRequest(baseUrl, request, agent) : await openOrdinary(baseUrl, request, agent)
    const answer = answerTo(outgoing, limits)
    sendBody(outgoing, request)
    return await answer
  } catch (error) {
    // Node refuses to send what a server may have put into a token or an id.
    return noAnswer(error, false)
  }
}

/** A request as supertest writes it. Its answer is read by us, since a JSON parser that rejects bad JSON would hide it. */
async function openOrdinary(baseUrl: string, request: WireRequest, agent: http.Agent): Promise<http.ClientRequest> {
  // A bundled run never gets here, and loading it takes time.
  const { default: supertest } = await import('supertest')
  const test = supertest(baseUrl).post(request.path).agent(agent).set(withLength(request))
  const { request: write } = test as unknown as { request(): http.ClientRequest }
  return write.call(test).removeAllListeners('error')
}

/** A body whose length is not announced is sent in two chunks. As latin1 text, bytes go out in one write with the headers. */
function sendBody(outgoing: http.ClientRequest, request: WireRequest): void {
  const { buffer, byteOffset, length } = request.body
  const body = Buffer.from(buffer, byteOffset, length)
  const half = isInChunks(request) ? Math.floor(length / 2) : 0
  if (half > 0) outgoing.write(body.subarray(0, half))
  outgoing.end(body.toString('latin1', half), 'latin1')
}

const isInChunks = ({ headers }: WireRequest): boolean =>
  headers.some(([name]) => name.toLowerCase() === 'transfer-encoding')

interface HeldRequest {
  /** Resolves when it is connected and all but the last byte of the body is sent. */
  ready: Promise<void>
  /** Whether its connection ended before `finish`, so that no server can have seen the whole request. */
  isLost(): boolean
  finish(): void
  answer: Promise<WireAnswer>
}

/** Sends a request except for the last byte of its body, which waits for `finish`. */
function holdRequest(baseUrl: string, request: WireRequest, agent: http.Agent, limits: Limits): HeldRequest {
  const { body } = request
  const outgoing = openRequest(baseUrl, request, agent)
  const answer = answerTo(outgoing, limits)
  let isLost = false
  outgoing.once('error', () => {
    isLost = true
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
  return { ready, isLost: () => isLost, finish: () => void outgoing.end(body.subarray(-1)), answer }
}

function openRequest(baseUrl: string, request: WireRequest, agent: http.Agent): http.ClientRequest {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  const { method, path } = request
  const transport = protocol === 'https:' ? https : http
  return transport.request({
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    method,
    path: pathname.replace(/\/$/, '') + path,
    agent,
    headers: withLength(request),
  })
}

function answerTo(outgoing: http.ClientRequest, { timeoutMs, maxAnswerBytes }: Limits): Promise<WireAnswer> {
  return new Promise((resolve) => {
    // The timeout of a socket would start again with every byte.
    const deadline = setTimeout(() => {
      resolve(lateAnswer(timeoutMs))
      outgoing.destroy()
    }, timeoutMs)
    const settle = (answer: WireAnswer): void => {
      clearTimeout(deadline)
      resolve(answer)
    }
    outgoing.on('response', (response) => {
      readAnswer(response, maxAnswerBytes).then(settle, (error) => settle(noAnswer(error, false)))
    })
    outgoing.on('error', (error) => settle(noAnswer(error, isOnCarrier(outgoing))))
  })
}

function withLength(request: WireRequest): { [name: string]: string } {
  const { headers, body } = request
  const isAnnounced = body.length > 0 && !isInChunks(request)
  return { ...Object.fromEntries(headers), ...(isAnnounced ? { 'content-length': String(body.length) } : {}) }
}

// Connections that are opened in advance, so that a call that needs a new one need not wait. Each carries only one
// call, so nothing is sent twice.

interface SpareConnections {
  /** Opens connections in advance from now on: the target answers others while one is idle. */
  allow(): void
  close(): void
}

/** Some servers close a connection that brings no request for five seconds. */
const longestIdleMs = 3000
/** For each connection that is needed, because calls that waited for another one may all set out together. */
const openedForEach = 2

interface Spare {
  socket: net.Socket
  openedAtMs: number
}

/** The target closed a connection, or sent unexpected data. */
const signsOfAnEnd = ['error', 'end', 'close', 'data'] as const

type Connect = (options: unknown, callback?: unknown) => net.Socket | undefined

/**
 * Makes an agent use connections that were opened in advance. Longer than most functions, because its steps share the list of spares.
 *
 * @param most how many may be open at the same time
 */
export function openSpares(
  agent: http.Agent,
  most: () => number,
  now: () => number = () => performance.now(),
): SpareConnections {
  const withConnect = agent as unknown as { createConnection: Connect }
  const connect: Connect = withConnect.createConnection.bind(agent)
  let isAllowed = false
  let target: unknown
  let spares: Spare[] = []
  const drop = (spare: Spare): void => {
    spares = spares.filter((other) => other !== spare)
    spare.socket.destroy()
  }
  /** A target that closes one may take no more connections, so it gets back the places of all. */
  const stop = (): void => {
    isAllowed = false
    for (const spare of [...spares]) drop(spare)
  }
  const openOne = (): void => {
    const socket = connect(target)
    if (socket === undefined) return
    const spare: Spare = { socket, openedAtMs: now() }
    spares.push(spare)
    for (const sign of signsOfAnEnd) socket.on(sign, stop)
    socket.unref()
    setTimeout(() => spares.includes(spare) && drop(spare), longestIdleMs).unref()
  }
  const openMore = (): void => {
    for (let opened = 0; opened < openedForEach && isAllowed && spares.length < most(); opened += 1) openOne()
  }
  const take = (): net.Socket | undefined => {
    const spare = spares.shift()
    if (spare === undefined) return undefined
    const { socket, openedAtMs } = spare
    for (const sign of signsOfAnEnd) socket.off(sign, stop)
    socket.ref()
    if (now() - openedAtMs <= longestIdleMs) return socket
    socket.destroy()
    return take()
  }
  withConnect.createConnection = (options, callback) => {
    target = options
    setImmediate(openMore)
    return take() ?? connect(options, callback)
  }
  return {
    allow() {
      if (isAllowed) return
      isAllowed = true
      if (target !== undefined) openMore()
    },
    close: stop,
  }
}

interface WireOptions extends Route {
  requestTimeoutMs: number
  /** A longer answer is not read. */
  maxAnswerBytes?: number | undefined
  /** How many kept connections there may be; 1 unless given. */
  connections?: number | undefined
  /** The local address for requests `from: second-address`. */
  secondAddress?: string | undefined
  /** Every request goes over node:http alone: of thousands of small calls, supertest would take most of the time. */
  isBare?: boolean | undefined
  /** A connection with a name that carried nothing for so long is not used again. In ms. */
  mostIdleMs?: number | undefined
}

export type Wire = Pick<Instance, 'send' | 'sendTogether'> & Required<Pick<Instance, 'endRaces'>> & { close(): void }

/** Opens a connection to a base URL: ordinary calls go through supertest on kept connections, races over their own sockets. */
export function openWire(options: WireOptions): Wire {
  const { baseUrl, proxy = null, isBare = false } = options
  const limits = {
    requestTimeoutMs: options.requestTimeoutMs,
    maxAnswerBytes: options.maxAnswerBytes ?? defaultMaxAnswerBytes,
  }
  const pool = openPool(options)
  const kept = pool.of('kept', undefined)
  const warm = pool.of('warm', undefined)
  let underWay = 0
  /** How many calls were under way at once at most; more connections in advance are never needed. */
  let mostAtOnce = 0
  const spares =
    proxy === null && !isBare ? openSpares(pool.of('unused', undefined).agent, () => mostAtOnce) : undefined
  const isIdle = (): boolean => Object.keys(kept.agent.freeSockets).length > 0
  return {
    send: async (request) => {
      const wasIdle = isIdle()
      underWay += 1
      mostAtOnce = Math.max(mostAtOnce, underWay)
      const lane = pool.of(request.connection === 'warm' ? 'kept' : (request.connection ?? 'kept'), request.from)
      const sent = isBare ? { ...request, raw: true } : request
      const answer = await sendRequest(baseUrl, sent, lane.agent, limitsOf(request, limits))
      lane.usedAtMs = performance.now()
      underWay -= 1
      // A server that serves one connection at a time would not answer on another one.
      if (request.connection === 'unused' && answer.kind === 'answer' && wasIdle && isIdle()) spares?.allow()
      return answer
    },
    sendTogether: (requests) =>
      race(
        baseUrl,
        requests,
        ({ connection, from }) => pool.of(connection === 'warm' ? 'warm' : 'fresh', from).agent,
        limits,
      ),
    endRaces: async () => {
      for (const sockets of Object.values(warm.agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
      // Gives the server time to notice.
      await new Promise((resolve) => setTimeout(resolve, closingMs))
    },
    close: () => {
      spares?.close()
      pool.close()
      collectAnswers()
    },
  }
}

/** The connections of one kind from one local address. */
interface Lane {
  readonly agent: http.Agent
  usedAtMs: number
}

type Kind = NonNullable<WireRequest['connection']>

/** The agents whose connections carry the requests of each kind. */
function openPool(options: WireOptions) {
  const { secondAddress, connections = 1, mostIdleMs = Number.POSITIVE_INFINITY } = options
  const lanes = new Map<string, Lane>()
  const open = (kind: Kind, localAddress: string | undefined): Lane => {
    const keepAlive = isOwn(kind) || (localAddress === undefined && (kind === 'kept' || kind === 'warm'))
    const maxSockets = isOwn(kind) ? 1 : kind === 'kept' && keepAlive ? connections : undefined
    // A proxy would call from its own address.
    const make = agentMaker(localAddress === undefined ? options : { ...options, proxy: null })
    const local = localAddress === undefined ? {} : { localAddress }
    return {
      agent: make({ keepAlive, ...(maxSockets === undefined ? {} : { maxSockets }), ...local }),
      usedAtMs: performance.now(),
    }
  }
  return {
    of(kind: Kind, from: WireRequest['from']): Lane {
      const local = localAddressOf(from, secondAddress)
      const name = `${kind} ${local ?? ''}`
      const known = lanes.get(name)
      const isTooOld = isOwn(kind) && performance.now() - (known?.usedAtMs ?? 0) > mostIdleMs
      if (known !== undefined && !isTooOld) return known
      known?.agent.destroy()
      const lane = open(kind, local)
      lanes.set(name, lane)
      return lane
    },
    close(): void {
      for (const { agent } of lanes.values()) agent.destroy()
    },
  }
}

/** How long a server may take to notice that connections were closed. In ms. */
const closingMs = 5

interface WireLimits {
  requestTimeoutMs: number
  maxAnswerBytes: number
}

/** Answers in memory together may take as much space as this many of the longest ones. */
const longestTogether = 4

/** The limits of one request. */
function limitsOf({ sharedBy = 1, timeoutMs }: WireRequest, { requestTimeoutMs, maxAnswerBytes }: WireLimits) {
  return {
    timeoutMs: timeoutMs ?? requestTimeoutMs,
    maxAnswerBytes: Math.min(maxAnswerBytes, Math.ceil((longestTogether * maxAnswerBytes) / sharedBy)),
  }
}

/** A busy machine wakes this process late, and brings it the ends of connections late too. */
const lateMs = 2 * closingMs
const mostWaits = 10
/** How often the connections are looked at after the last wait. */
const turnsToHear = 10

/** Waits until it is known which kept connections their server has closed. */
async function hearOfEnds(): Promise<void> {
  for (let waits = 0; waits < mostWaits; waits += 1) {
    const begunMs = performance.now()
    await new Promise((resolve) => setTimeout(resolve, closingMs))
    if (performance.now() - begunMs < lateMs) break
  }
  for (let turn = 0; turn < turnsToHear; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

const isWarm = ({ connection }: WireRequest): boolean => connection === 'warm'

/** Sends requests at once: every connection is open and has sent all but its last byte before the last bytes are sent together. */
async function race(
  baseUrl: string,
  requests: WireRequest[],
  agentFor: (request: WireRequest) => http.Agent,
  limits: WireLimits,
): Promise<WireAnswer[]> {
  const hold = (request: WireRequest): HeldRequest =>
    holdRequest(baseUrl, request, agentFor(request), limitsOf(request, limits))
  const held = requests.map(hold)
  await Promise.all(held.map(({ ready }) => ready))
  await new Promise((resolve) => setImmediate(resolve))
  if (requests.some(isWarm)) await hearOfEnds()
  const outgoing = held.map((one, index) => {
    const request = requests[index]
    // A kept connection that its server had closed meanwhile.
    return request !== undefined && isWarm(request) && one.isLost() ? hold({ ...request, connection: 'fresh' }) : one
  })
  await Promise.all(outgoing.map(({ ready }) => ready))
  for (const { finish } of outgoing) finish()
  return Promise.all(outgoing.map(({ answer }) => answer))
}
