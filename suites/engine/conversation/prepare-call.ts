/** Turns the call of a step into a request that can be signed and sent. */

import { membersOf } from '../json.ts'
import type { Called } from '../judge/called.ts'
import type { Auth } from '../language/fixture-types.ts'
import { shortName } from '../signer/short-name.ts'
import type { WireRequest } from '../target.ts'
import { authorize } from './authorize.ts'
import type { CallSpec, RawSpec } from './call-spec.ts'
import type { Caller } from './caller.ts'
import { credentialFor, unsendable } from './credential-of.ts'
import type { Build } from './deliver.ts'
import { prepareChanged } from './prepare-changed.ts'
import { rememberSent } from './secrets.ts'
import { UnsendableCredentials } from './unusable-value.ts'
import { writeBody } from './write-body.ts'

/** A call that can be sent repeatedly; every try has its own signature. */
export interface PreparedCall {
  build: Build
  /** The values in the latest request. */
  sent: Called['sent']
}

export function prepareCall(caller: Caller, spec: CallSpec): PreparedCall {
  const id = spec.id === undefined ? caller.nextId++ : spec.id
  const params = withScopeNames(caller, spec)
  const isChanged = spec.changes !== undefined || spec.nonce !== undefined
  const text = writeBody(
    [
      ['jsonrpc', '2.0'],
      ['id', id],
      ['method', spec.method],
      ['params', params],
    ],
    spec.form,
  )
  const body = new TextEncoder().encode(text)
  const sent: Called['sent'] = { id }
  const build: Build = (signedAtMs) => {
    const headers: [string, string][] = [['content-type', 'application/json']]
    let sentBody = body
    if (isChanged) {
      const changed = prepareChanged(caller, { ...spec, params }, { id, signedAtMs, tokenWord: tokenWordOf(caller) })
      sentBody = changed.body
      if (changed.header !== undefined) headers.push(['authorization', changed.header])
      Object.assign(sent, { header: changed.header, signature: signatureIn(changed.header) })
    } else authorizeRequest(caller, { auth: spec.auth, method: 'POST', body, signedAtMs }, headers, sent)
    rememberSent(caller, sent.header, isChanged ? paramsIn(sentBody) : spec.params)
    for (const [name, value] of Object.entries(spec.headers ?? {})) {
      const index = headers.findIndex(([known]) => known === name.toLowerCase())
      if (index >= 0) headers.splice(index, 1)
      headers.push([name, value])
    }
    const request: WireRequest = {
      method: 'POST',
      path: '/api',
      headers: withTargetHeaders(caller, headers),
      body: sentBody,
      connection: connectionOf(caller, spec),
    }
    return {
      ...request,
      ...(spec.from === undefined ? {} : { from: spec.from }),
      ...limitsOf({ ...spec, sharedBy: Math.max(spec.sharedBy ?? 1, keptBeside(spec)) }),
    }
  }
  return { build, sent }
}

/** The word before a token. */
const tokenWordOf = ({ facts }: Caller): string => facts.tokenPrefix ?? 'Bearer'

/** The last field of a signature's header. */
const signatureIn = (header = ''): string | undefined => /;([^;]*)$/.exec(header)?.[1]

/** The params of a changed body, which may be anything but JSON. */
function paramsIn(body: Uint8Array): unknown {
  try {
    return membersOf(JSON.parse(new TextDecoder().decode(body))).params
  } catch {
    return undefined
  }
}

/** Cases keep the keys and tokens that they were given while they wait, many of them at the same time. */
const keptTogether = 64

const keptBeside = ({ method }: CallSpec): number => (method.startsWith('manager/') ? keptTogether : 1)

function limitsOf({ timeoutMs, sharedBy }: Pick<CallSpec, 'timeoutMs' | 'sharedBy'>) {
  return { ...(timeoutMs === undefined ? {} : { timeoutMs }), ...(sharedBy === undefined ? {} : { sharedBy }) }
}

function connectionOf(
  { run }: Caller,
  { method, freshConnection, warmConnection, ownConnection }: CallSpec,
): NonNullable<WireRequest['connection']> {
  if (ownConnection !== undefined) return `own ${ownConnection}`
  if (warmConnection) return 'warm'
  if (freshConnection) return 'fresh'
  // A call that changes state is never sent on a connection that may be stale.
  return run.target.lasting && method.startsWith('manager/') ? 'unused' : 'kept'
}

/** Writes scope words in this deployment's spelling. */
function withScopeNames(caller: Caller, { method, params }: CallSpec): unknown {
  const { scopeNames } = caller.instance.settings
  if (method !== 'manager/auth' && method !== 'manager/createApiKey') return params
  if (typeof params !== 'object' || params === null || !('scope' in params) || !Array.isArray(params.scope))
    return params
  const spell = (scope: unknown): unknown => {
    if (typeof scope !== 'string') return scope
    const [word = '', ...rest] = scope.split(':')
    return scopeNames[scope] ?? [scopeNames[word] ?? word, ...rest].join(':')
  }
  // A list inside the list holds the further scope of a probe.
  return { ...params, scope: [...params.scope.flat().map(spell), ...ownSession(caller, method, params.scope)] }
}

/** Adds a session to a grant without one, if such grants would end each other. */
function ownSession(caller: Caller, method: string, scope: unknown[]): string[] {
  if (caller.facts.unnamedReplaced !== true || method !== 'manager/auth' || scope.length === 0) return []
  if (scope.some((word) => typeof word === 'string' && word.startsWith('session:'))) return []
  return [`session:${shortName(`own-${caller.run.unique}-${caller.ownSessions.next()}`)}`]
}

/** Prepares raw HTTP, to be sent unchanged on its own connection. */
export function prepareRaw(caller: Caller, spec: RawSpec): PreparedCall {
  const sent: Called['sent'] = {}
  const build: Build = (signedAtMs) => {
    const headers: [string, string][] = Object.entries(spec.headers)
    authorizeRequest(caller, { auth: spec.auth, method: spec.method, body: spec.body, signedAtMs }, headers, sent)
    rememberSent(caller, sent.header, {})
    return {
      method: spec.method,
      path: spec.path,
      headers: withTargetHeaders(caller, headers),
      body: spec.body,
      connection: 'fresh',
      raw: true,
      ...(spec.from === undefined ? {} : { from: spec.from }),
      ...limitsOf(spec),
    }
  }
  return { build, sent }
}

/** Adds the Authorization header, and records its values in `sent`. */
function authorizeRequest(
  caller: Caller,
  { auth, method, body, signedAtMs }: { auth: Auth; method: string; body: Uint8Array; signedAtMs: number },
  headers: [string, string][],
  sent: Called['sent'],
): void {
  const { header, nonce, timestamp } = authorize({
    auth,
    method,
    body,
    settings: caller.instance.settings,
    url: `${caller.instance.baseUrl}/api`,
    tokenPrefix: tokenWordOf(caller),
    serverNowMs: signedAtMs,
    random: caller.run.random,
    keyWay: caller.facts.keyWay ?? 'hmac',
    credential: (member) => credentialFor(caller, member),
  })
  if (header === undefined) return
  if (unsendable.test(header)) {
    throw new UnsendableCredentials(typeof auth === 'object' && 'token' in auth && !('but' in auth))
  }
  headers.push(['authorization', header])
  Object.assign(sent, { header, signature: signatureIn(header), nonce, timestamp })
}

function withTargetHeaders(caller: Caller, headers: [string, string][]): [string, string][] {
  return [...Object.entries(caller.instance.settings.headers), ...headers]
}
