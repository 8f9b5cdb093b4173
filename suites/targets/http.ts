import type http from 'node:http'
import { type Instance, isOwn, type WireAnswer, type WireRequest } from '../engine/target.ts'
import { agentMaker, isOnCarrier, type Route } from './agents.ts'
import { collectAnswers } from './long-answers.ts'
import { lateAnswer, noAnswer } from './no-answer.ts'
import { type HeldRequest, holdRequest, sendRequest } from './one-request.ts'
import { defaultMaxAnswerBytes, flatHeaders, readAnswer } from './read-answer.ts'
import { openSpares } from './spare-connections.ts'

interface WireOptions extends Route {
  requestTimeoutMs: number
  /** A longer answer is not read. */
  maxAnswerBytes?: number | undefined
  /** How many kept connections there may be; 1 unless given. */
  connections?: number | undefined
  /** The local address for requests `from: second-address`. */
  secondAddress?: string | undefined
}

export type Wire = Pick<Instance, 'send' | 'sendTogether'> & Required<Pick<Instance, 'endRaces'>> & { close(): void }

/** Opens a connection to a base URL: ordinary calls go through supertest on kept connections, races over their own sockets. */
export function openWire(options: WireOptions): Wire {
  const { baseUrl, proxy = null } = options
  const limits = {
    requestTimeoutMs: options.requestTimeoutMs,
    maxAnswerBytes: options.maxAnswerBytes ?? defaultMaxAnswerBytes,
  }
  const agents = openAgents(options)
  const { kept, warm, fresh, unused, second } = agents
  let underWay = 0
  /** How many calls were under way at once at most; more connections in advance are never needed. */
  let mostAtOnce = 0
  const spares = proxy === null ? openSpares(unused, () => mostAtOnce) : undefined

  const own = ownAgents(options)
  const agentFor = (request: WireRequest): http.Agent => {
    if (isOwn(request.connection)) return own.of(request)
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
      underWay += 1
      mostAtOnce = Math.max(mostAtOnce, underWay)
      const answer = await sendOne(baseUrl, request, agentFor(request), limits)
      underWay -= 1
      // A server that serves one connection at a time would not answer on another one.
      if (request.connection === 'unused' && answer.kind === 'answer' && wasIdle && isIdle()) spares?.allow()
      return answer
    },
    sendTogether: (requests) => race(baseUrl, requests, racingAgentFor, limits),
    endRaces: async () => {
      for (const sockets of Object.values(warm.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
      // Gives the server time to notice.
      await new Promise((resolve) => setTimeout(resolve, closingMs))
    },
    close: () => {
      spares?.close()
      for (const agent of Object.values(agents)) agent.destroy()
      own.close()
      collectAnswers()
    },
  }
}

/** The agents whose connections carry the requests of each kind. */
function openAgents(options: WireOptions) {
  const { secondAddress, connections = 1 } = options
  const agentWith = agentMaker(options)
  const fresh = agentWith({ keepAlive: false })
  // A proxy would call from its own address.
  const directly = agentMaker({ ...options, proxy: null })
  return {
    kept: agentWith({ keepAlive: true, maxSockets: connections }),
    /** As many as race at once; they stay open between two races of a step. */
    warm: agentWith({ keepAlive: true }),
    fresh,
    unused: agentWith({ keepAlive: false }),
    second: secondAddress === undefined ? fresh : directly({ keepAlive: false, localAddress: secondAddress }),
  }
}

/** Agents with one connection each, by the name of the connection. */
function ownAgents(options: WireOptions): { of(request: WireRequest): http.Agent; close(): void } {
  const agents = new Map<string, http.Agent>()
  return {
    of: ({ connection = '', from }) => {
      const isSecond = from === 'second-address' && options.secondAddress !== undefined
      const name = `${connection} ${isSecond}`
      const localAddress = isSecond ? { localAddress: options.secondAddress } : {}
      const route = isSecond ? { ...options, proxy: null } : options
      const agent = agents.get(name) ?? agentMaker(route)({ keepAlive: true, maxSockets: 1, ...localAddress })
      agents.set(name, agent)
      return agent
    },
    close: () => {
      for (const agent of agents.values()) agent.destroy()
    },
  }
}

/** How long a server may take to notice that connections were closed. In ms. */
const closingMs = 5

interface Limits {
  requestTimeoutMs: number
  maxAnswerBytes: number
}

/** Answers in memory together may take as much space as this many of the longest ones. */
const longestTogether = 4

/** The limits of one request. */
function limitsOf({ sharedBy = 1, timeoutMs }: WireRequest, { requestTimeoutMs, maxAnswerBytes }: Limits) {
  return {
    timeoutMs: timeoutMs ?? requestTimeoutMs,
    maxAnswerBytes: Math.min(maxAnswerBytes, Math.ceil((longestTogether * maxAnswerBytes) / sharedBy)),
  }
}

async function sendOne(baseUrl: string, request: WireRequest, agent: http.Agent, limits: Limits): Promise<WireAnswer> {
  const { timeoutMs, maxAnswerBytes } = limitsOf(request, limits)
  if (request.raw) return sendRequest(baseUrl, request, agent, { timeoutMs, maxAnswerBytes })
  // A bundled run never gets here, and loading it takes time.
  const { default: supertest } = await import('supertest')
  let answer: WireAnswer | undefined
  // supertest must not parse the body: a JSON parser that rejects bad JSON would hide the answer.
  const read = (response: http.IncomingMessage, done: (error: Error | null) => void): void => {
    readAnswer(response, maxAnswerBytes).then(
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
  limits: Limits,
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
