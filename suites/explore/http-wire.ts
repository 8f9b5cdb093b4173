/** A small bounded HTTP client: kept connections by number, new ones, a local address to call from. Never throws. */

import { setMaxListeners } from 'node:events'
import type http from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { WireAnswer, WireRequest } from '../engine/target.ts'
import { agentMaker, type Route, sendRequest } from '../targets/transport.ts'
import type { Request, Response, Wire } from './wire.ts'

interface HttpWireOptions extends Route {
  readonly timeoutMs: number
  readonly maxAnswerBytes: number
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
}

export function openHttpWire(options: HttpWireOptions): Wire {
  const { baseUrl, timeoutMs, headers } = options
  const lanes = new Map<string, Lane>()
  const agentWith = agentMaker(options)
  const agentOf = (from: string | undefined, keepAlive: boolean): http.Agent =>
    agentWith({ keepAlive, maxSockets: 1, ...(from === undefined ? {} : { localAddress: from }) })
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
    const lane = { agent: agentOf(from, true), usedAt: now }
    lanes.set(name, lane)
    return lane
  }

  const send = async (request: Request): Promise<Response> => {
    await pace()
    const isNew = request.connection === 'new'
    const lane = isNew ? { agent: agentOf(request.from, false), usedAt: 0 } : laneOf(request)
    const limits = { timeoutMs, maxAnswerBytes: limit.of(request), signal }
    const response = responseOf(await sendRequest(baseUrl, wireRequest(request, headers), lane.agent, limits))
    limit.note(request, response)
    lane.usedAt = performance.now()
    return response
  }

  const { clock } = options
  return {
    url: `${baseUrl}/api`,
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

function wireRequest(
  { body, authorization, inChunks }: Request,
  headers: HttpWireOptions['headers'] = {},
): WireRequest {
  return {
    method: 'POST',
    path: '/api',
    headers: [
      ...Object.entries(headers),
      ['content-type', 'application/json'],
      ...(inChunks === true ? [['transfer-encoding', 'chunked'] as [string, string]] : []),
      ...(authorization === undefined ? [] : [['authorization', authorization] as [string, string]]),
    ],
    body: Buffer.from(body, 'utf8'),
  }
}

function responseOf(answer: WireAnswer): Response {
  if (answer.kind === 'unread') return { kind: 'unread' }
  if (answer.kind === 'none') return { kind: 'none', reason: answer.reason, stale: answer.stale }
  const { status, headers, body } = answer
  return {
    kind: 'answer',
    status,
    retryAfter: headers['retry-after'],
    date: headers.date,
    body: new TextDecoder().decode(body),
  }
}
