import { admit, type Caller, callerAddress, findKey, identify, keyProblem, secretProblem } from './caller.ts'
import { aFlag, type Check, check, type Fields, oneOf, optional, wholeNumber } from './checks.ts'
import type { ServerContext } from './context.ts'
import { makeKey } from './context.ts'
import type { MockRequest } from './http-server.ts'
import { type Outcome, refuse, succeed } from './refusal.ts'
import type { Area, Rules, TokenResult } from './rules.ts'
import { grantScopes, keyScopeProblem } from './scopes.ts'
import { type ApiKey, makeRoom, type Solution, type State, type TokenPair } from './state.ts'
import { endPair, enterSession, findToken, issuePair, openSession, pairsOf, planSession } from './token-state.ts'

/** The members of an object from a caller. */
export type Params = { readonly [name: string]: unknown }

/** One call that passed all checks: authorized, with valid params and sufficient scope. */
interface Call {
  context: ServerContext
  request: MockRequest
  params: Params
  /** Absent on manager/auth. */
  caller: Caller | undefined
}

/** The documented methods give an object; some extensions give a word. */
type Result = Outcome<object | 'OK'>
type Maybe<T> = T | Promise<T>

interface Method {
  name: string
  /** The scope that it needs; undefined: none. */
  area: Area | undefined
  /** undefined: it checks them itself. */
  params: Fields | undefined
  run(call: Call): Maybe<Result>
}

/** A method of an API area; the first part of its name is the area. */
function method(name: `${Area}/${string}`, params: Fields, run: Method['run']): Method {
  return { name, area: name.split('/')[0] as Area, params, run }
}

/** A decision and its effect happen together; a replaced rule separates them. */
function carryOut<T>({ rules }: ServerContext, effect: Parameters<Rules['beforeEffect']>[0], act: () => T): Maybe<T> {
  const wait = rules.beforeEffect(effect)
  return wait ? wait.then(act) : act()
}

/** A string; its length is counted in UTF-16 units. */
const text = (from: number, to: number): Check<string> =>
  check(`a text of ${from} to ${to} characters`, (value) => isText(value) && value.length >= from && value.length <= to)
const word = text(1, 128)
const textList = check<string[]>(
  'a list of texts',
  (value) => Array.isArray(value) && value.length <= 128 && value.every((item) => word(item) === undefined),
)
const anything: Check<unknown> = () => undefined

const isText = (value: unknown): value is string => typeof value === 'string'

/** The first param that is missing, wrong or unknown, as a refusal; undefined when all are right. */
function paramsProblem(
  { rules, profile }: ServerContext,
  method: string,
  table: Fields,
  params: Params,
): ReturnType<typeof refuse> | undefined {
  for (const [name, expects] of Object.entries(table)) {
    const value = Object.hasOwn(params, name) ? params[name] : undefined
    if (!rules.paramTaken(method, name, value, expects(value) === undefined)) return refuse('params', `params/${name}`)
  }
  if (profile.extraParams === 'ignored') return undefined
  for (const name of Object.keys(params)) {
    if (!Object.hasOwn(table, name)) return refuse('params', 'params/extra')
  }
  return undefined
}

/** A param as text; under a replaced rule it may be anything. */
const asText = (value: unknown): string => (isText(value) ? value : '')
/** A param as a list of texts; under a replaced rule it may be anything. */
const asList = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter(isText) : isText(value) ? [value] : []

const credentialsParams: Fields = {
  grantType: anything,
  scope: textList,
  apiKeyId: word,
  apiKeySecret: text(1, 1024),
}

/** Part 4.2: tokens for the credentials of a key, or for a refresh token. */
const auth: Method = {
  name: 'manager/auth',
  area: undefined,
  // They depend on the grant type.
  params: undefined,
  run(call) {
    const { context, params, request } = call
    const { rules, profile } = context
    if (request.headers.authorization !== undefined) {
      if (profile.authHeaderOnGrant === 'refused') return refuse('unauthorized', 'authorization/not-wanted')
      const judged =
        profile.authHeaderOnGrant === 'judged' ? admit(context, identify(context, request), auth.name) : undefined
      if (judged && !judged.ok) return judged
    }
    switch (rules.grantType(params)) {
      case 'api_key_credentials':
        return grant(call)
      case 'refresh_token':
        return refresh(call)
      default:
        return refuse('params', 'params/grantType')
    }
  },
}

