/** The way to a server: kept, new and named connections, races, and chunked bodies. A missing answer is a value. */
import http from 'node:http'
import https from 'node:https'
import net, { isIP, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectSecurely } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { type Instance, isOwn, localAddressOf, type WireAnswer, type WireRequest } from '../engine/target.ts'

/** How a server is reached. */
interface Route {
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

function openAgent({ baseUrl, tls = {}, proxy = null, address }: Route, options: http.AgentOptions): http.Agent {
  const isSecure = baseUrl.startsWith('https:')
  const { insecure = false, ...pem } = tls
  const secured = isSecure ? { ...pem, rejectUnauthorized: !insecure } : {}
  const found = address === undefined ? {} : { lookup: lookupOf(address) }
  const Agent = isSecure ? https.Agent : http.Agent
  const agent = throughProxy(new Agent({ ...secured, ...found, ...options }), proxy)
  // Node does not report that a connection was used before if the call had to queue for it.
  if (options.keepAlive === true) agent.on('free', (socket: object) => void carriers.add(socket))
  return agent
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

/** Whether a request went over a connection that had carried an answer. */
const isOnCarrier = (request: http.ClientRequest | undefined): boolean =>
  typeof request?.socket === 'object' && request.socket !== null && carriers.has(request.socket)

// One request over node:http: any method, path and bytes, as given. A missing answer is a value.

interface Limits {
  requestTimeoutMs: number
  maxAnswerBytes: number
}

/** Sends a request and resolves with its answer. */
async function sendRequest(place: Place, request: WireRequest, agent: http.Agent, limits: Limits): Promise<WireAnswer> {
  try {
    const outgoing = openRequest(place, request, agent)
    const answer = answerTo(outgoing, request, limits)
    sendBody(outgoing, request)
    return await answer
  } catch (error) {
    // Node refuses to send what a server may have put into a token or an id.
    return noAnswer(error, false)
  }
}

/** A body whose length is not announced is sent in two chunks. As latin1 text, bytes go out in one write with the headers. */
function sendBody(outgoing: http.ClientRequest, request: WireRequest): void {
  const { buffer, byteOffset, length } = request.body
  const body = Buffer.from(buffer, byteOffset, length)
  const half = isInChunks(request) ? Math.floor(length / 2) : 0
  if (half > 0) outgoing.write(body.subarray(0, half))
  outgoing.end(body.toString('latin1', half), 'latin1')
}

export const isInChunks = ({ headers }: WireRequest): boolean =>
  headers.some(([name]) => name.toLowerCase() === 'transfer-encoding')

/** Sends a request except for the last byte of its body, which waits for `finish`. */
function holdRequest(place: Place, request: WireRequest, agent: http.Agent, limits: Limits) {
  const { body } = request
  const last = body.subarray(-1)
  const outgoing = openRequest(place, request, agent)
  const answer = answerTo(outgoing, request, limits)
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
  return {
    /** Resolves when it is connected and all but the last byte of the body is sent. */
    ready,
    /** Whether its connection ended before `finish`, so that no server can have seen the whole request. */
    isLost: () => isLost,
    /** Sends the last byte: by the socket itself, because ending a request takes longer, and those of a race would come one by one. */
    finish: () => void (isInChunks(request) ? outgoing.end(last) : outgoing.socket?.write(last)),
    /** Nothing more comes; called when all have sent their last byte. */
    end: () => void outgoing.end(),
    answer,
  }
}

type Place = ReturnType<typeof placeOf>

/** Where the requests to a target go. */
function placeOf(baseUrl: string) {
  const { protocol, hostname, port, pathname } = new URL(baseUrl)
  return {
    request: protocol === 'https:' ? https.request : http.request,
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    pathBefore: pathname.replace(/\/$/, ''),
  }
}

const openRequest = ({ request: open, host, port, pathBefore }: Place, request: WireRequest, agent: http.Agent) =>
  open({
    host,
    port,
    method: request.method,
    path: pathBefore + request.path,
    agent,
    headers: withLength(request),
  })

/** Answers in memory together may take as much space as this many of the longest ones. */
const longestTogether = 4

function answerTo(outgoing: http.ClientRequest, request: WireRequest, limits: Limits): Promise<WireAnswer> {
  const { sharedBy = 1, timeoutMs = limits.requestTimeoutMs } = request
  const { maxAnswerBytes: most } = limits
  const maxAnswerBytes = Math.min(most, Math.ceil((longestTogether * most) / sharedBy))
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
  const all = Object.fromEntries(headers)
  if (body.length > 0 && !isInChunks(request)) all['content-length'] = String(body.length)
  return all
}

// Connections that are opened in advance, so that a call that needs a new one need not wait. Each carries only one
// call, so nothing is sent twice.

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
export function openSpares(agent: http.Agent, most: () => number, now: () => number = () => performance.now()) {
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
    /** Opens connections in advance from now on: the target answers others while one is idle. */
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
  /** The local address for requests `from: second-address`. */
  secondAddress?: string | undefined
  /** Opens connections in advance for calls that need an unused one; true unless given. Not through a proxy. */
  opensSpares?: boolean | undefined
  /** A connection with a name that carried nothing for longer is not used again. In ms. */
  mostIdleMs?: number | undefined
}

type Wire = Pick<Instance, 'send' | 'sendTogether'> & Required<Pick<Instance, 'endRaces'>> & { close(): void }

/** Opens the way to a base URL: ordinary calls go over kept connections, races over connections of their own. */
export function openWire(options: WireOptions): Wire {
  const { proxy = null, opensSpares = true } = options
  const place = placeOf(options.baseUrl)
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
    proxy === null && opensSpares ? openSpares(pool.of('unused', undefined).agent, () => mostAtOnce) : undefined
  const isIdle = (): boolean => Object.keys(kept.agent.freeSockets).length > 0
  return {
    send: async (request) => {
      const wasIdle = isIdle()
      underWay += 1
      mostAtOnce = Math.max(mostAtOnce, underWay)
      const lane = pool.of(request.connection === 'warm' ? 'kept' : (request.connection ?? 'kept'), request.from)
      const answer = await sendRequest(place, request, lane.agent, limits)
      lane.usedAtMs = performance.now()
      underWay -= 1
      // A server that serves one connection at a time would not answer on another one.
      if (request.connection === 'unused' && answer.kind === 'answer' && wasIdle && isIdle()) spares?.allow()
      return answer
    },
    sendTogether: async (requests, heard) => {
      const laneOf = ({ connection = 'fresh', from }: WireRequest): Lane =>
        pool.of(connection === 'warm' || isOwn(connection) ? connection : 'fresh', from)
      const answers = await race(place, requests, (request) => laneOf(request).agent, { ...limits, heard })
      for (const request of requests) laneOf(request).usedAtMs = performance.now()
      return answers
    },
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

/** Kept connections: enough for the calls that a run has under way; the run decides how many are used. */
const mostKept = 64

/** The agents whose connections carry the requests of each kind. */
function openPool(options: WireOptions) {
  const { secondAddress, mostIdleMs = Number.POSITIVE_INFINITY } = options
  const lanes = new Map<string, Lane>()
  const open = (kind: Kind, localAddress: string | undefined): Lane => {
    const keepAlive = isOwn(kind) || (localAddress === undefined && (kind === 'kept' || kind === 'warm'))
    const maxSockets = isOwn(kind) ? 1 : kind === 'kept' && keepAlive ? mostKept : Number.POSITIVE_INFINITY
    // A proxy would call from its own address.
    const local = localAddress === undefined ? {} : { localAddress, proxy: null }
    return {
      agent: openAgent({ ...options, ...local }, { keepAlive, maxSockets, ...local }),
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
/** Over a connection that carried other calls before. */
const isUsed = (request: WireRequest): boolean => isWarm(request) || isOwn(request.connection)

/** Sends requests at once: every connection is open and has sent all but its last byte before the last bytes are sent together. */
async function race(
  place: Place,
  requests: WireRequest[],
  agentFor: (request: WireRequest) => http.Agent,
  { heard, ...limits }: Limits & { heard: ((index: number) => void) | undefined },
): Promise<WireAnswer[]> {
  const hold = (request: WireRequest) => holdRequest(place, request, agentFor(request), limits)
  const held = requests.map(hold)
  await Promise.all(held.map(({ ready }) => ready))
  await new Promise((resolve) => setImmediate(resolve))
  if (requests.some(isWarm)) await hearOfEnds()
  const outgoing = held.map((one, index) => {
    const request = requests[index]
    // A kept connection that its server had closed meanwhile.
    return request !== undefined && isUsed(request) && one.isLost() ? hold({ ...request, connection: 'fresh' }) : one
  })
  await Promise.all(outgoing.map(({ ready }) => ready))
  for (const { finish } of outgoing) finish()
  for (const { end } of outgoing) end()
  return Promise.all(outgoing.map(({ answer }, index) => answer.finally(() => heard?.(index))))
}

/** The default of the most that is read of an answer, unless the target file says otherwise. */
const defaultMaxAnswerBytes = 4 * 2 ** 20

/** Reads the body of an answer; an answer longer than the limit is `unread`, and its connection is closed. */
function readAnswer(response: http.IncomingMessage, maxBytes: number): Promise<WireAnswer> {
  const { statusCode: status = 0 } = response
  // Several headers of one name are joined by commas.
  const headers = Object.fromEntries(
    Object.entries(response.headers).map(([name, value = '']) => [
      name,
      String(Array.isArray(value) ? value.join(', ') : value),
    ]),
  )
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    let isLong = false
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= maxBytes) {
        chunks.push(chunk)
        if (length > longAnswer && !isLong) {
          isLong = true
          waitForTurn(response)
        }
        return
      }
      resolve({ kind: 'unread', status, headers, limitBytes: maxBytes })
      response.destroy()
    })
    response.on('end', () => {
      noteAnswerRead(length)
      resolve(decodedAnswer(status, headers, Buffer.concat(chunks.splice(0), length), maxBytes))
    })
    response.on('error', reject)
    response.on('aborted', () => reject(new Error('the connection was dropped within the answer')))
  })
}

/** Stops reading until it is the turn of this answer; the turn ends with the answer. */
function waitForTurn(response: http.IncomingMessage): void {
  response.pause()
  const closed = new Promise<void>((resolve) => response.once('close', resolve))
  takeTurn().then(async (release) => {
    response.resume()
    await closed
    release()
  })
}

const decoders: { readonly [coding: string]: typeof gunzipSync } = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
}

/**
 * Decodes the body: a request without Accept-Encoding accepts any coding (RFC 9110, 12.5.3). Bytes that do not match the header stay as
 * received.
 */
function decodedAnswer(
  status: number,
  headers: { [name: string]: string },
  received: Buffer,
  maxBytes: number,
): WireAnswer {
  const decode = decoders[headers['content-encoding']?.toLowerCase() ?? '']
  let body = received
  try {
    if (decode !== undefined) body = decode(received, { maxOutputLength: maxBytes })
  } catch (error) {
    const isTooLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    if (isTooLong) return { kind: 'unread', status, headers, limitBytes: maxBytes }
  }
  return { kind: 'answer', status, headers, body }
}

// Long answers are read a few at a time, and what is left of them is collected: V8 by itself may let a process grow
// beyond what SECURITY.md promises.

/** Shorter answers are read as they come. In bytes. */
const longAnswer = 2 ** 18
/** How many long answers are read at the same time. */
const mostAtOnce = 3
/** Bytes of long answers after which garbage is collected. */
const mostGarbage = 6 * 2 ** 20

let underWay = 0
const waiting: (() => void)[] = []

/** Waits until another long answer may be read. @returns what lets the next one begin */
async function takeTurn(): Promise<() => void> {
  if (underWay >= mostAtOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  else underWay += 1
  return () => {
    const next = waiting.shift()
    if (next === undefined) underWay -= 1
    else next()
  }
}

let garbage = 0
let collect: (() => void) | undefined

/** Counts an answer that was read, and collects garbage when many long ones were. */
function noteAnswerRead(bytes: number): void {
  if (bytes < longAnswer) return
  garbage += bytes
  if (garbage >= mostGarbage) collectAnswers()
}

/** Collects what is left of long answers, if there were any. */
function collectAnswers(): void {
  if (garbage === 0) return
  garbage = 0
  if (collect === undefined) {
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
}

/**
 * Describes a failed request.
 *
 * @param reused the connection carried an answer before, so it may have been closed in between
 */
export function noAnswer(error: unknown, reused: boolean): WireAnswer {
  const message = error instanceof Error ? error.message : String(error)
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
  if (code === proxyErrorCode) {
    const { isAway = false } = error as { isAway?: boolean }
    return { kind: 'none', reason: message, refusedConnection: isAway, stale: false }
  }
  return {
    kind: 'none',
    reason: sentences[code] ?? withoutPlaces(message),
    refusedConnection: code === 'ECONNREFUSED',
    stale: reused && (code === 'ECONNRESET' || code === 'EPIPE'),
  }
}

/** `0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert …:../deps/…` says where in OpenSSL; one part of it says what. */
function withoutPlaces(message: string): string {
  const [, what] = /:SSL routines:[^:]*:([^:]+)/.exec(message) ?? []
  return what === undefined ? message : `TLS failed: ${what}`
}

/** Whether the request failed because the time for the answer was up. */
export function lateAnswer(timeoutMs: number): WireAnswer {
  return {
    kind: 'none',
    reason: `no answer within ${timeoutMs} ms`,
    refusedConnection: false,
    stale: false,
    timedOut: true,
  }
}

const insecure = '"tls: { insecure: true }" in the target file takes any'
const ownCa = `tls.ca in the target file or NODE_EXTRA_CA_CERTS names one to trust; ${insecure}`
const untrusted = `its certificate is not trusted (${ownCa})`

const sentences: { [code: string]: string } = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was dropped without an answer',
  EPIPE: 'the connection was dropped while the request was sent',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'the connection timed out',
  HPE_INVALID_CONSTANT: 'the answer is not HTTP',
  EADDRNOTAVAIL: 'it is no address of this machine',
  EPROTO: 'the server does not speak TLS on this port; did you mean http://?',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS on this port; did you mean http://?',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    'it requires a client certificate (tls.cert and tls.key in the target file name one)',
  CERT_HAS_EXPIRED: `its certificate has expired (${insecure})`,
  ERR_TLS_CERT_ALTNAME_INVALID: `its certificate is for another host name (${insecure})`,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: `its certificate is self-signed (${ownCa})`,
}

type Done = (error: Error | null, socket?: Socket) => void

/** Makes every connection of an agent go through a proxy, by CONNECT: the proxy passes bytes on and sees no call. */
function throughProxy<A extends http.Agent>(agent: A, proxy: string | null): A {
  if (proxy === null) return agent
  const secure = agent instanceof https.Agent
  return Object.assign(agent, {
    createConnection: (options: ConnectionOptions, done: Done): void => {
      openTunnel(proxy, options).then(
        (socket) => (secure ? encrypt(socket, options, done) : done(null, socket)),
        (error: Error) => done(error),
      )
    },
  })
}

function openTunnel(proxy: string, { host = '', port = 443 }: ConnectionOptions): Promise<Socket> {
  const { protocol, username, password } = new URL(proxy)
  const transport = protocol === 'https:' ? https : http
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  return new Promise((resolve, reject) => {
    const request = transport.request(new URL(proxy), {
      method: 'CONNECT',
      path: authority,
      agent: false,
      headers: {
        host: authority,
        ...(username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
    })
    request.once('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode === 200) return resolve(socket)
      socket.destroy()
      reject(refusedBy(proxy, statusCode))
    })
    request.once('response', ({ statusCode = 0 }) => {
      request.destroy()
      reject(refusedBy(proxy, statusCode))
    })
    request.once('error', (error: NodeJS.ErrnoException) =>
      reject(proxyError(`the proxy ${hostOf(proxy)} could not be reached (${error.code ?? error.message})`)),
    )
    request.end()
  })
}

/** The code of an error that a proxy is the reason for. */
const proxyErrorCode = 'SVC_PROXY'

/** @param isAway the proxy could not reach the target */
const proxyError = (message: string, isAway = false): Error =>
  Object.assign(new Error(message), { code: proxyErrorCode, isAway })

/** Without the credentials. */
const hostOf = (proxy: string): string => new URL(proxy).host

/** Many proxies open connections to the port of https alone. */
function refusedBy(proxy: string, status: number): Error {
  const advice =
    status === 403 || status === 405
      ? '; it may allow CONNECT to port 443 only. NO_PROXY names hosts that are reached without it'
      : ''
  const message = `the proxy ${hostOf(proxy)} answered HTTP ${status} instead of opening a connection${advice}`
  return proxyError(message, [502, 503, 504].includes(status))
}

function encrypt(socket: Socket, options: ConnectionOptions, done: Done): void {
  // The agent has chosen the name for SNI.
  const encrypted = connectSecurely({ ...options, socket })
  encrypted.once('secureConnect', () => done(null, encrypted))
  encrypted.once('error', done)
}
