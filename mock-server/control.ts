import { sameText } from './encoding.ts'
import type { Fault } from './faults.ts'
import type { MockHandler } from './handler.ts'
import type { Handle, MockAnswer, MockRequest } from './http-server.ts'
import { type JournalFilter, journalFilterNames } from './journal.ts'
import { createOperator, type Operator, type SceneName, sceneNames } from './operator.ts'

/** The input of a route: the values of `{…}` in its path, the query, and the JSON body. */
interface ControlCall {
  server: MockHandler
  operator: Operator
  id: string
  query: URLSearchParams
  body: { readonly [name: string]: unknown }
}

type Reply = { status: number; body?: unknown }
type Route = (call: ControlCall) => Reply | Promise<Reply>

const ok = (body: unknown): Reply => ({ status: 200, body })
const done: Reply = { status: 204 }
const problem = (status: number, message: string): Reply => ({ status, body: { message } })
const found = (yes: boolean): Reply => (yes ? done : problem(404, 'There is nothing of this id'))

/** Every route of the control port; spec/control.openapi.json describes them, and a test compares both. */
export const controlRoutes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['GET /clock', ({ server }) => ok(clockOf(server))],
  ['POST /clock/advance', (call) => moveClock(call, (ms) => call.server.context.clock.advance(ms))],
  ['POST /clock/set', (call) => moveClock(call, (ms) => call.server.context.clock.set(ms))],
  ['POST /clock/freeze', freeze],
  ['POST /reset', reset],
  ['GET /profile', ({ server }) => ok(server.context.profile)],
  ['POST /keys', makeKey],
  ['PATCH /keys/{id}', enableKey],
  ['DELETE /keys/{id}', ({ operator, id }) => found(operator.deleteKey(id))],
  ['POST /tokens/expire', expireToken],
  [
    'GET /journal',
    (call) => ok({ entries: call.server.journal.entries(filterOf(call)), dropped: call.server.journal.dropped }),
  ],
  ['DELETE /journal', ({ server }) => cleared(() => server.journal.clear())],
  ['GET /journal/count', (call) => ok({ count: call.server.journal.count(filterOf(call)) })],
  ['GET /journal/lineage', ({ server }) => ok({ pairs: server.journal.lineage() })],
  ['GET /faults', ({ server }) => ok({ faults: server.faults.list() })],
  ['POST /faults', ({ server, body }) => ({ status: 201, body: { id: server.faults.add(body as unknown as Fault) } })],
  ['DELETE /faults', ({ server }) => cleared(() => server.faults.clear())],
  ['DELETE /faults/{id}', ({ server, id }) => found(server.faults.remove(id))],
  ['GET /scenes', () => ok({ scenes: sceneNames })],
  ['POST /scenes', playNamed],
])

/**
 * The control port as a function: it requires `Authorization: Bearer <token>`, reads JSON and answers with JSON. A wrong token is 401, an unknown
 * route 404, a wrong body 400 with `{ message }`.
 */
export function createControl(server: MockHandler, token: string): Handle {
  const operator = createOperator(server)
  return async (request) => {
    if (!sameText(request.headers.authorization ?? '', `Bearer ${token}`)) {
      return render(problem(401, 'Send the control token as "Authorization: Bearer …"'))
    }
    const [path = '', query = ''] = request.target.split('?', 2)
    const matched = matchRoute(request.method, path)
    if (!matched) return render(problem(404, 'There is no such route'))
    const body = readBody(request)
    if (!body) return render(problem(400, 'Send one JSON object, or nothing'))
    try {
      return render(await matched.route({ server, operator, id: matched.id, query: new URLSearchParams(query), body }))
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) return render(problem(400, error.message))
      return render(problem(500, 'The control port failed'))
    }
  }
}

function matchRoute(method: string, path: string): { route: Route; id: string } | undefined {
  const exact = controlRoutes.get(`${method} ${path}`)
  if (exact) return { route: exact, id: '' }
  const slash = path.lastIndexOf('/')
  const route = controlRoutes.get(`${method} ${path.slice(0, slash)}/{id}`)
  return route && { route, id: path.slice(slash + 1) }
}

function readBody({ body }: MockRequest): ControlCall['body'] | undefined {
  if (body.length === 0) return {}
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}

function render({ status, body }: Reply): MockAnswer {
  const headers: { [name: string]: string } = { date: new Date().toUTCString(), 'cache-control': 'no-store' }
  if (body === undefined) return { status, headers, body: '' }
  headers['content-type'] = 'application/json; charset=utf-8'
  return { status, headers, body: JSON.stringify(body) }
}

function cleared(clear: () => void): Reply {
  clear()
  return done
}

function clockOf({ context }: MockHandler) {
  return { nowMs: context.now(), frozen: context.clock.frozen }
}

function moveClock({ server, body }: ControlCall, move: (ms: number) => void): Reply {
  if (typeof body.ms !== 'number') return problem(400, 'Give "ms", a number of milliseconds')
  move(body.ms)
  return ok(clockOf(server))
}

function freeze({ server, body }: ControlCall): Reply {
  if (typeof body.frozen !== 'boolean') return problem(400, 'Give "frozen", true or false')
  server.context.clock.freeze(body.frozen)
  return ok(clockOf(server))
}

function reset({ server }: ControlCall): Reply {
  server.reset()
  const { root, state } = server.context
  return ok({ rootKey: { id: root.id, secret: root.secret }, solutions: [...state.solutions.keys()] })
}

async function makeKey({ operator, body }: ControlCall): Promise<Reply> {
  const { name, scope, publicKey } = body
  if (name !== undefined && typeof name !== 'string') return problem(400, 'Give "name" a text')
  if (publicKey !== undefined && typeof publicKey !== 'string') return problem(400, 'Give "publicKey" a PEM text')
  if (scope !== undefined && !(Array.isArray(scope) && scope.every((word) => typeof word === 'string'))) {
    return problem(400, 'Give "scope" a list of texts')
  }
  const params = Object.fromEntries(
    Object.entries({ name, scope, publicKey }).filter(([, value]) => value !== undefined),
  )
  return { status: 201, body: await operator.makeKey(params) }
}

function enableKey({ operator, id, body }: ControlCall): Reply {
  if (typeof body.enabled !== 'boolean') return problem(400, 'Give "enabled", true or false')
  return found(operator.enableKey(id, body.enabled))
}

function expireToken({ operator, body }: ControlCall): Reply {
  const { token, inMs } = body
  if (typeof token !== 'string') return problem(400, 'Give "token", an access token or a refresh token')
  if (inMs !== undefined && !(Number.isInteger(inMs) && (inMs as number) >= 0)) {
    return problem(400, 'Give "inMs" a number of milliseconds of 0 or more')
  }
  return found(operator.expireToken(token, inMs === undefined ? 0 : Number(inMs)))
}

async function playNamed({ operator, body }: ControlCall): Promise<Reply> {
  const name = sceneNames.find((known): known is SceneName => known === body.scene)
  if (name === undefined) return problem(400, `Give "scene" one of ${sceneNames.join(', ')}`)
  return ok(await operator.scene(name))
}

function filterOf({ query }: ControlCall): JournalFilter {
  const filter: { [name: string]: unknown } = {}
  for (const [name, value] of query) {
    if (!journalFilterNames.includes(name))
      throw new TypeError(`Filter by one of ${journalFilterNames.join(', ')}, not "${name}"`)
    filter[name] = name === 'status' ? Number(value) : value
  }
  return filter as JournalFilter
}
