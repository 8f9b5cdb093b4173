/** A small bounded HTTP client: kept connections by number, new ones, a local address to call from. Never throws. */
import { setMaxListeners } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { Tls } from '../targets/http.ts'
import { throughProxy } from '../targets/proxy.ts'
import { readAnswer } from '../targets/read-answer.ts'
import type { Request, Response, Wire } from './wire.ts'

interface HttpWireOptions {
  readonly baseUrl: string
  readonly timeoutMs: number
  readonly maxAnswerBytes: number
  readonly tls?: Tls | undefined
  /** The URL of a proxy; null: none. */
  readonly proxy?: string | null | undefined
  readonly headers?: { readonly [name: string]: string }
  /** Calls a second at most; 0 is no limit. */
  readonly rate: number
  /** Moves the clock of the target; without it `sleep` waits. */
  readonly clock?: { now(): number; advance(ms: number): Promise<void> }
}

/** Servers usually close idle connections after 5 s, so older idle ones are not used again. In ms. */
const idleMs = 2500

interface Lane {
  agent: http.Agent
  usedAt: number
  calls: number
}

export function openHttpWire(options: HttpWireOptions): Wire {
  const url = new URL(options.baseUrl)
  const client = url.protocol === 'https:' ? https : http
  const lanes = new Map<string, Lane>()
  const agentOf = agentMaker(options)
  /** Ends every call and every wait; one that is left would keep the process alive. */
  const closing = new AbortController()
  const { signal } = closing
  setMaxListeners(0, signal)
  const sleep = (ms: number): Promise<void> => delay(ms, undefined, { signal }).catch(() => {})
  const pace = pacer(options.rate, sleep)
  const limit = answerLimit(options.maxAnswerBytes)

  const laneOf = ({ connection, from }: Request): Lane => {
    const name = `${connection} ${from ?? ''}`
    const known = lanes.get(name)
    const now = performance.now()
    if (known !== undefined && now - known.usedAt < idleMs) return known
    known?.agent.destroy()
    const lane = { agent: agentOf(from, true), usedAt: now, calls: 0 }
    lanes.set(name, lane)
    return lane
  }

  const send = async (request: Request): Promise<Response> => {
    await pace()
    const isNew = request.connection === 'new'
    const lane = isNew ? { agent: agentOf(request.from, false), usedAt: 0, calls: 0 } : laneOf(request)
    const kept = lane.calls > 0
    lane.calls += 1
    const maxAnswerBytes = limit.of(request)
    const { agent } = lane
    const response = await exchange(client, url, request, { ...options, maxAnswerBytes, agent, kept, signal })
    limit.note(request, response)
    lane.usedAt = performance.now()
    return response
  }

  const { clock } = options
  return {
    send,
    now: clock === undefined ? Date.now : () => clock.now(),
    sleep: clock === undefined ? sleep : (ms) => clock.advance(ms),
    controlled: clock !== undefined,
    close: () => {
      closing.abort()
      for (const { agent } of lanes.values()) agent.destroy()
    },
  }
}

/** The model remembers keys and tokens, so an answer with some of them may be this much shorter than others. */
const shareOfKept = 1 / 16
/** Together they may take as much as this many of the longest answers. */
const mostKept = 8

/** The maximum size of the answer to a request, which depends on those before it. */
function answerLimit(maxBytes: number) {
  let keptBytes = 0
  const isKept = ({ body }: Request): boolean => body.includes('manager/')
  return {
    of: (request: Request): number =>
      isKept(request) ? Math.min(shareOfKept * maxBytes, Math.max(0, mostKept * maxBytes - keptBytes)) : maxBytes,
    note: (request: Request, response: Response): void => {
      if (isKept(request) && response.kind === 'answer') keptBytes += response.body.length
    },
  }
}

type AgentOf = (from: string | undefined, keepAlive: boolean) => http.Agent

/** Each agent has one connection, directly or through the proxy. */
function agentMaker({ baseUrl, tls = {}, proxy = null }: HttpWireOptions): AgentOf {
  const isSecure = baseUrl.startsWith('https:')
  const { insecure = false, ...pem } = tls
  const secured = isSecure ? { ...pem, rejectUnauthorized: !insecure } : {}
  return (from, keepAlive) => {
    const local = from === undefined ? {} : { localAddress: from }
    const agent = new (isSecure ? https.Agent : http.Agent)({ keepAlive, maxSockets: 1, ...local, ...secured })
    return throughProxy(agent, proxy)
  }
}

/** @returns waits until the next call may be made */
function pacer(callsPerSecond: number, sleep: (ms: number) => Promise<void>): () => Promise<void> {
  let next = 0
  return async () => {
    if (callsPerSecond <= 0) return
    const at = Math.max(next, performance.now())
    next = at + 1000 / callsPerSecond
    const wait = at - performance.now()
    if (wait > 1) await sleep(wait)
  }
}

type Exchange = HttpWireOptions & { agent: http.Agent; kept: boolean; signal: AbortSignal }

function exchange(
  client: typeof http | typeof https,
  url: URL,
  request: Request,
  options: Exchange,
): Promise<Response> {
  const { timeoutMs, maxAnswerBytes, agent, signal } = options
  return new Promise((resolve) => {
    const body = Buffer.from(request.body, 'utf8')
    let outgoing: http.ClientRequest | undefined
    const deadline = setTimeout(() => {
      resolve({ kind: 'none', reason: `no answer within ${timeoutMs} ms`, stale: false, refused: false })
      outgoing?.destroy()
    }, timeoutMs)
    const settle = (response: Response): void => {
      clearTimeout(deadline)
      resolve(response)
    }
    const fail = (error: Error & { code?: string }): void => settle(failed(error, options.kept))
    try {
      outgoing = client.request(
        {
          host: url.hostname.replace(/^\[|\]$/g, ''),
          port: url.port,
          path: `${url.pathname.replace(/\/$/, '')}/api`,
          method: 'POST',
          agent,
          headers: headersOf(request, options, body.length),
          signal,
        },
        (incoming) => void read(incoming, maxAnswerBytes).then(settle, fail),
      )
      outgoing.on('error', fail)
      outgoing.end(body)
    } catch (error) {
      // Node refuses to send what a server may have put into a token or an id.
      fail(error as Error)
    }
  })
}

function headersOf({ authorization }: Request, { headers }: HttpWireOptions, length: number): http.OutgoingHttpHeaders {
  return {
    ...headers,
    'content-type': 'application/json',
    'content-length': length,
    ...(authorization === undefined ? {} : { authorization }),
  }
}

function failed({ code, message }: Error & { code?: string }, isKept: boolean): Response {
  return {
    kind: 'none',
    reason: code ?? message,
    stale: isKept && (code === 'ECONNRESET' || code === 'EPIPE'),
    refused: code === 'ECONNREFUSED' || code === 'EADDRNOTAVAIL',
  }
}

async function read(incoming: http.IncomingMessage, maxBytes: number): Promise<Response> {
  const answer = await readAnswer(incoming, maxBytes)
  if (answer.kind !== 'answer') return { kind: 'unread' }
  const { status, headers, body } = answer
  return {
    kind: 'answer',
    status,
    retryAfter: headers['retry-after'],
    date: headers.date,
    body: new TextDecoder().decode(body),
  }
}
