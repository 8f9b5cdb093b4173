import { initialCaller } from './caller.ts'
import {
  aFlag,
  aNumber,
  aText,
  type Checked,
  demandValues,
  demandWord,
  type Fields,
  oneOf,
  optional,
  texts,
  wholeNumber,
} from './checks.ts'
import type { MockClock, ServerContext } from './context.ts'
import { sameText } from './encoding.ts'
import type { Fault, MockHandler } from './handler.ts'
import type { Handle, MockAnswer, MockRequest } from './http-server.ts'
import type { JournalFilter } from './journal.ts'
import { createApiKey, tokenResult } from './methods.ts'
import type { Outcome } from './refusal.ts'
import type { TokenResult } from './rules.ts'
import type { ApiKey, TokenPair } from './state.ts'
import { endPair, issuePair, openSession } from './token-state.ts'

/** What tests can do to a server without a call. */
export interface Operator {
  /** Creates a key without a call; it takes one of the ten places. Rejects with a RangeError if no place is left. */
  makeKey(params?: SceneKeyParams): Promise<SceneKey>
  /** Disables a key, or enables it again; false when there is no such key. */
  enableKey(id: string, enabled: boolean): boolean
  /** Deletes a key; false when there is no such key. */
  deleteKey(id: string): boolean
  /** Lets one token of a pair expire `inMs` from now: 0 (default) at once, 1000 in a second. False if there is no such token. */
  expireToken(token: string, inMs?: number): boolean
  scene(name: SceneName): Promise<Scene>
}

/** Changes the state of a server directly, without calls. */
export function createOperator({ context }: MockHandler): Operator {
  const liveKey = (id: string) => {
    const key = context.state.keys.get(id)
    return key?.deleted ? undefined : key
  }
  return {
    makeKey: async (params) => shown(await makeSceneKey(context, params)),
    enableKey(id, enabled) {
      const key = liveKey(id)
      if (key) key.enabled = enabled
      return key !== undefined
    },
    deleteKey(id) {
      const key = liveKey(id)
      if (key) key.deleted = true
      return key !== undefined
    },
    expireToken(text, inMs = 0) {
      const token = context.state.tokens.get(text)
      if (!token) return false
      const endMs = context.now() + inMs
      if (token.kind === 'access') token.pair.accessExpiryMs = endMs
      else token.pair.refreshExpiryMs = endMs
      return true
    },
    async scene(name) {
      demandWord('the scene', name, sceneNames)
      return scenes[name](context)
    },
  }
}

interface SceneKeyParams {
  name?: string
  scope?: string[]
  publicKey?: string
}

export interface SceneKey {
  id: string
  secret: string
}

export interface Scene {
  keys: SceneKey[]
  /** The results of the grants that issued them. */
  tokens: TokenResult[]
}

/** Scenes bring a server to a state in one go and return the keys and tokens in play. Made for a server just started or reset. */
const scenes = {
  /** Nine of the ten keys are created; one more succeeds, the next is refused. */
  async 'nine-keys'(context) {
    const keys: SceneKey[] = []
    while (keys.length < 9) keys.push(shown(await makeSceneKey(context)))
    return { keys, tokens: [] }
  },
  /** The root key has 15 sessions; the 17th grant from here removes the first of them. */
  'fifteen-sessions': (context) => {
    const names = Array.from({ length: 15 }, (_, index) => `session-${index + 1}`)
    return { keys: [], tokens: names.map((name) => tokenResult(context, takePair(context, context.root, name))) }
  },
  /** The access token ends in one second. */
  'token-about-to-expire': (context) => {
    const pair = takePair(context, context.root)
    pair.accessExpiryMs = context.now() + 1000
    return { keys: [], tokens: [tokenResult(context, pair)] }
  },
  /** Two pairs; the first was refreshed, so only the second works. */
  'revoked-pair': (context) => {
    const old = takePair(context, context.root)
    endPair(old)
    old.revokedMs = context.now()
    const renewed = issuePair(context, { ...old, old })
    return { keys: [], tokens: [tokenResult(context, old), tokenResult(context, renewed)] }
  },
  /** A key that was disabled, and tokens that it took before. */
  async 'disabled-key'(context) {
    const key = await makeSceneKey(context)
    const tokens = tokenResult(context, takePair(context, key))
    key.enabled = false
    return { keys: [shown(key)], tokens: [tokens] }
  },
} as const satisfies { readonly [name: string]: (context: ServerContext) => Scene | Promise<Scene> }

export type SceneName = keyof typeof scenes
export const sceneNames = Object.keys(scenes) as SceneName[]

/** Creates a key as the operator: it needs no call, but it takes one of the places. Throws if no place is left. */
async function makeSceneKey(context: ServerContext, params: SceneKeyParams = {}): Promise<ApiKey> {
  const call = {
    context,
    request: { method: 'POST', target: '/api', headers: {}, body: Buffer.alloc(0), remoteAddress: '127.0.0.1' },
    params: { name: 'made by the operator', scope: ['apiKey', 'solution', 'context'], ...params },
    caller: initialCaller(context),
  }
  const outcome: Outcome<unknown> = await createApiKey.run(call)
  const created = outcome.ok ? [...context.state.keys.values()].at(-1) : undefined
  if (!created) throw new RangeError(outcome.ok ? 'No key was created' : outcome.refusal.message)
  return created
}

