/** Servers that understand nothing. A suite that finds something good about one of them is fooled. */
import type { IncomingMessage, ServerResponse } from 'node:http'

interface Received {
  request: IncomingMessage
  response: ServerResponse
  body: string
}

export interface NullServer {
  name: string
  answer(received: Received): void
  /** Whether its run reaches cases that wait. */
  isConvincing?: boolean
  /** The time limit of its run, for a server that never answers. */
  requestTimeoutMs?: number
}

const json = ({ response }: Received, value: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function parsed(body: string): { id?: unknown; method?: unknown; params?: { [name: string]: unknown } } {
  try {
    return (JSON.parse(body) ?? {}) as object
  } catch {
    return {}
  }
}

let made = 0
function unique(): string {
  made += 1
  return `${made.toString(16).padStart(8, '0')}${'5eC3et0k'.repeat(4)}`
}

/** Results that look right, for everybody and everything. */
function plausible({ method, params }: ReturnType<typeof parsed>): object {
  if (method === 'manager/createApiKey') return { id: unique(), secret: unique() }
  if (method !== 'manager/auth') return { list: [] }
  return {
    accessToken: unique(),
    accessTokenExpiry: Date.now() + 900_000,
    refreshToken: unique(),
    refreshTokenExpiry: Date.now() + 604_800_000,
    tokenType: 'Bearer',
    scope: Array.isArray(params?.scope) ? params.scope : ['solution'],
  }
}

const accept = (received: Received): void => {
  const call = parsed(received.body)
  json(received, { jsonrpc: '2.0', id: call.id ?? null, result: plausible(call) })
}
const refuse = (received: Received, status = 200): void => {
  const { id = null } = parsed(received.body)
  json(received, { jsonrpc: '2.0', id, error: { code: 24879, message: 'Unauthorized' } }, status)
}

export const nullServers: readonly NullServer[] = [
  {
    name: 'accepts everything with an empty result',
    answer: (received) => json(received, { jsonrpc: '2.0', id: parsed(received.body).id ?? null, result: {} }),
  },
  { name: 'accepts everything with a plausible result', isConvincing: true, answer: accept },
  { name: 'accepts everything, with any id', answer: (received) => json(received, { result: {} }) },
  {
    name: 'accepts whoever sends an Authorization header, and grants',
    answer: (received) => {
      const granting = parsed(received.body).method === 'manager/auth'
      if (granting || received.request.headers.authorization) accept(received)
      else refuse(received)
    },
  },
  { name: 'refuses everything', answer: (received) => refuse(received) },
  { name: 'refuses everything with 401', answer: (received) => refuse(received, 401) },
  { name: 'answers 404', answer: ({ response }) => void response.writeHead(404).end() },
  { name: 'answers 500', answer: ({ response }) => void response.writeHead(500).end('oh no') },
  { name: 'answers 429', answer: ({ response }) => void response.writeHead(429, { 'retry-after': '0' }).end() },
  { name: 'redirects', answer: ({ response }) => void response.writeHead(307, { location: '/api' }).end() },
  {
    name: 'echoes the request',
    answer: ({ response, body }) => void response.writeHead(200, { 'content-type': 'application/json' }).end(body),
  },
  { name: 'answers 200 with an empty body', answer: ({ response }) => void response.writeHead(200).end() },
  { name: 'answers 200 with a page', answer: ({ response }) => void response.writeHead(200).end('<h1>It works</h1>') },
  { name: 'hangs up', answer: ({ request }) => void request.socket.destroy() },
  { name: 'never answers', answer: () => {}, requestTimeoutMs: 40 },
  {
    name: 'never ends its answer',
    answer: ({ response }) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":'),
    requestTimeoutMs: 40,
  },
]

let turn = false
/** These servers understand a little, or guess. Only what they get right may be shown. */
export const nearlyNullServers: readonly NullServer[] = [
  {
    name: 'knows the methods and accepts any credentials for them',
    answer: (received) => {
      const { method } = parsed(received.body)
      const known = ['manager/auth', 'manager/createApiKey', 'solution/listSolutions'].includes(String(method))
      if (known && (method === 'manager/auth' || / .{8}/.test(received.request.headers.authorization ?? '')))
        accept(received)
      else refuse(received)
    },
  },
  {
    name: 'accepts one call and refuses the next',
    answer: (received) => {
      turn = !turn
      if (turn) accept(received)
      else refuse(received)
    },
  },
]
