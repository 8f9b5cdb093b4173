import type { Auth, BodyForm } from '../fixture/model.ts'
import type { Called, Delivered } from '../judge/called.ts'
import { envelopeProblems } from '../judge/envelope.ts'
import type { Moment } from '../judge/match.ts'
import type { WireRequest } from '../target.ts'
import { authorize, type Credential } from './authorize.ts'
import { type Client, credentialOfKey } from './client.ts'
import type { CreatedKey } from './created-keys.ts'
import { type Build, deliver, deliverTogether } from './deliver.ts'
import { noteAccepted } from './patience.ts'
import { rememberSent } from './secrets.ts'
import { standInOf } from './stand-in.ts'
import { sightTokenClock, tokenClockWitnesses } from './token-clock.ts'
import { UnsendableCredentials, UnusableValue } from './unusable-value.ts'
import { writeBody } from './write-body.ts'

/** A JSON-RPC call with its references resolved. */
export interface CallSpec {
  method: string
  params: unknown
  auth: Auth
  /** Chosen where undefined. */
  id?: unknown
  form?: BodyForm | undefined
  headers?: { [name: string]: string } | undefined
  from?: 'first-address' | 'second-address' | undefined
  /** The private key behind a `publicKey` param, so that a created key can be used. */
  privateKey?: string
  /** Not on a kept connection. */
  freshConnection?: boolean
  /** In a race: on a connection that carried a call before. */
  warmConnection?: boolean
  /** The id of the key that this call deletes, if it is one that does. */
  removes?: string
  /** The test key that this call creates. */
  member?: string
  /** How long to wait for the answer, where that is less than usual. */
  timeoutMs?: number | undefined
  /** How many calls a step makes whose answers are judged together. */
  sharedBy?: number | undefined
}

/** Raw HTTP with its references resolved. */
export interface RawSpec {
  method: string
  path: string
  headers: { [name: string]: string }
  body: Uint8Array
  auth: Auth
  from?: 'first-address' | 'second-address' | undefined
  timeoutMs?: number | undefined
  sharedBy?: number | undefined
}

/**
 * Makes one call, or several at once, and notes every key that is created. Grants are made one at a time, apart from those of a race: a
 * server may lose count of grants that come at once.
 */
export async function makeCalls(client: Client, specs: CallSpec[]): Promise<Called[]> {
  if (!specs.some(({ method }) => method === 'manager/auth')) return makeCallsNow(client, specs)
  return client.grants.run(() => makeCallsNow(client, specs))
}

async function makeCallsNow(client: Client, specs: CallSpec[]): Promise<Called[]> {
  const prepared = specs.map((spec) => prepareCall(client, { sharedBy: specs.length, ...spec }))
  for (const spec of specs) if (spec.method === 'manager/createApiKey') client.createdKeys.intend(keyName(spec))
  client.calls += specs.length
  const [only] = prepared
  const tries = specs.some((spec) => mayBeBeyondLimit(client, spec)) ? 1 : undefined
  const delivered =
    prepared.length === 1 && only !== undefined
      ? [await deliver(client, only.build, tries)]
      : await deliverTogether(
          client,
          prepared.map(({ build }) => build),
          tries,
        )
  return delivered.map((raw, index) => {
    const spec = specs[index]
    const one = spec !== undefined && mayBeBeyondLimit(client, spec) ? withLimitRefused(raw) : raw
    const sent = prepared[index]?.sent
    if (spec === undefined || sent === undefined) throw new Error('an answer without its call')
    // What a server drops of a race says that it has enough of them, not that it went away.
    if (specs.length === 1) client.run.stopping.hear(one.answer)
    learn(client, spec, one)
    noteAccepted(client, one)
    const lifeAskedMs = lifeAsked(spec)
    const tokenExpiryMs = client.tokenExpiries.get(tokenUsed(spec))
    // The latest moment that an answer may mean by the lifetime that was asked for.
    if (lifeAskedMs !== undefined) sent.expiry = one.moment.answeredAtMs + lifeAskedMs
    return {
      ...one,
      moment: lifeAskedMs === undefined ? one.moment : witnessed(client, one, lifeAskedMs),
      sent,
      departures: envelopeProblems(one.answer, sent.id, spec.method),
      ...(lifeAskedMs === undefined ? {} : { lifeAskedMs }),
      ...(tokenExpiryMs === undefined ? {} : { tokenExpiryMs }),
    }
  })
}

/** The interface allows so many created keys (part 8); the initial key may be one of them. */
const leastKeyLimit = 9

/** A target may answer the creation beyond its limit with HTTP 429, which no waiting changes. */
function mayBeBeyondLimit({ createdKeys }: Client, { method }: CallSpec): boolean {
  return method === 'manager/createApiKey' && createdKeys.keys.length >= leastKeyLimit
}

function withLimitRefused(one: Delivered): Delivered {
  if (one.answer.outcome !== 'throttled') return one
  const { status, headers } = one.answer
  return { ...one, answer: { outcome: 'refused', status, headers, json: undefined, error: undefined } }
}

