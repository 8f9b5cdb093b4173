/** A call becomes bytes: its body is written, authorized and altered. */

import { createPrivateKey, sign } from 'node:crypto'
import { SuiteError } from '../errors.ts'
import { defined, isObject } from '../json.ts'
import type { Called } from '../judge/judge-case.ts'
import { basicWords, readDeviations } from '../language/deviations.ts'
import type { Auth, CallStep } from '../language/fixture-types.ts'
import { cutLetterForms, bodyForms as sameJson } from '../signer/bodies.ts'
import { sameBytes, toHex, utf8 } from '../signer/bytes.ts'
import {
  authorize,
  type Change,
  changesOfMistake,
  headerBytes,
  type Key,
  type Mistake,
  type NonceKind,
  nonceOf,
  type PlainCall,
  Unmakeable,
  writeCall,
} from '../signer/changed-call.ts'
import { ed25519Sign } from '../signer/ed25519.ts'
import { ofFewKeys } from '../signer/hmac.ts'
import { ed25519KeyPair } from '../signer/pem.ts'
import { shortName } from '../signer/random.ts'
import type { WireRequest } from '../target.ts'
import { type Build, type Conversation, credentialFor, UnsendableCredentials, UnusableValue } from './conversation.ts'

type WrittenCall = ReturnType<typeof writeCall>

type CallSettings = Parameters<typeof writeCall>[2]

interface AnySpec {
  method: string
  auth: Auth
  from?: string | undefined
  /** How long to wait for the answer, if shorter than usual. */
  timeoutMs?: number | undefined
  /** How many calls a step makes whose answers are judged together. */
  sharedBy?: number | undefined
}

/** A JSON-RPC call with its references resolved. */
export interface CallSpec extends AnySpec {
  params: unknown
  /** Chosen where undefined. */
  id?: unknown
  form?: CallStep['body'] | undefined
  /** Changes of its parts, applied to the bytes that would otherwise be sent. */
  changes?: readonly Change[] | undefined
  /** What its nonce looks like. */
  nonce?: NonceKind | undefined
  headers?: { [name: string]: string } | undefined
  /** The private key of a `publicKey` param, to use the key that is created. */
  privateKey?: string
  /** Not on a kept connection. */
  freshConnection?: boolean
  /** The name of a connection that only calls with this name use. */
  ownConnection?: string | undefined
  /** In a race: use a connection that carried a call before. */
  warmConnection?: boolean
  /** The test key that this call creates. */
  member?: string
  /** The step of a case that it is made for. */
  title?: string
  /** A correct server refuses it, so it takes no session. */
  mustBeRefused?: boolean
}

/** Raw HTTP with its references resolved. */
export interface RawSpec extends AnySpec {
  path: string
  headers: { [name: string]: string }
  body: Uint8Array
}

type Member = readonly [name: string, value: unknown]

/** The ways to write the JSON of a call without changing its meaning; each of them is "the body exactly as sent". */
const forms: typeof sameJson = {
  compact: (body) => body,
  spaced: (body) => body.replaceAll('":', '" : ').replaceAll(',"', ' , "'),
  indented: (body) => JSON.stringify(JSON.parse(body), null, 2),
  crlf: (body) => JSON.stringify(JSON.parse(body), null, 2).replaceAll('\n', '\r\n'),
  'trailing-newline': (body) => `${body}\n`,
  'members-reordered': (body) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(body)).reverse())),
  'leading-space': (body) => `  ${body}`,
}

export const bodyForms: readonly string[] = Object.keys(forms)

/** Writes a call in one of these forms, or of those that `explore` uses, which may say more or other than the call; `{ size }` pads with spaces at the beginning of the object to that many bytes. */
export function writeBody(members: readonly Member[], form: CallStep['body'] = 'compact'): string {
  const written = JSON.stringify(Object.fromEntries(members))
  if (typeof form === 'string') return (forms[form] ?? sameJson[form] ?? cutLetterForms[form])?.(written) ?? written
  return `{${' '.repeat(Math.max(0, form.size - Buffer.byteLength(written)))}${written.slice(1)}`
}

/** What a call sends, with its references resolved. */
type Writing = Pick<CallSpec, 'method' | 'params' | 'auth' | 'form' | 'changes' | 'nonce'>

/**
 * A call as bytes, right but for its changes.
 *
 * @param keyOf the key that `auth` names
 * @throws Unmakeable where a change has nothing to change
 */
export function write(
  { method, params, auth, form, changes = [], nonce }: Writing,
  id: unknown,
  keyOf: (member: unknown) => Key,
  settings: CallSettings,
): WrittenCall {
  const call = {
    method,
    params: params as { [name: string]: never },
    id: id as never,
    caller: callerOf(auth, keyOf),
    nonce,
    write: (members: readonly Member[]) => writeBody(members, form),
  }
  return writeCall(call, changes, { ...settings, ed25519: signQuickly })
}

const nodeSigner = ofFewKeys(toHex, (seed) => ({
  key: createPrivateKey(ed25519KeyPair(seed).privateKeyPem),
  isWitnessed: false,
}))

