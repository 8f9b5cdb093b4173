import { setTimeout as sleep } from 'node:timers/promises'
import { createContext, type ServerContext } from './context.ts'
import type { Handle, MockAnswer, MockRequest } from './http.ts'
import type { ServerOptions } from './options.ts'
import type { Refusal } from './refusal.ts'
import { answerBody, type RpcOutcome } from './rpc.ts'

/** One server without a network: requests in, answers out. */
export interface MockHandler {
  handle: Handle
  context: ServerContext
}

/** The reference server as a function. Its answer is a promise only where something makes it wait. */
export function createHandler(options: ServerOptions = {}): MockHandler {
  const context = createContext(options)
  const { rules, profile } = context
  const callPath = `${profile.basePath}/api`
  const withinRate = createRateLimit(context)

  function answer(request: MockRequest): MockAnswer | Promise<MockAnswer> {
    const query = request.target.indexOf('?')
    if (query >= 0 || !rules.isCall(request.method, request.target, callPath)) return plain(context, 404, 'Not found')
    if (request.body.length > profile.maxBodyBytes) return plain(context, 413, 'Content too large')
    if (!withinRate())
      return { ...plain(context, 429, 'Too many requests'), headers: headers(context, { 'retry-after': '1' }) }
    if (!rules.contentTypeTaken(request.headers['content-type'], profile))
      return plain(context, 415, 'Unsupported media type')
    const outcome = answerBody(context, request)
    return outcome instanceof Promise ? outcome.then((late) => render(context, late)) : render(context, outcome)
  }

  async function answerLate(request: MockRequest): Promise<MockAnswer> {
    if (context.clock.frozen) context.clock.advance(profile.delayMs)
    else await sleep(profile.delayMs)
    return answer(request)
  }

  return { handle: profile.delayMs > 0 ? answerLate : answer, context }
}

/** Counts calls by the second of the server's clock; true while there are few enough. */
function createRateLimit({ profile, now }: ServerContext): () => boolean {
  if (profile.callsPerSecond === 0) return () => true
  let second = 0
  let calls = 0
  return () => {
    const current = Math.floor(now() / 1000)
    if (current !== second) {
      second = current
      calls = 0
    }
    calls += 1
    return calls <= profile.callsPerSecond
  }
}

let dateSecond = -1
let dateText = ''
/** The Date header; written anew once a second. */
function httpDate(ms: number): string {
  const second = Math.floor(ms / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}

function headers(context: ServerContext, more: { [name: string]: string }): { [name: string]: string } {
  const all: { [name: string]: string } = { ...more, date: httpDate(context.now()) }
  if (context.profile.closeConnections) all.connection = 'close'
  return all
}

function plain(context: ServerContext, status: number, body: string): MockAnswer {
  return { status, headers: headers(context, { 'content-type': 'text/plain; charset=utf-8' }), body }
}

function render(context: ServerContext, outcome: RpcOutcome | RpcOutcome[]): MockAnswer {
  const json = (status: number, body: string) => ({
    status,
    headers: headers(context, { 'content-type': 'application/json; charset=utf-8' }),
    body,
  })
  if (Array.isArray(outcome)) return json(200, `[${outcome.map((one) => memberText(context, one)).join(',')}]`)
  if (outcome.silent) return { status: 204, headers: headers(context, {}), body: '' }
  if (outcome.outcome.ok) return json(200, memberText(context, outcome))
  const { refusal } = outcome.outcome
  const { errorBody, refusalStatus } = context.profile
  const status = refusalStatus === 'http' || errorBody !== 'json-rpc' ? refusal.httpStatus : 200
  if (errorBody === 'none') return { status, headers: headers(context, {}), body: '' }
  return errorBody === 'text' ? plain(context, status, refusal.message) : json(status, memberText(context, outcome))
}

/** One JSON-RPC answer; members that a replaced rule leaves out are undefined and vanish in JSON. */
function memberText({ rules, profile }: ServerContext, { id, method, outcome }: RpcOutcome): string {
  if (!outcome.ok)
    return JSON.stringify({
      jsonrpc: '2.0',
      id: errorId(profile.errorId, id, outcome.refusal),
      error: errorObject(outcome.refusal),
    })
  const result = profile.extraResultMembers ? withExtras(outcome.value) : outcome.value
  return JSON.stringify({
    jsonrpc: rules.answerVersion(),
    id: rules.echoedId(id),
    result: rules.resultMember(method ?? '', result),
  })
}

function errorObject({ code, message, data }: Refusal): object {
  return data === undefined ? { code, message } : { code, message, data }
}

function errorId(form: 'request' | 'null' | 'none', id: unknown, refusal: Refusal): unknown {
  if (form === 'null') return null
  return form === 'none' || !refusal.idKnown ? undefined : id
}

function withExtras(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? { ...value, serverVersion: '2.2.0', warnings: [] } : value
}