/** The moment of a grant with what else is known of the clock of its expiry; what this grant says of it is known from now on. */
function witnessed({ facts }: Client, { answer, moment }: Delivered, lifeAskedMs: number): Moment {
  const witnesses = tokenClockWitnesses(facts, lifeAskedMs)
  if (answer.outcome === 'accepted' && typeof answer.result === 'object' && answer.result !== null) {
    const { accessTokenExpiry } = answer.result as { accessTokenExpiry?: unknown }
    sightTokenClock(facts, lifeAskedMs, accessTokenExpiry, moment)
  }
  return { ...moment, witnesses }
}

function lifeAsked({ method, params }: CallSpec): number | undefined {
  if (method !== 'manager/auth' || typeof params !== 'object' || params === null || !('scope' in params))
    return undefined
  const scopes: unknown[] = Array.isArray(params.scope) ? params.scope : []
  const asked = scopes.flatMap((scope) => /^expiresIn:(\d+)$/.exec(String(scope))?.[1] ?? [])
  return asked.length === 0 ? undefined : Math.max(...asked.map(Number))
}

function tokenUsed({ auth, params }: CallSpec): string {
  if (typeof auth === 'object' && 'token' in auth) return String(auth.token)
  return typeof params === 'object' && params !== null && 'refreshToken' in params ? String(params.refreshToken) : ''
}

export async function makeCall(client: Client, spec: CallSpec): Promise<Called> {
  const [called] = await makeCalls(client, [spec])
  if (called === undefined) throw new Error('a call without an answer')
  return called
}

/** Sends raw HTTP; nothing is assumed about its answer. */
export async function sendRaw(client: Client, spec: RawSpec): Promise<Called> {
  const sent: Called['sent'] = {}
  client.calls += 1
  const build: Build = (signedAtMs) => {
    const headers: [string, string][] = Object.entries(spec.headers)
    authorizeRequest(client, { auth: spec.auth, method: spec.method, body: spec.body, signedAtMs }, headers, sent)
    rememberSent(client, sent.header, {})
    return {
      method: spec.method,
      path: spec.path,
      headers: withTargetHeaders(client, headers),
      body: spec.body,
      connection: 'fresh',
      raw: true,
      ...(spec.from === undefined ? {} : { from: spec.from }),
      ...limitsOf(spec),
    }
  }
  const delivered = await deliver(client, build)
  client.run.stopping.hear(delivered.answer)
  return { ...delivered, sent, departures: [] }
}

function prepareCall(client: Client, spec: CallSpec): { build: Build; sent: Called['sent'] } {
  const id = spec.id === undefined ? client.nextId++ : spec.id
  const text = writeBody(
    [
      ['jsonrpc', '2.0'],
      ['id', id],
      ['method', spec.method],
      ['params', withScopeNames(client, spec)],
    ],
    spec.form,
  )
  const body = new TextEncoder().encode(text)
  const sent: Called['sent'] = { id }
  const build: Build = (signedAtMs) => {
    const headers: [string, string][] = [['content-type', 'application/json']]
    authorizeRequest(client, { auth: spec.auth, method: 'POST', body, signedAtMs }, headers, sent)
    rememberSent(client, sent.header, spec.params)
    for (const [name, value] of Object.entries(spec.headers ?? {})) {
      const index = headers.findIndex(([known]) => known === name.toLowerCase())
      if (index >= 0) headers.splice(index, 1)
      headers.push([name, value])
    }
    const request: WireRequest = {
      method: 'POST',
      path: '/api',
      headers: withTargetHeaders(client, headers),
      body,
      // What changes state is never sent on a connection that may be stale.
      connection: connectionOf(client, spec),
    }
    return {
      ...request,
      ...(spec.from === undefined ? {} : { from: spec.from }),
      ...limitsOf(spec),
    }
  }
  return { build, sent }
}

function limitsOf({ timeoutMs, sharedBy }: Pick<CallSpec, 'timeoutMs' | 'sharedBy'>) {
  return { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(sharedBy === undefined ? {} : { sharedBy }) }
}

function connectionOf(
  { run }: Client,
  { method, freshConnection, warmConnection }: CallSpec,
): NonNullable<WireRequest['connection']> {
  if (warmConnection) return 'warm'
  return freshConnection || (run.target.lasting && method.startsWith('manager/')) ? 'fresh' : 'kept'
}

/** Scope words are written as this deployment spells them. */
function withScopeNames(client: Client, { method, params }: CallSpec): unknown {
  const { scopeNames } = client.instance.settings
  if (method !== 'manager/auth' && method !== 'manager/createApiKey') return params
  if (typeof params !== 'object' || params === null || !('scope' in params) || !Array.isArray(params.scope))
    return params
  const spell = (scope: unknown): unknown => {
    if (typeof scope !== 'string') return scope
    const [word = '', ...rest] = scope.split(':')
    return scopeNames[scope] ?? [scopeNames[word] ?? word, ...rest].join(':')
  }
  // A list within the list is what a probe needs beside its own scope.
  return { ...params, scope: [...params.scope.flat().map(spell), ...ownSession(client, method, params.scope)] }
}

