/** A small bounded HTTP client: kept connections by number, new ones, a local address to call from. Never throws. */
import http from 'node:http'
import https from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { Request, Response, Wire } from './wire.ts'

interface HttpWireOptions {
  readonly baseUrl: string
  readonly timeoutMs: number
  readonly maxAnswerBytes: number
  readonly tls?: { readonly ca?: string; readonly insecure?: boolean } | undefined
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
  const secure = url.protocol === 'https:'
  const client = secure ? https : http
  const tls = secure ? { ca: options.tls?.ca, rejectUnauthorized: options.tls?.insecure !== true } : {}
  const lanes = new Map<string, Lane>()
  const agentOf = (from: string | undefined, keepAlive: boolean): http.Agent =>
    new (secure ? https.Agent : http.Agent)({
      keepAlive,
      maxSockets: 1,
      ...(from === undefined ? {} : { localAddress: from }),
      ...tls,
    })

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

  let next = 0
  const pace = async (): Promise<void> => {
    if (options.rate <= 0) return
    const at = Math.max(next, performance.now())
    next = at + 1000 / options.rate
    const wait = at - performance.now()
    if (wait > 1) await delay(wait)
  }

  const send = async (request: Request): Promise<Response> => {
    await pace()
    if (request.connection === 'new') {
      const agent = agentOf(request.from, false)
      return exchange(client, url, request, { ...options, agent, kept: false })
    }
    const lane = laneOf(request)
    const kept = lane.calls > 0
    lane.calls += 1
    const response = await exchange(client, url, request, { ...options, agent: lane.agent, kept })
    lane.usedAt = performance.now()
    return response
  }

  const { clock } = options
  return {
    send,
    now: clock === undefined ? Date.now : () => clock.now(),
    sleep: clock === undefined ? async (ms) => void (await delay(ms)) : (ms) => clock.advance(ms),
    controlled: clock !== undefined,
    close: () => {
      for (const { agent } of lanes.values()) agent.destroy()
    },
  }
}

type Exchange = HttpWireOptions & { agent: http.Agent; kept: boolean }

function exchange(
  client: typeof http | typeof https,
  url: URL,
  request: Request,
  options: Exchange,
): Promise<Response> {
  return new Promise((resolve) => {
    const body = Buffer.from(request.body, 'utf8')
    const headers: http.OutgoingHttpHeaders = {
      ...options.headers,
      'content-type': 'application/json',
      'content-length': body.length,
    }
    if (request.authorization !== undefined) headers.authorization = request.authorization
    let done = false
    const settle = (response: Response): void => {
      if (done) return
      done = true
      clearTimeout(deadline)
      resolve(response)
    }
    const fail = (error: Error & { code?: string }): void =>
      settle({
        kind: 'none',
        reason: error.code ?? error.message,
        stale: options.kept && (error.code === 'ECONNRESET' || error.code === 'EPIPE'),
        refused: error.code === 'ECONNREFUSED' || error.code === 'EADDRNOTAVAIL',
      })
    const outgoing = client.request(
      {
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port,
        path: `${url.pathname.replace(/\/$/, '')}/api`,
        method: 'POST',
        agent: options.agent,
        headers,
      },
      (incoming) => read(incoming, options.maxAnswerBytes, settle, fail),
    )
    const deadline = setTimeout(() => {
      settle({ kind: 'none', reason: `no answer within ${options.timeoutMs} ms`, stale: false, refused: false })
      outgoing.destroy()
    }, options.timeoutMs)
    outgoing.on('error', fail)
    outgoing.end(body)
  })
}

function read(
  incoming: http.IncomingMessage,
  limit: number,
  settle: (response: Response) => void,
  fail: (error: Error) => void,
): void {
  const chunks: Buffer[] = []
  let bytes = 0
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limit) {
      settle({ kind: 'unread' })
      incoming.destroy()
    } else chunks.push(chunk)
  })
  incoming.on('end', () =>
    settle({
      kind: 'answer',
      status: incoming.statusCode ?? 0,
      retryAfter: incoming.headers['retry-after'],
      date: incoming.headers.date,
      body: Buffer.concat(chunks).toString('utf8'),
    }),
  )
  incoming.on('error', fail)
}