function takePair(context: ServerContext, key: ApiKey, sessionName?: string): TokenPair {
  const opened = sessionName === undefined ? undefined : openSession(context, key, sessionName)
  const scope = ['solution']
  return issuePair(context, {
    key,
    scope,
    scopeEcho: scope,
    addresses: [],
    session: opened?.ok ? opened.value : undefined,
    expiresInMs: undefined,
  })
}

const shown = ({ id, secret }: ApiKey): SceneKey => ({ id, secret })

/** The input of a route: the values of `{…}` in its path, the query, and the JSON body. */
interface ControlCall<Body> {
  server: MockHandler
  operator: Operator
  id: string
  query: URLSearchParams
  body: Body
}

type Reply = { status: number; body?: unknown }

interface Route {
  /** The members of the body that it reads. */
  fields: Fields
  answer(call: ControlCall<never>): Reply | Promise<Reply>
}

const ok = (body: unknown): Reply => ({ status: 200, body })
const created = (body: unknown): Reply => ({ status: 201, body })
const done: Reply = { status: 204 }
const problem = (status: number, message: string): Reply => ({ status, body: { message } })
const found = (yes: boolean): Reply => (yes ? done : problem(404, 'There is nothing of this id'))

const plain = (answer: (call: ControlCall<object>) => Reply | Promise<Reply>): Route => ({ fields: {}, answer })
const withBody = <F extends Fields>(
  fields: F,
  answer: (call: ControlCall<Checked<F>>) => Reply | Promise<Reply>,
): Route => ({ fields, answer })

const keyFields = { name: optional(aText), scope: optional(texts), publicKey: optional(aText) }
const expiryFields = { token: aText, inMs: optional(wholeNumber(0)) }

/** Every route of the control port; spec/control.openapi.json describes them, and a test compares both. */
const routes: { readonly [route: string]: Route } = {
  'GET /clock': plain(({ server }) => clockOf(server)),
  'POST /clock/advance': withBody({ ms: aNumber }, ({ server, body: { ms } }) =>
    clockOf(server, (clock) => clock.advance(ms)),
  ),
  'POST /clock/set': withBody({ ms: aNumber }, ({ server, body: { ms } }) => clockOf(server, (clock) => clock.set(ms))),
  'POST /clock/freeze': withBody({ frozen: aFlag }, ({ server, body: { frozen } }) =>
    clockOf(server, (clock) => clock.freeze(frozen)),
  ),
  'POST /reset': plain(({ server }) => reset(server)),
  'GET /profile': plain(({ server }) => ok(server.context.profile)),
  'POST /keys': withBody(keyFields, async ({ operator, body }) =>
    created(await operator.makeKey(body as SceneKeyParams)),
  ),
  'PATCH /keys/{id}': withBody({ enabled: aFlag }, ({ operator, id, body }) =>
    found(operator.enableKey(id, body.enabled)),
  ),
  'DELETE /keys/{id}': plain(({ operator, id }) => found(operator.deleteKey(id))),
  'POST /tokens/expire': withBody(expiryFields, ({ operator, body }) =>
    found(operator.expireToken(body.token, body.inMs)),
  ),
  'GET /journal': plain(({ server: { journal }, query }) =>
    ok({ entries: journal.entries(filterOf(query)), dropped: journal.dropped }),
  ),
  'DELETE /journal': plain(({ server }) => cleared(server.journal)),
  'GET /journal/count': plain(({ server, query }) => ok({ count: server.journal.count(filterOf(query)) })),
  'GET /journal/lineage': plain(({ server }) => ok({ pairs: server.journal.lineage() })),
  'GET /faults': plain(({ server }) => ok({ faults: server.faults.list() })),
  'POST /faults': plain(({ server, body }) => created({ id: server.faults.add(body as Fault) })),
  'DELETE /faults': plain(({ server }) => cleared(server.faults)),
  'DELETE /faults/{id}': plain(({ server, id }) => found(server.faults.remove(id))),
  'GET /scenes': plain(() => ok({ scenes: sceneNames })),
  'POST /scenes': withBody({ scene: oneOf(sceneNames) }, async ({ operator, body }) =>
    ok(await operator.scene(body.scene)),
  ),
}

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
      const { route, id } = matched
      demandValues('member', body, route.fields)
      return render(
        await route.answer({ server, operator, id, query: new URLSearchParams(query), body: body as never }),
      )
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) return render(problem(400, error.message))
      return render(problem(500, 'The control port failed'))
    }
  }
}

function matchRoute(method: string, path: string): { route: Route; id: string } | undefined {
  const exact = routes[`${method} ${path}`]
  if (exact) return { route: exact, id: '' }
  const slash = path.lastIndexOf('/')
  const route = routes[`${method} ${path.slice(0, slash)}/{id}`]
  return route && { route, id: path.slice(slash + 1) }
}

function readBody({ body }: MockRequest): object | undefined {
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

function cleared(held: { clear(): void }): Reply {
  held.clear()
  return done
}

/** The time of a server, after the clock was moved. */
function clockOf({ context }: MockHandler, move?: (clock: MockClock) => void): Reply {
  move?.(context.clock)
  return ok({ nowMs: context.now(), frozen: context.clock.frozen })
}

function reset(server: MockHandler): Reply {
  server.reset()
  const { root, state } = server.context
  return ok({ rootKey: { id: root.id, secret: root.secret }, solutions: [...state.solutions.keys()] })
}

function filterOf(query: URLSearchParams): JournalFilter {
  const { status, ...filter } = Object.fromEntries(query)
  return status === undefined ? filter : { ...filter, status: Number(status) }
}
