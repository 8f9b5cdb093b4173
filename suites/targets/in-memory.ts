/**
 * A server as a function, called without a socket: sockets take most of the time of a loopback call, and few cases are about them. Raw
 * requests are about the connection and still use HTTP. Calls at once begin one after another before any of them is answered, so they meet in a
 * server that waits for something meanwhile; through sockets they arrive further apart.
 */
import {
  type Clock,
  type Instance,
  isOwn,
  localAddressOf,
  type WireAnswer,
  type WireRequest,
} from '../engine/target.ts'
import { isInChunks, lateAnswer, noAnswer } from './transport.ts'

/** The shape is that of the bundled server, which is not imported here. */
type Handle = (request: {
  method: string
  target: string
  headers: { [name: string]: string | undefined }
  body: Buffer
  remoteAddress: string
  connection: number
}) => HandlerAnswer | Promise<HandlerAnswer>

interface HandlerAnswer {
  status: number
  headers: { [name: string]: string }
  body: string
  hangUp?: boolean
}

interface MemoryOptions {
  handle: Handle
  baseUrl: string
  /** Where requests `from: second-address` come from. */
  secondAddress: string | undefined
}

/** Connections of the HTTP server are numbered from 1; these numbers must differ from them. */
const firstConnection = 1_000_000
const firstAddress = '127.0.0.1'

/** Requests that an HTTP server would refuse before its handler; they go over a socket. */
const mostBodyBytes = 256 * 1024
const mostHeaderBytes = 8 * 1024

/** Hands requests to the handler; those that need a connection take `wire`. */
export function openInProcess(
  options: MemoryOptions,
  wire: Pick<Instance, 'send' | 'sendTogether'>,
): Pick<Instance, 'send' | 'sendTogether'> & { endRaces: undefined } {
  const send = openHandler(options)
  return {
    endRaces: undefined,
    send: (request) => (needsConnection(request) ? wire.send(request) : afterOthers(() => send(request))),
    sendTogether: (requests, heard) =>
      requests.some(needsConnection) ? wire.sendTogether(requests, heard) : atOnce(send, requests, heard),
  }
}

const atOnce = (
  send: Instance['send'],
  requests: WireRequest[],
  heard?: (index: number) => void,
): Promise<WireAnswer[]> => Promise.all(requests.map((request, index) => send(request).finally(() => heard?.(index))))

/** How long calls follow one another before timers and messages of the run are handled: doing so takes as long as a call. In ms. */
const handleOthersEveryMs = 10
let othersHandledMs = 0
let handlingOthers: Promise<void> | undefined

async function afterOthers<T>(call: () => Promise<T>): Promise<T> {
  // All calls wait for the same turn: with a turn for each, every one of them would take its 10 ms before the next timer.
  if (performance.now() - othersHandledMs > handleOthersEveryMs) {
    handlingOthers ??= handleOthers()
    await handlingOthers
  }
  return call()
}

async function handleOthers(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  othersHandledMs = performance.now()
  handlingOthers = undefined
}

/** An instance that is in memory alone, with a clock that is moved: for explorations and proofs, ten times as fast as HTTP. */
export function memoryInstance({
  handle,
  clock,
  basePath = '',
  ...described
}: Pick<Instance, 'root' | 'settings'> & {
  handle: Handle
  clock: { now(): number; advance(ms: number): void }
  basePath?: string
}): Instance {
  // At a full second, a server that ignores the milliseconds of a time could not be told from one that reads them.
  clock.advance(417)
  const baseUrl = `http://memory${basePath}`
  const { secondAddress } = described.settings
  const send = openHandler({ handle, baseUrl, secondAddress })
  const moved: Clock = { now: () => clock.now(), sleep: async (ms) => clock.advance(ms), controlled: true }
  return {
    ...described,
    baseUrl,
    clock: moved,
    send,
    sendTogether: (requests, heard) => atOnce(send, requests, heard),
    close: async () => {},
  }
}

const requestTimeoutMs = 10_000

function openHandler({ handle, baseUrl, secondAddress = firstAddress }: MemoryOptions) {
  const { pathname, host } = new URL(baseUrl)
  const basePath = pathname.replace(/\/$/, '')
  let lastConnection = firstConnection
  const named = new Map<string, number>()
  const connectionOf = ({ connection = 'kept' }: WireRequest, local: string | undefined): number => {
    if (connection === 'kept' && local === undefined) return firstConnection
    const name = isOwn(connection) ? `${connection} ${local}` : undefined
    const known = name === undefined ? undefined : named.get(name)
    if (known !== undefined) return known
    lastConnection += 1
    if (name !== undefined) named.set(name, lastConnection)
    return lastConnection
  }
  return async (request: WireRequest): Promise<WireAnswer> => {
    const local = localAddressOf(request.from, secondAddress)
    const connection = connectionOf(request, local)
    const { body } = request
    const answered = handle({
      method: request.method,
      target: basePath + request.path,
      headers: { host, ...lengthOf(request), ...lowerCase(request.headers) },
      body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      remoteAddress: local ?? firstAddress,
      connection,
    })
    return answered instanceof Promise ? inTime(answered, request.timeoutMs ?? requestTimeoutMs) : wireAnswer(answered)
  }
}

async function inTime(answered: Promise<HandlerAnswer>, timeoutMs: number): Promise<WireAnswer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<WireAnswer>((resolve) => {
    timer = setTimeout(() => resolve(lateAnswer(timeoutMs)), timeoutMs)
  })
  const first = await Promise.race([answered.then(wireAnswer), late])
  clearTimeout(timer)
  return first
}

/** Where the length is not announced, the body is sent in chunks. */
const lengthOf = (request: WireRequest): { [name: string]: string } =>
  isInChunks(request) ? {} : { 'content-length': String(request.body.length) }

function needsConnection({ raw, body, headers }: WireRequest): boolean {
  if (raw === true || body.length > mostBodyBytes) return true
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  if (names.size < headers.length) return true
  return headers.reduce((bytes, [name, value]) => bytes + name.length + value.length, 0) > mostHeaderBytes
}

/** HTTP takes away white space at both ends of a header. */
function lowerCase(headers: WireRequest['headers']): { [name: string]: string } {
  const result: { [name: string]: string } = {}
  for (const [name, value] of headers) result[name.toLowerCase()] = value.trim()
  return result
}

function wireAnswer({ status, headers, body, hangUp }: HandlerAnswer): WireAnswer {
  if (hangUp) return noAnswer(Object.assign(new Error('hung up'), { code: 'ECONNRESET' }), false)
  const bytes = Buffer.from(body)
  const named: { [name: string]: string } = {}
  for (const [name, value] of Object.entries(headers)) named[name.toLowerCase()] = value
  named['content-length'] ??= String(bytes.length)
  return { kind: 'answer', status, headers: named, body: bytes }
}
