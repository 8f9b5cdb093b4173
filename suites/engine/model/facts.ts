/** Every fact on which the acceptance of a call rests: the document, read for one call. */
import { no, open, unsure, yes } from './fact.ts'
import { accessFacts, findPair, refreshFacts, signatureFacts } from './facts-of-credentials.ts'
import {
  beyondCreator,
  createFacts,
  credentialParamsFacts,
  keyScopeFact,
  pairScopeFact,
  refreshParamsFacts,
  solutionFact,
} from './facts-of-params.ts'
import { type Authorization, isObject, isStrings, type ReadBody, readAuthorization, readBody } from './parse.ts'
import type { Span } from './sessions.ts'
import type { Call, Fact, Key, State } from './state.ts'

/** Every server accepts bodies up to this; beyond it, only if one of this kind and size was accepted (signatures/large-body). */
const safeBytes = 1024
/** A key may be locked for a while after this many wrong attempts in a row. */
const safeTries = 3

/** What the document says about a call, given the state of the target as far as calls and answers show it. Pure. */
export function facts(state: State, call: Call, span: Span): Fact[] {
  const body = readBody(call.body)
  const envelope = [...envelopeFacts(state, body), ...framingFacts(state, call)]
  if (!isObject(body.params) || envelope.some(({ is }) => is === 'no'))
    return [...envelope, ...factsOfCaller(state, call, body, span)]
  if (body.method === 'manager/auth') return [...envelope, ...grantFacts(state, call, body.params, span)]
  const params =
    body.method === 'manager/createApiKey'
      ? createFacts(state, body.params)
      : Object.keys(body.params).length === 0 || state.terms.probes.has(String(body.method))
        ? []
        : [open(state, 'envelope/empty-params', body.form)]
  return [...envelope, ...factsOfCaller(state, call, body, span), ...params]
}

/** Whether the caller may make this call; grants have no caller. */
function factsOfCaller(state: State, call: Call, body: ReadBody, span: Span): Fact[] {
  if (body.method === 'manager/auth') return []
  return [
    ...authorizationFacts(state, call, String(body.method), span),
    ...scopeOfNewKey(state, call, body),
    ...solutionFacts(state, call, body),
  ]
}

/** Part 5.4, `solution:SOLUTION_ID`: only where the target declares a method for the contexts of a solution. */
function solutionFacts(state: State, call: Call, body: ReadBody): Fact[] {
  const { contextsOfSolution: declared } = state.terms
  if (declared === undefined || body.method !== declared.method) return []
  const solution = declared.path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), body.params)
  const auth = authorizationOf(state, call)
  const pair = auth.kind === 'token' ? findPair(state, auth.token, 'access')?.pair : undefined
  return pair === undefined || typeof solution !== 'string' ? [] : [solutionFact(pair, solution)]
}

/** Part 1. */
function envelopeFacts(state: State, body: ReadBody): Fact[] {
  if (!body.json) return [no('envelope/malformed-answered')]
  const { members, method, params, id } = body
  if (members === null) return [unsure('envelope/request-members')]
  if (typeof method !== 'string') return [no('envelope/request-members')]
  const { jsonrpc, method: _method, params: _params, id: _id, ...extra } = members
  const noParams = params === undefined || params === null || Array.isArray(params)
  if (!noParams && !isObject(params)) return [no('envelope/request-members')]
  const plain = jsonrpc === '2.0' && Number.isSafeInteger(id) && !noParams && !body.duplicates
  return [
    methodFact(state, method),
    ...(plain && Object.keys(extra).length === 0 ? [] : [oddFact(state, body)]),
    sizeFact(state, body),
  ]
}

/** Whether a body in chunks is accepted is open, until one was. */
const framingFacts = (state: State, { inChunks }: Call): Fact[] =>
  inChunks === true ? [open(state, 'signatures/request-body', 'in chunks')] : []

/** A server that accepts an odd body once must accept it again. Bodies with secrets in them are not remembered. */
function oddFact(state: State, body: ReadBody): Fact {
  const plain = body.method === 'solution/listSolutions'
  return plain ? open(state, 'envelope/request-members', body.form) : unsure('envelope/request-members')
}

/** envelope/unknown-method; names that another method of the service may have are open. */
function methodFact(state: State, method: string): Fact {
  if (documented.has(method) || state.terms.probes.has(method)) return yes('envelope/method-names', method)
  if (state.terms.otherMethods?.has(method) === true) return unsure('envelope/unknown-method')
  // A reader may skip white space around a name; another letter makes another name.
  const near = documented.has(method.trim())
  const plausible = /^\w+\/(list|get|create|update|delete|add|remove|set|enable|disable|auth)[A-Z]\w*$/.test(method)
  return near || plausible ? unsure('envelope/unknown-method') : no('envelope/unknown-method')
}

const documented = new Set(['manager/createApiKey', 'manager/auth', 'solution/listSolutions'])

/** The kind and size of a body: an accepted body shows that others like it are accepted. */
export function kindOfBody(body: ReadBody): string {
  const compact = JSON.stringify(body.members).length
  return `${String(body.method)}, ${compact * 2 < body.bytes ? 'white space' : 'text'}`
}

function sizeFact(state: State, body: ReadBody): Fact {
  const taken = Math.max(safeBytes, state.sizes.get(kindOfBody(body)) ?? 0)
  return body.bytes <= taken ? yes('signatures/request-body') : unsure('signatures/request-body')
}