/** A session of its own for a grant that asks for none, where such grants would end one another. */
function ownSession(client: Client, method: string, scope: unknown[]): string[] {
  if (client.facts.unnamedReplaced !== true || method !== 'manager/auth' || scope.length === 0) return []
  if (scope.some((word) => typeof word === 'string' && word.startsWith('session:'))) return []
  client.ownSessions += 1
  return [`session:own-${client.run.unique}-${client.ownSessions}`]
}

/** Beyond tabs, visible ASCII and ISO 8859-1, no header carries a character. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/

/** Adds the Authorization header, and notes in `sent` what it was made of. */
function authorizeRequest(
  client: Client,
  { auth, method, body, signedAtMs }: { auth: Auth; method: string; body: Uint8Array; signedAtMs: number },
  headers: [string, string][],
  sent: Called['sent'],
): void {
  const { header, nonce, timestamp } = authorize({
    auth,
    method,
    body,
    settings: client.instance.settings,
    url: `${client.instance.baseUrl}/api`,
    tokenPrefix: client.facts.tokenPrefix ?? 'Bearer',
    serverNowMs: signedAtMs,
    random: client.run.random,
    keyWay: client.facts.keyWay ?? 'hmac',
    credential: (member) => credentialFor(client, member),
  })
  if (header === undefined) return
  if (unsendable.test(header)) {
    throw new UnsendableCredentials(typeof auth === 'object' && 'token' in auth && !('but' in auth))
  }
  headers.push(['authorization', header])
  Object.assign(sent, { header, nonce, timestamp })
}

function withTargetHeaders(client: Client, headers: [string, string][]): [string, string][] {
  return [...Object.entries(client.instance.settings.headers), ...headers]
}

/** Whether a token or an id that a server gave out can stand in an Authorization header. */
export function isSendable(text: string): boolean {
  return !unsendable.test(text)
}

/**
 * A test key by name, or a kept { id, secret } itself.
 *
 * @throws UnusableValue for what a server gave out as a key and is none
 */
export function credentialFor(client: Client, member: unknown): Credential {
  const found = client.testKeys.get(String(member))
  if (typeof member === 'string' && found !== undefined) return found
  const key = (typeof member === 'object' && member !== null ? member : {}) as CreatedKey
  if (typeof key.id !== 'string' || !['string', 'undefined'].includes(typeof key.secret)) {
    throw new UnusableValue('key', member)
  }
  return credentialOfKey(key)
}

/** The test key to use where a step needs the secret of a test key: root may have a stand-in. */
export function actor(client: Client, member: string): string {
  return member === 'root' ? standInOf(client.run.corpus.testKeys, client.instance.root) : member
}

function keyName(spec: CallSpec): string {
  const { params } = spec
  const name = typeof params === 'object' && params !== null && 'name' in params ? params.name : undefined
  return typeof name === 'string' ? name : '(no name)'
}

/** Megabytes of tokens are not kept for a whole run. */
const longToken = 65_536

/** Remembers created keys, how long a refresh token lives, and every secret that must not appear in a report. */
function learn(client: Client, spec: CallSpec, { answer, moment }: Delivered): void {
  const creates = spec.method === 'manager/createApiKey'
  if (answer.outcome !== 'accepted') {
    if (creates && answer.status !== null) client.createdKeys.notCreated(keyName(spec))
    return
  }
  if (spec.removes !== undefined) client.createdKeys.removed(spec.removes)
  const result = (typeof answer.result === 'object' && answer.result !== null ? answer.result : {}) as {
    [name: string]: unknown
  }
  for (const name of ['secret', 'accessToken', 'refreshToken']) {
    const value = result[name]
    if (typeof value === 'string') client.redactor.add(value)
  }
  for (const kind of ['access', 'refresh']) {
    const token = result[`${kind}Token`]
    const expiry = result[`${kind}TokenExpiry`]
    // What is over when it is granted, or no moment at all, tells nothing about when the token ends.
    const isToCome = typeof expiry === 'number' && expiry > moment.answeredAtMs
    if (typeof token === 'string' && token.length < longToken && isToCome) client.tokenExpiries.set(token, expiry)
  }
  const { id, secret, refreshTokenExpiry } = result
  if (typeof refreshTokenExpiry === 'number') {
    client.facts.refreshLifeMs ??= Math.max(0, Math.round(refreshTokenExpiry - moment.answeredAtMs))
  }
  if (!creates) return
  client.createdKeys.created({
    id: typeof id === 'string' ? id : '(no id)',
    name: keyName(spec),
    ...(typeof secret === 'string' ? { secret } : {}),
    ...(spec.privateKey === undefined ? {} : { privateKey: spec.privateKey }),
    ...(spec.member === undefined ? {} : { member: spec.member }),
  })
}