/** Node signs in a tenth of the time that noble takes. Noble is the witness: the first signature of every key is made by both. */
function signQuickly(seed: Uint8Array, data: Uint8Array): Uint8Array {
  const signer = nodeSigner(seed)
  // A slice of a Buffer shares its memory, and its text leaves out what is not UTF-8: changes to its bytes would go wrong.
  const signature = new Uint8Array(sign(null, data, signer.key))
  if (!signer.isWitnessed && !sameBytes(signature, ed25519Sign(seed, data)))
    throw new Error('Node and noble make different ED25519 signatures')
  signer.isWitnessed = true
  return signature
}

function callerOf(auth: Auth, keyOf: (member: unknown) => Key): PlainCall['caller'] {
  if (auth === 'none') return { kind: 'none' }
  if ('header' in auth) return { kind: 'header', header: auth.header }
  if ('token' in auth) {
    if (typeof auth.token !== 'string') throw new UnusableValue('token', auth.token)
    return { kind: 'token', token: auth.token }
  }
  const [[kind, member]] = Object.entries(auth) as [['basic' | 'hmac' | 'ecc', string]]
  return { kind, key: keyOf(member) }
}

/** A key in the way that works for it, where the fixture leaves the way open. */
function inSomeWay(talk: Conversation, auth: Auth): Auth {
  if (typeof auth === 'string' || !('key' in auth)) return auth
  const { seed } = credentialFor(talk, auth.key)
  return { [seed === undefined ? (talk.facts.keyWay ?? 'hmac') : 'ecc']: auth.key } as Auth
}

/** The key of a step; without a private key the beginning of its secret signs. */
function signingKey(talk: Conversation, member: unknown): Key {
  const { id, secret, seed } = credentialFor(talk, member)
  return { id, secret, seed: seed ?? utf8((secret ?? '').padEnd(32, '0').slice(0, 32)) }
}

/**
 * Authorizes what a step sends, rightly or with its changes.
 *
 * @param make writes it; called again to see whether the changes make a difference
 * @throws SuiteError (`fixture`) where they make none, @throws UnsendableCredentials for a value from a server that no header can carry
 */
function authorized<Made extends { readonly authorization: string | undefined; readonly body?: string }>(
  talk: Conversation,
  { auth, changes: own = [] }: Pick<CallSpec, 'auth' | 'changes'>,
  signedAtMs: number,
  make: (changes: readonly Change[], settings: CallSettings) => Made,
): Made {
  const { instance, run, facts } = talk
  const { scheme, signedUri: uri } = instance.settings
  const ofAuth = changesOfAuth(auth, (member) => credentialFor(talk, member).secret ?? '')
  const changes = [...ofAuth, ...own]
  const nonces: string[] = []
  /** With the same nonces each time. */
  const made = (some: readonly Change[]): Made => {
    let at = 0
    return make(some, {
      scheme,
      uri,
      url: `${instance.baseUrl}/api`,
      tokenWord: facts.tokenPrefix ?? 'Bearer',
      operations: readDeviations(),
      mustChange: true,
      nextNonce: (kind) => {
        nonces[at] ??= nonceOf(kind, run.random)
        at += 1
        return nonces[at - 1] ?? ''
      },
      timestamp: () => Math.round(signedAtMs),
    })
  }
  try {
    const changed = made(changes)
    // A word may leave a secret as it is that a server left empty, which is wrong with every word.
    if (own.some(({ by }) => by === undefined) && isSame(changed, made(ofAuth)))
      throw new Unmakeable('what is sent stays as it is')
    return changed
  } catch (error) {
    if (!(error instanceof Unmakeable)) throw error
    if (changes.length === 0) throw new UnsendableCredentials(typeof auth === 'object' && 'token' in auth)
    throw new SuiteError('fixture', `Cannot change this call: ${error.message}`)
  }
}

const isSame = (
  one: Partial<Pick<WrittenCall, 'authorization' | 'body'>>,
  other: Partial<Pick<WrittenCall, 'authorization' | 'body'>>,
): boolean => one.body === other.body && asSent(one.authorization) === asSent(other.authorization)

/** HTTP takes away white space at both ends of a header. */
const asSent = (header: string | undefined): string | undefined => header?.replace(/^[\t ]+|[\t ]+$/g, '')

/** A call that can be sent repeatedly; every try has its own signature. */
interface PreparedCall {
  build: Build
  /** The values in the latest request. */
  sent: Called['sent']
}