/** Part 5: who calls, in one of three ways, and what this caller may do. */
function authorizationFacts(state: State, call: Call, method: string, span: Span): Fact[] {
  const auth = authorizationOf(state, call)
  if (auth.kind === 'none') return [no('authorization/required')]
  if (auth.kind === 'other-scheme')
    return [no(/;.*;/.test(call.authorization ?? '') ? 'signatures/scheme' : 'authorization/required')]
  if (auth.kind === 'malformed-basic') return [no('basic/malformed')]
  const spelt = auth.plain ? [] : [openSpelling(state, auth, call)]
  if (auth.kind === 'token') {
    const pair = findPair(state, auth.token, 'access')?.pair
    const scope = pair === undefined ? [] : [pairScopeFact(state, pair, state.keys.get(pair.key), method)]
    return [...spelt, ...accessFacts(state, auth.token, call.from, span), ...scope]
  }
  const own =
    auth.kind === 'basic'
      ? secretFacts(state.keys.get(auth.id), auth.secret, 'basic')
      : signatureFacts(state, call, span, auth.fields)
  const key = state.keys.get(auth.kind === 'basic' ? auth.id : (auth.fields[0] ?? ''))
  return [
    ...spelt,
    ...own,
    ...(key === undefined ? [] : [...keyWorksFacts(state, key), keyScopeFact(state, key, method)]),
  ]
}

/** The header of a call, read with the known tokens. */
export function authorizationOf(state: State, call: Call): Authorization {
  const isToken = (text: string): boolean =>
    findPair(state, text, 'access') !== undefined || findPair(state, text, 'refresh') !== undefined
  return readAuthorization(call.authorization, state.terms, isToken)
}

function openSpelling(state: State, auth: Authorization, call: Call): Fact {
  if (auth.kind === 'token')
    return open(state, 'tokens/authorize', `prefix ${(call.authorization ?? '').split(' ')[0]?.slice(0, 16)}`)
  return unsure(auth.kind === 'basic' ? 'basic/malformed' : 'signatures/scheme')
}

/**
 * basic/credentials and grants/credentials: a key's own whole secret; basic/public-key-refused and grants/public-key-refused: never for a key
 * with a public key.
 */
function secretFacts(key: Key | undefined, secret: string, way: 'basic' | 'grants'): Fact[] {
  if (key === undefined) return [no(`${way}/key-id`)]
  if (key.publicKey !== null) return [no(`${way}/public-key-refused`)]
  return [key.secret === secret ? yes(`${way}/credentials`, key.origin) : no(`${way}/credentials`)]
}

/**
 * keys/can-be-disabled, keys/can-be-deleted: such a key authorizes nothing. Whether another may have been removed for a later one or locked for a
 * while, the document does not show.
 */
function keyWorksFacts(state: State, key: Key): Fact[] {
  if (key.ended !== undefined) return [no(key.ended)]
  const tries = state.wrongTries.get(key.id) ?? 0
  return [
    ...(key.works === 'unknown' ? [unsure('keys/created-key-works')] : []),
    ...(tries > safeTries ? [unsure('keys/created-key-works')] : []),
  ]
}

/** Whether a key may create one with more scope than its own is open (keys/scope-above-creator). */
function scopeOfNewKey(state: State, call: Call, body: ReadBody): Fact[] {
  if (body.method !== 'manager/createApiKey' || !isObject(body.params) || !isStrings(body.params.scope)) return []
  const beyond = beyondCreator(body.params.scope, scopeOfCaller(state, call))
  return beyond.length > 0 ? [unsure('keys/create-authorized')] : []
}

/** The scope of the caller; null: every scope. */
export function scopeOfCaller(state: State, call: Call): readonly string[] | null {
  const auth = authorizationOf(state, call)
  if (auth.kind === 'token') return findPair(state, auth.token, 'access')?.pair.scope ?? []
  const id = auth.kind === 'basic' ? auth.id : auth.kind === 'signature' ? auth.fields[0] : undefined
  const key = state.keys.get(id ?? '')
  return key === undefined ? [] : key.scope
}

/** Part 4.2. */
function grantFacts(state: State, call: Call, params: { readonly [name: string]: unknown }, span: Span): Fact[] {
  // Whether an Authorization header matters here is open (grants/authorization-header).
  const header =
    call.authorization === undefined
      ? [yes('grants/no-authorization-header')]
      : [unsure('grants/no-authorization-header')]
  if (params.grantType === 'refresh_token') {
    const own = refreshParamsFacts(params)
    if (typeof params.refreshToken !== 'string') return [...header, ...own]
    return [...header, ...own, ...refreshFacts(state, params.refreshToken, call.from, span)]
  }
  if (params.grantType !== 'api_key_credentials') return [...header, no('grants/grant-type')]
  const { apiKeyId: id, apiKeySecret: secret } = params
  const key = typeof id === 'string' ? state.keys.get(id) : undefined
  const own = credentialParamsFacts(state, params, key, call.from)
  if (typeof id !== 'string' || typeof secret !== 'string') return [...header, ...own]
  return [
    ...header,
    ...own,
    ...secretFacts(key, secret, 'grants'),
    ...(key === undefined ? [] : keyWorksFacts(state, key)),
  ]
}