function grant(call: Call): Maybe<Result> {
  const { context, params } = call
  const { rules, profile } = context
  const problem = paramsProblem(context, 'manager/auth', credentialsParams, params)
  if (problem) return problem
  const found = findKey(context, asText(params.apiKeyId), 'grant')
  if (!found.ok) return refuse('unknownKey', found.refusal.stage)
  const key = found.value
  const stage = secretProblem(context, key, asText(params.apiKeySecret), 'grant')
  if (stage !== undefined) {
    if (rules.refusedGrantOpensSession()) openSession(context, key, undefined)
    for (const pair of rules.endedByRefusal(() => pairsOf(context), key)) endPair(pair)
    return refuse('credentials', stage)
  }

  const granted = grantScopes(context, key, asList(params.scope))
  if (!granted.ok) return granted
  const { scope, scopeEcho, addresses, sessionName, expiresInMs } = granted.value
  if (rules.addressChecked('grant', key) && !rules.addressTaken(addresses, callerAddress(context, call.request))) {
    return refuse('unauthorized', 'token/address')
  }
  const counts = sessionName === undefined ? profile.unnamedCountAsSessions : rules.sessionCreated(sessionName)
  const planned = counts ? planSession(context, key, sessionName) : undefined
  if (planned?.ok === false) return planned
  return carryOut(context, 'session', () => {
    const pair = issuePair(context, {
      key,
      scope,
      scopeEcho,
      addresses,
      session: planned && enterSession(context, planned.value),
      expiresInMs,
    })
    return succeed(rules.grantResult(tokenResult(context, pair), pair))
  })
}

/** Part 3 and 4.2: a new pair for a refresh token; the old pair is revoked. */
function refresh(call: Call): Maybe<Result> {
  const { context, params } = call
  const { rules, profile } = context
  const problem = paramsProblem(context, 'manager/auth', refreshParams(call), params)
  if (problem) return problem
  if (rules.refreshNeedsScope() && params.scope === undefined) return refuse('params', 'params/scope')

  const text = asText(params.refreshToken)
  const found = findToken(context, text, 'refresh')
  if (!found.ok) {
    const reused = context.state.tokens.get(text)
    if (profile.reuseRevokesFamily && reused?.kind === 'refresh' && found.refusal.stage === 'token/revoked') {
      reused.pair.family.revoked = true
    }
    for (const pair of rules.endedByRefusal(() => pairsOf(context), undefined)) endPair(pair)
    return found
  }
  const old = found.value.pair
  const stage = keyProblem(context, old.key, 'token')
  if (stage !== undefined) return refuse('unknownKey', stage)
  if (profile.refreshChecksAddress && !rules.addressTaken(old.addresses, callerAddress(context, call.request))) {
    return refuse('token', 'token/address')
  }
  if (old.generation >= rules.refreshesAllowed()) return refuse('token', 'token/spent')
  return carryOut(context, 'refresh', () => renew(call, old))
}

function refreshParams({ context }: Call): Fields {
  const wide = context.profile.scopeOnRefresh !== 'refused' || context.rules.refreshNeedsScope()
  return {
    grantType: anything,
    refreshToken: text(1, 8192),
    ...(wide ? { scope: optional(textList) } : {}),
  }
}

function renew({ context, params }: Call, old: TokenPair): Outcome<object> {
  const { rules, profile } = context
  const revoked = rules.revokedByRefresh()
  if (revoked.length > 0) old.revokedMs = context.now()
  if (revoked.includes('access')) old.accessRevoked = true
  if (revoked.includes('refresh')) old.refreshRevoked = true
  for (const other of rules.endedBesideRefresh(() => pairsOf(context), old)) endPair(other)
  if (rules.refreshOpensSession()) openSession(context, old.key, undefined)
  const requested =
    profile.scopeOnRefresh === 'narrows' && params.scope !== undefined ? asList(params.scope) : undefined
  const narrow = (scopes: string[]) => (requested ? scopes.filter((scope) => requested.includes(scope)) : scopes)
  const pair = issuePair(context, {
    key: old.key,
    scope: narrow(rules.refreshedScope(old)),
    scopeEcho: narrow(rules.refreshedScopeEcho(old)),
    addresses: rules.refreshedAddresses(old),
    session: rules.refreshedSession(old),
    expiresInMs: rules.refreshedExpiresInMs(old, profile),
    old,
  })
  return succeed(rules.refreshResult(tokenResult(context, pair), old))
}

/** The six members of the result. */
export function tokenResult({ rules }: ServerContext, pair: TokenPair): TokenResult {
  return {
    accessToken: pair.accessToken,
    accessTokenExpiry: rules.reportedAccessExpiry(pair),
    refreshToken: pair.refreshToken,
    refreshTokenExpiry: rules.reportedRefreshExpiry(pair),
    tokenType: 'Bearer',
    scope: pair.scopeEcho,
  }
}