export function prepareCall(talk: Conversation, spec: CallSpec): PreparedCall {
  const id = spec.id === undefined ? talk.next('call') : spec.id
  const auth = inSomeWay(talk, spec.auth)
  const writing = { ...spec, auth, params: withScopeNames(talk, spec) }
  const keyOf = (member: unknown): Key => signingKey(talk, member)
  const sent: Called['sent'] = { id }
  const build: Build = (signedAtMs) => {
    const call = authorized(talk, spec, signedAtMs, (changes, settings) =>
      write({ ...writing, changes }, id, keyOf, settings),
    )
    const own = Object.entries(spec.headers ?? {})
    const isReplaced = (name: string): boolean => own.some(([other]) => other.toLowerCase() === name)
    const headers = [['content-type', 'application/json'] as [string, string], ...noteSent(sent, call)]
    return {
      method: 'POST',
      path: '/api',
      headers: [
        ...Object.entries(talk.instance.settings.headers),
        ...headers.filter(([name]) => !isReplaced(name)),
        ...own,
      ],
      body: utf8(call.body),
      connection: connectionOf(talk, spec),
      ...howOf({ ...spec, sharedBy: Math.max(spec.sharedBy ?? 1, keptBeside(spec)) }),
    }
  }
  return { build, sent }
}

/** Prepares raw HTTP, to be sent unchanged on its own connection. */
export function prepareRaw(talk: Conversation, spec: RawSpec): PreparedCall {
  const { method, path, body } = spec
  const caller = callerOf(inSomeWay(talk, spec.auth), (member) => signingKey(talk, member))
  const sent: Called['sent'] = {}
  const build: Build = (signedAtMs) => {
    const header = authorized(talk, spec, signedAtMs, (changes, settings) =>
      authorize({ caller, method, body }, changes, settings),
    )
    const headers = [...Object.entries(talk.instance.settings.headers), ...Object.entries(spec.headers)]
    return {
      method,
      path,
      headers: [...headers, ...noteSent(sent, header)],
      body,
      connection: 'fresh',
      raw: true,
      ...howOf(spec),
    }
  }
  return { build, sent }
}

/** Notes what a step may keep of its request. @returns the Authorization header, if any */
function noteSent(
  sent: Called['sent'],
  { authorization, nonce, timestamp }: Omit<WrittenCall, 'body'>,
): [string, string][] {
  const header = authorization === undefined ? undefined : headerBytes(asSent(authorization) ?? '')
  const signature = header === undefined ? undefined : /;([^;]*)$/.exec(header)?.[1]
  Object.assign(sent, { header, nonce, timestamp, signature })
  return header === undefined ? [] : [['authorization', header]]
}

/** Cases keep the keys and tokens that they were given while they wait, many of them at the same time. */
const keptTogether = 64

const keptBeside = ({ method }: CallSpec): number => (method.startsWith('manager/') ? keptTogether : 1)

/** From where a request is sent, and the limits of its answer. */
const howOf = ({ from, timeoutMs, sharedBy }: AnySpec): Pick<WireRequest, 'from' | 'timeoutMs' | 'sharedBy'> =>
  defined({ from, timeoutMs, sharedBy })

function connectionOf(
  { run }: Conversation,
  { method, freshConnection, warmConnection, ownConnection }: CallSpec,
): NonNullable<WireRequest['connection']> {
  if (ownConnection !== undefined) return `own ${ownConnection}`
  if (warmConnection) return 'warm'
  if (freshConnection) return 'fresh'
  // A call that changes state is never sent on a connection that may be stale.
  return run.target.lasting && method.startsWith('manager/') ? 'unused' : 'kept'
}

/** Writes scope words in this deployment's spelling. */
function withScopeNames(talk: Conversation, { method, params }: CallSpec): unknown {
  const { scopeNames } = talk.instance.settings
  if (method !== 'manager/auth' && method !== 'manager/createApiKey') return params
  if (typeof params !== 'object' || params === null || !('scope' in params) || !Array.isArray(params.scope))
    return params
  const spell = (scope: unknown): unknown => {
    if (typeof scope !== 'string') return scope
    const [word = '', ...rest] = scope.split(':')
    return scopeNames[scope] ?? [scopeNames[word] ?? word, ...rest].join(':')
  }
  // A list inside the list holds the further scope of a probe.
  return { ...params, scope: [...params.scope.flat().map(spell), ...ownSession(talk, method, params.scope)] }
}

/** Adds a session to a grant without one, if such grants would end each other. */
function ownSession(talk: Conversation, method: string, scope: unknown[]): string[] {
  if (talk.facts.unnamedReplaced !== true || method !== 'manager/auth' || scope.length === 0) return []
  if (scope.some((word) => typeof word === 'string' && word.startsWith('session:'))) return []
  return [`session:${shortName(`own-${talk.run.unique}-${talk.next('session')}`)}`]
}

/** What the `but` of an authorization changes. @param secretOf the secret of another test key */
function changesOfAuth(auth: Auth, secretOf: (member: string) => string): Change[] {
  if (typeof auth === 'string' || !('but' in auth) || auth.but === undefined) return []
  if ('hmac' in auth || 'ecc' in auth) return changesOfMistake(auth.but as Mistake)
  if ('token' in auth) return [{ field: 'token', by: { word: auth.but } }]
  if (isObject(auth.but)) return [{ field: 'basic-secret', value: secretOf(String(auth.but['secret-of'])) }]
  return [basicWords[auth.but as string] ?? { field: 'basic-secret', by: { word: auth.but as string } }]
}
