/**
 * Makes ordinary calls to the bundled server without a socket, because sockets take most of the time of a loopback call and no case is
 * about them. Raw requests and races are about the connection and still use HTTP.
 */
import { isOwn, type WireAnswer, type WireRequest } from '../engine/target.ts'
import { lateAnswer, noAnswer } from './read-answer.ts'

/** A server as a function; the shape is that of the bundled server, which is not imported here. */
export type Handle = (request: {
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

interface InProcessOptions {
  handle: Handle
  baseUrl: string
  requestTimeoutMs: number
  /** Where requests `from: second-address` come from. */
  secondAddress: string | undefined
}

/** Connections of the HTTP server are numbered from 1; these numbers must differ from them. */
const firstConnection = 1_000_000
const firstAddress = '127.0.0.1'

/** Requests that an HTTP server would refuse before its handler; they go over a socket. */
const mostBodyBytes = 256 * 1024
const mostHeaderBytes = 8 * 1024

/** Returns a `send` that hands a request to the handler, or undefined where that request needs a connection. */
export function openInProcess(options: InProcessOptions): (request: WireRequest) => Promise<WireAnswer> | undefined {
  const { handle, requestTimeoutMs, secondAddress = firstAddress } = options
  const { pathname, host } = new URL(options.baseUrl)
  const basePath = pathname.replace(/\/$/, '')
  let lastConnection = firstConnection
  const own = new Map<string, number>()
  const connectionOf = ({ connection = 'kept', from }: WireRequest): number => {
    if (connection === 'kept' && from !== 'second-address') return firstConnection
    const name = isOwn(connection) ? `${connection} ${from}` : undefined
    const known = name === undefined ? undefined : own.get(name)
    if (known !== undefined) return known
    lastConnection += 1
    if (name !== undefined) own.set(name, lastConnection)
    return lastConnection
  }
  const send = async (request: WireRequest): Promise<WireAnswer> => {
    const connection = connectionOf(request)
    // Lets timers and messages of the run be handled between two calls.
    await new Promise((resolve) => setImmediate(resolve))
    const answered = handle({
      method: request.method,
      target: basePath + request.path,
      headers: { host, ...lengthOf(request), ...lowerCase(request.headers) },
      body: Buffer.from(request.body),
      remoteAddress: request.from === 'second-address' ? secondAddress : firstAddress,
      connection,
    })
    if (!(answered instanceof Promise)) return wireAnswer(answered)
    const timeoutMs = request.timeoutMs ?? requestTimeoutMs
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<WireAnswer>((resolve) => {
      timer = setTimeout(() => resolve(lateAnswer(timeoutMs)), timeoutMs)
    })
    const inTime = await Promise.race([answered.then(wireAnswer), late])
    clearTimeout(timer)
    return inTime
  }
  return (request) => (needsConnection(request) ? undefined : send(request))
}

/** Where the length is not announced, the body is sent in chunks. */
const lengthOf = ({ body, headers }: WireRequest): { [name: string]: string } =>
  headers.some(([name]) => name.toLowerCase() === 'transfer-encoding') ? {} : { 'content-length': String(body.length) }

function needsConnection({ raw, body, headers }: WireRequest): boolean {
  if (raw === true || body.length > mostBodyBytes) return true
  const names = new Set(headers.map(([name]) => name.toLowerCase()))
  if (names.size < headers.length) return true
  return headers.reduce((bytes, [name, value]) => bytes + name.length + value.length, 0) > mostHeaderBytes
}

function lowerCase(headers: WireRequest['headers']): { [name: string]: string } {
  const result: { [name: string]: string } = {}
  for (const [name, value] of headers) result[name.toLowerCase()] = value
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