/** Part 4.1. */
export const createApiKey = method(
  'manager/createApiKey',
  { name: word, scope: textList, publicKey: anything },
  (call) => {
    const { rules, profile, state } = call.context
    const scope = asList(call.params.scope)
    const problem = keyScopeProblem(profile, scope, call.caller?.scopes ?? [])
    if (problem) return problem
    const { publicKey } = call.params
    if (publicKey !== undefined && !rules.publicKey(publicKey, profile) && !rules.badPublicKeyTaken(publicKey)) {
      return refuse('params', 'params/publicKey')
    }
    if (profile.repeatedPublicKeys === 'refused' && isInUse(publicKey, state))
      return refuse('params', 'params/publicKey')

    const counted = rules.keysCounted([...state.keys.values()], profile)
    const beyond = counted >= rules.keyLimit(call.caller?.means) ? rules.beyondKeyLimit(profile) : 'created'
    if (beyond === 'refused') {
      remove(rules.keysLostToRefusal([...state.keys.values()]))
      return refuse('keyLimit', 'key/limit')
    }
    return carryOut(call.context, 'key', () => create(call, scope, beyond))
  },
)

function create({ context, params }: Call, scope: string[], beyond: 'oldest-removed' | 'created'): Outcome<object> {
  const { rules, profile, state, bounds } = context
  const key = makeKey({
    id: rules.keyId(context.random(16).toString('hex')),
    secret: rules.keySecret(context.random(16).toString('hex')),
    name: asText(params.name),
    scope,
    createdMs: context.now(),
  })
  if (params.publicKey !== undefined) {
    key.publicKey = asText(params.publicKey)
    const verifyKey = rules.publicKey(params.publicKey, profile)
    if (verifyKey) key.verifyKey = verifyKey
  }
  if (beyond === 'oldest-removed') {
    remove([...state.keys.values()].filter((old) => !old.initial && !old.deleted).slice(0, 1))
  }
  remove(rules.keysLostToNewKey([...state.keys.values()], key))
  // Deleted keys stay as records until the bound; live ones are never dropped.
  makeRoom(state.keys, bounds.keys, ({ deleted }) => deleted)
  state.keys.set(key.id, rules.storedKey(key))
  return succeed(rules.createKeyResult({ id: key.id, secret: key.secret }))
}

function isInUse(publicKey: unknown, { keys }: State): boolean {
  return publicKey !== undefined && [...keys.values()].some((key) => !key.deleted && key.publicKey === publicKey)
}

function remove(keys: ApiKey[]): void {
  for (const key of keys) key.deleted = true
}

const byId = { id: word }

/** Beyond the document: reading, disabling and deleting API keys. A key's scope stays as created. */
const apiKeyMethods: Method[] = [
  method('manager/listApiKeys', {}, ({ context }) =>
    succeed({ list: [...context.state.keys.values()].filter((key) => !key.deleted).map(record) }),
  ),
  method('manager/getApiKey', byId, (call) => withKey(call, (key) => succeed({ apiKey: record(key) }))),
  method('manager/updateApiKey', { ...byId, name: optional(word), enabled: optional(aFlag) }, (call) =>
    withKey(call, (key) => {
      const { name, enabled } = call.params
      if (enabled === false && key === call.caller?.key) return refuse('denied', 'key/in-use')
      if (name !== undefined) key.name = asText(name)
      if (enabled !== undefined) key.enabled = enabled === true
      return succeed('OK')
    }),
  ),
  method('manager/deleteApiKey', byId, (call) =>
    withKey(call, (key) => {
      if (key === call.caller?.key) return refuse('denied', 'key/in-use')
      key.deleted = true
      return succeed('OK')
    }),
  ),
]

function withKey(call: Call, use: (key: ApiKey) => Result): Result {
  const key = call.context.state.keys.get(asText(call.params.id))
  return key === undefined || key.deleted ? refuse('unknownKey', 'params/id') : use(key)
}

function record(key: ApiKey): object {
  return {
    id: key.id,
    created: key.createdMs,
    enabled: key.enabled,
    name: key.name,
    scope: key.scope,
    ...(key.publicKey === undefined ? {} : { publicKey: key.publicKey }),
  }
}

