/** One request over node:http: any method, path and bytes, as given. A missing answer is a value. */
import http from 'node:http'
import https from 'node:https'
import type { WireAnswer, WireRequest } from '../engine/target.ts'
import { isOnCarrier } from './agents.ts'
import { lateAnswer, noAnswer } from './no-answer.ts'
import { readAnswer } from './read-answer.ts'

interface Limits {
  timeoutMs: number
  maxAnswerBytes: number
  /** Ends the request when it is aborted. */
  signal?: AbortSignal | undefined
}

/** Sends a request and resolves with its answer. */
export function sendRequest(
  baseUrl: string,
  request: WireRequest,
  agent: http.Agent,
  limits: Limits,
): Promise<WireAnswer> {
  try {
    const outgoing = openRequest(baseUrl, request, agent, limits.signal)
    const answer = answerTo(outgoing, limits)
    sendBody(outgoing, request)
    return answer
  } catch (error) {
    // Node refuses to send what a server may have put into a token or an id.
    return Promise.resolve(noAnswer(error, false))
  }
}

/** A body whose length is not announced is sent in two chunks. */
function sendBody(outgoing: http.ClientRequest, request: WireRequest): void {
  const { body } = request
  const half = isInChunks(request) ? Math.floor(body.length / 2) : 0
  if (half > 0) outgoing.write(body.subarray(0, half))
  outgoing.end(body.subarray(half))
}

const isInChunks = ({ headers }: WireRequest): boolean =>
  headers.some(([name]) => name.toLowerCase() === 'transfer-encoding')

export interface HeldRequest {
  /** Resolves when it is connected and all but the last byte of the body is sent. */
  ready: Promise<void>
  /** Whether its connection ended before `finish`, so that no server can have seen the whole request. */
  isLost(): boolean
  finish(): void
  answer: Promise<WireAnswer>
}

/** Sends a request except for the last byte of its body, which waits for `finish`. */
export function holdRequest(baseUrl: string, request: WireRequest, agent: http.Agent, limits: Limits): HeldRequest {
  const { body } = request
  const outgoing = openRequest(baseUrl, request, agent, limits.signal)
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

function openRequest(
  baseUrl: string,
  request: WireRequest,
  agent: http.Agent,
  signal: AbortSignal | undefined,
): http.ClientRequest {
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
    ...(signal === undefined ? {} : { signal }),
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

function withLength(request: WireRequest): http.OutgoingHttpHeaders {
  const { headers, body } = request
  const isAnnounced = body.length > 0 && !isInChunks(request)
  return { ...Object.fromEntries(headers), ...(isAnnounced ? { 'content-length': body.length } : {}) }
}