/** Part 4.3, and beyond the document: creating and changing solutions. */
const solutionMethods: Method[] = [
  method('solution/listSolutions', {}, ({ context }) => carryOut(context, 'listing', () => listing(context))),
  method('solution/createSolution', { name: word }, ({ context, params }) => {
    const made = { ...recordOf(context), name: asText(params.name) }
    keep(context, context.state.solutions, made)
    return succeed({ solutionId: made.id })
  }),
  method('solution/getSolution', byId, (call) => withSolution(call, (solution) => succeed({ solution }))),
  method('solution/updateSolution', { ...byId, name: word }, (call) =>
    withSolution(call, (solution) => {
      solution.name = asText(call.params.name)
      return succeed('OK')
    }),
  ),
  method('solution/deleteSolution', byId, (call) =>
    withSolution(call, ({ id }) => {
      call.context.state.solutions.delete(id)
      return succeed('OK')
    }),
  ),
]

const recordOf = ({ random, now }: ServerContext) => ({ id: random(16).toString('hex'), created: now() })

function keep<R extends { id: string }>({ bounds }: ServerContext, records: Map<string, R>, made: R): void {
  makeRoom(records, bounds.records)
  records.set(made.id, made)
}

function listing({ state, profile }: ServerContext): Outcome<object> {
  const list = [...state.solutions.values()]
  switch (profile.listShape) {
    case 'list':
      return succeed({ list })
    case 'solutions':
      return succeed({ solutions: list })
    default:
      return succeed({ items: list, count: list.length, next: null })
  }
}

function withSolution(call: Call, use: (solution: Solution) => Result): Result {
  const solution = call.context.state.solutions.get(asText(call.params.id))
  return solution ? use(solution) : refuse('denied', 'params/id')
}

const page = { skip: optional(wholeNumber(0)), limit: optional(wholeNumber(0)) }

/** Beyond the document: Contexts, to show that the scopes context, solution:ID and solution:* work. */
const contextMethods: Method[] = [
  method(
    'context/createContext',
    { solution: word, name: word, description: text(0, 1024), scope: oneOf(['private', 'public']) },
    (call) => {
      const { context, params } = call
      const solution = asText(params.solution)
      if (!reached(call, solution)) return refuse('denied', 'scope/solution')
      const { name, description, scope } = params
      const texts = { name: asText(name), description: asText(description), scope: asText(scope) }
      const made = { ...recordOf(context), solution, ...texts }
      keep(context, context.state.contexts, made)
      return succeed({ contextId: made.id })
    },
  ),
  method(
    'context/listContexts',
    { ...page, solution: optional(word), sortOrder: optional(oneOf(['asc', 'desc'])) },
    (call) => {
      const { params } = call
      const wanted = params.solution === undefined ? undefined : asText(params.solution)
      if (wanted !== undefined && !reached(call, wanted)) return refuse('denied', 'scope/solution')
      const all = [...call.context.state.contexts.values()].filter(({ solution }) =>
        wanted === undefined ? mayManage(call, solution) : solution === wanted,
      )
      if (params.sortOrder === 'desc') all.reverse()
      const skip = Number(params.skip ?? 0)
      const list = all.slice(skip, skip + Number(params.limit ?? 100))
      return succeed({ list, count: all.length })
    },
  ),
]

/** Checks that the solution exists and that the caller may manage its Contexts. */
function reached(call: Call, solution: string): boolean {
  return call.context.state.solutions.has(solution) && mayManage(call, solution)
}

function mayManage({ context, caller }: Call, solution: string): boolean {
  return context.rules.solutionReached(caller?.scopes ?? [], solution)
}

/** Beyond the document: one harmless call in each of the other API areas, to show that their scopes open them. */
const areaMethods: Method[] = (
  ['thread/listThreads', 'store/listStores', 'inbox/listInboxes', 'stream/listStreams'] as const
).map((name) => method(name, page, () => succeed({ list: [], count: 0 })))

/** Every method by its name: the three of the document, then the extensions. A Map, so that `__proto__` is not a method. */
export const methods: ReadonlyMap<string, Method> = new Map(
  [createApiKey, auth, ...solutionMethods, ...apiKeyMethods, ...contextMethods, ...areaMethods].map((method) => [
    method.name,
    method,
  ]),
)

/** Runs a method: params first, then scope, then the call. */
export function runMethod(method: Method, call: Call): ReturnType<Method['run']> {
  const { context, params, caller } = call
  const { rules } = context
  const { name, area } = method
  const problem = method.params && paramsProblem(context, name, method.params, params)
  if (problem) return problem
  const isClosed = area !== undefined && rules.scopeNeeded(name, area)
  if (isClosed && !caller?.scopes.some((scope) => rules.scopeOpens(scope, area)))
    return refuse('scope', 'scope/area', area === 'manager' ? 'apiKey' : area)
  return method.run(call)
}
