/** A call becomes bytes: its body is written, authorized and altered. */

import { SuiteError } from '../errors.ts'
import { isObject } from '../json.ts'
import type { Called } from '../judge/expectation.ts'
import { readDeviations } from '../language/deviations.ts'
import type { Auth, BodyForm } from '../language/fixture-types.ts'
import { cutLetterForms, bodyForms as sameJson } from '../signer/bodies.ts'
import { toBase64, utf8 } from '../signer/bytes.ts'
import {
  type Caller,
  type CallSettings,
  type Change,
  headerBytes,
  type Key,
  type NonceKind,
  nonceOf,
  Unmakeable,
  type WrittenCall,
  writeCall,
} from '../signer/changed-call.ts'
import { shortName } from '../signer/random.ts'
import { type Mistake, needsBase64Marks, nonceWithBase64Marks, sign } from '../signer/sign.ts'
import type { WireRequest } from '../target.ts'
import {
  type Build,
  type Conversation,
  type Credential,
  credentialFor,
  UnsendableCredentials,
  UnusableValue,
  unsendable,
} from './conversation.ts'

interface AnySpec {
  method: string
  auth: Auth
  from?: string | undefined
  /** How long to wait for the answer, if shorter than usual. */
  timeoutMs?: number | undefined
  /** How many calls a step makes whose answers are judged together. */
  sharedBy?: number | undefined
  mayBeRefused?: boolean
}

/** A JSON-RPC call with its references resolved. */
export interface CallSpec extends AnySpec {
  params: unknown
  /** Chosen where undefined. */
  id?: unknown
  form?: BodyForm | undefined
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
  /** A correct server refuses it, so it takes no session. */
  mustBeRefused?: boolean
}

/** Raw HTTP with its references resolved. */
export interface RawSpec extends AnySpec {
  path: string
  headers: { [name: string]: string }
  body: Uint8Array
}

// The words that alter a secret, a token or a param in a fixture: each changes one thing.

type Alter = (text: string) => string

/** Replaces the middle-most inner character of a class; an alteration of the last one may decode to the same bytes. */
function changeOne(text: string, wanted: RegExp, substitutes: string): string {
  const middle = Math.floor(text.length / 2)
  const inner = Array.from(text, (_character, index) => index).filter((index) => index > 0 && index < text.length - 2)
  const ordered = inner.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))
  const index = ordered.find((candidate) => wanted.test(text.charAt(candidate))) ?? ordered[0] ?? 0
  const old = text.charAt(index)
  const substitute = [...substitutes].find((candidate) => candidate.toLowerCase() !== old.toLowerCase()) ?? 'x'
  return text.slice(0, index) + substitute + text.slice(index + 1)
}

const middleOf = (text: string): number => Math.floor(text.length / 2)

function withoutInner(text: string): string {
  return text.slice(0, middleOf(text)) + text.slice(middleOf(text) + 1)
}

function otherCase(text: string, change: Alter): string {
  const changed = change(text)
  return changed === text ? changeOne(text, /./, 'qz') : changed
}

/** A JWT without its signature; another text without its last third. */
function withoutSignature(text: string): string {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(text) ?? []
  if (claims === undefined) return text.slice(0, Math.floor((text.length * 2) / 3))
  return `${btoa('{"alg":"none","typ":"JWT"}').replace(/=+$/, '')}.${claims}.`
}

export const alterWords: { readonly [word: string]: Alter } = {
  'lower-case-letter-changed': (text) => changeOne(text, /[a-z]/, 'dcfb'),
  'upper-case-letter-changed': (text) => changeOne(text, /[A-Z]/, 'DCFB'),
  'digit-changed': (text) => changeOne(text, /\d/, '4719'),
  'first-character-changed': (text) => (text.startsWith('7') ? 'e' : '7') + text.slice(1),
  'last-quarter-changed': (text) => {
    const start = Math.floor(text.length * 0.75)
    return text.slice(0, start) + changeOne(`xx${text.slice(start)}xx`, /[^x]/, '5be').slice(2, -2)
  },
  'first-half': (text) => text.slice(0, Math.ceil(text.length / 2)),
  'first-third': (text) => text.slice(0, Math.ceil(text.length / 3)),
  'last-third-dropped': (text) => text.slice(0, Math.floor((text.length * 2) / 3)),
  'first-character-dropped': (text) => text.slice(1),
  'inner-character-dropped': (text) => withoutInner(text),
  'character-inserted': (text) => `${text.slice(0, middleOf(text))}a${text.slice(middleOf(text))}`,
  'four-characters-dropped': (text) => text.slice(0, -4),
  'four-characters-added': (text) => `${text}AAAA`,
  'without-signature': withoutSignature,
  'last-character-dropped': (text) => text.slice(0, -1),
  'one-character-added': (text) => `${text}a`,
  'colon-and-more': (text) => `${text}:anything`,
  'line-feed-added': (text) => `${text}\n`,
  'upper-cased': (text) => otherCase(text, (plain) => plain.toUpperCase()),
  'lower-cased': (text) => otherCase(text, (plain) => plain.toLowerCase()),
  empty: () => '',
  doubled: (text) => text + text,
}

/** The words that alter the Basic header as a whole. */
export const basicWords: { readonly [word: string]: (id: string, secret: string) => string } = {
  'unknown-id': (id, secret) => base64(`${alterWords['first-character-changed']?.(id)}:${secret}`),
  // Junk between right characters: a decoder that skips it reads the right credentials.
  'malformed-base64': (id, secret) => base64(`${id}:${secret}`).replace(/^.{4}/, '$&%'),
  'without-colon': (id, secret) => base64(`${id}${secret}`),
  'plain-text': (id, secret) => `${id}:${secret}`,
}

export function base64(text: string): string {
  return toBase64(utf8(text))
}

const compact = (members: readonly Member[]): string => JSON.stringify(Object.fromEntries(members))

type Member = readonly [name: string, value: unknown]

/** The ways to write the JSON of a call without changing its meaning; each of them is "the body exactly as sent". */
const forms: { readonly [form: string]: (members: readonly Member[]) => string } = {
  compact,
  spaced: (members) => compact(members).replaceAll('":', '" : ').replaceAll(',"', ' , "'),
  indented: (members) => JSON.stringify(Object.fromEntries(members), null, 2),
  crlf: (members) => JSON.stringify(Object.fromEntries(members), null, 2).replaceAll('\n', '\r\n'),
  'trailing-newline': (members) => `${compact(members)}\n`,
  'members-reordered': (members) => compact([...members].reverse()),
  'leading-space': (members) => `  ${compact(members)}`,
}

export const bodyForms: readonly string[] = Object.keys(forms)

/** Forms that `explore` uses: some of them say more or other than the call. */
export const otherBodyForms: readonly string[] = [...Object.keys(sameJson), ...Object.keys(cutLetterForms)].filter(
  (form) => !bodyForms.includes(form),
)

/** Writes a call in a body form; `{ size }` pads with spaces at the beginning of the object to that many bytes. */
export function writeBody(members: readonly Member[], form: BodyForm = 'compact'): string {
  const written = compact(members)
  if (typeof form === 'string')
    return forms[form]?.(members) ?? (sameJson[form] ?? cutLetterForms[form])?.(written) ?? written
  return `{${' '.repeat(Math.max(0, form.size - Buffer.byteLength(written)))}${written.slice(1)}`
}

/** What a call sends, with its references resolved. */
export type Writing = Pick<CallSpec, 'method' | 'params' | 'auth' | 'form' | 'changes' | 'nonce'>

/**
 * A call as bytes, right but for its changes.
 *
 * @param keyOf the key that `auth` names
 * @throws Unmakeable where a change has nothing to change
 */
export function write(
  spec: Writing,
  id: unknown,
  keyOf: (member: unknown) => Key,
  settings: CallSettings,
): WrittenCall {
  const { method, params, auth, form, changes = [], nonce } = spec
  const call = {
    method,
    params: params as { [name: string]: never },
    id: id as never,
    caller: callerOf(auth, keyOf),
    nonce,
    write: (members: readonly Member[]) => writeBody(members, form),
  }
  return writeCall(call, changes, settings)
}

function callerOf(auth: Auth, keyOf: (member: unknown) => Key): Caller {
  if (auth === 'none') return { kind: 'none' }
  if ('header' in auth) return { kind: 'header', header: auth.header }
  if ('token' in auth) return { kind: 'token', token: tokenIn(auth) }
  const [[kind, member]] = Object.entries(auth) as [['basic' | 'hmac' | 'ecc', string]]
  return { kind, key: { ...keyOf(member), ...('but' in auth ? otherId(auth.but) : {}) } }
}

const otherId = (but: unknown): { id?: string } =>
  isObject(but) && typeof but['key-id'] === 'string' ? { id: but['key-id'] } : {}

/** What a signature covers. */
interface Covered {
  method: string
  body: Uint8Array
  /** On the server's clock, in ms. */
  signedAtMs: number
}

type Authorization = Pick<Called['sent'], 'header' | 'nonce' | 'timestamp'>

/** The Authorization header of a step (part 5); an empty object sends none. */
function authorize(talk: Conversation, auth: Auth, covered: Covered): Authorization {
  if (auth === 'none') return {}
  if ('header' in auth) return { header: auth.header }
  if ('token' in auth) {
    const token = alterText(tokenIn(auth), auth.but)
    const word = tokenWordOf(talk)
    return { header: word === '' ? token : `${word} ${token}` }
  }
  if ('basic' in auth) return { header: `Basic ${basicValue(talk, auth)}` }
  if ('key' in auth) {
    const { kind, key } = keyInSomeWay(talk, auth.key)
    if (kind !== 'basic') return signed(talk, { kind, key, mistake: {} }, covered)
    return { header: `Basic ${base64(`${key.id}:${key.secret ?? ''}`)}` }
  }
  const [member, kind] = 'hmac' in auth ? [auth.hmac, 'hmac' as const] : [auth.ecc, 'ecc' as const]
  return signed(talk, { kind, key: credentialFor(talk, member), mistake: (auth.but ?? {}) as Mistake }, covered)
}

function tokenIn({ token }: Extract<Auth, { token: string }>): string {
  if (typeof token !== 'string') throw new UnusableValue('token', token)
  return token
}

/** A key in the way that works for it, where the fixture leaves the way open. */
function keyInSomeWay(talk: Conversation, member: unknown): { kind: 'basic' | 'hmac' | 'ecc'; key: Credential } {
  const key = credentialFor(talk, member)
  return { kind: key.seed === undefined ? (talk.facts.keyWay ?? 'hmac') : 'ecc', key }
}

/** Applies a word of `alterWords`; without a word the text stays. */
export function alterText(text: string, word: unknown): string {
  if (word === undefined) return text
  const change = alterWords[String(word)]
  if (change === undefined) throw new Error(`unknown word "${String(word)}" for an alteration`)
  const changed = change(text)
  // Some servers return an empty secret for a key with a public key. It is wrong with every word.
  if (changed === text && text !== '') {
    throw new SuiteError('fixture', `Cannot make the alteration "${String(word)}": it changes nothing in this text`)
  }
  return changed
}

function basicValue(talk: Conversation, { basic, but }: { basic: string; but?: unknown }): string {
  const { id, secret = '' } = credentialFor(talk, basic)
  if (isObject(but) && 'secret-of' in but) return base64(`${id}:${credentialFor(talk, but['secret-of']).secret ?? ''}`)
  const whole = basicWords[String(but)]
  return whole === undefined ? base64(`${id}:${alterText(secret, but)}`) : whole(id, secret)
}

interface Signer {
  kind: 'hmac' | 'ecc'
  key: Credential
  mistake: Mistake
}

function signed(
  { instance, run }: Conversation,
  { kind, key: { id, secret = '', seed }, mistake }: Signer,
  { method, body, signedAtMs }: Covered,
): Authorization {
  const { scheme, signedUri: uri } = instance.settings
  const timestamp = String(Math.round(signedAtMs))
  const key =
    kind === 'hmac'
      ? { kind: 'secret' as const, secret }
      : { kind: 'ed25519' as const, seed: seed ?? utf8(secret.padEnd(32, '0').slice(0, 32)) }
  const request = { scheme, keyId: id, key, method, uri, url: `${instance.baseUrl}/api`, body, timestamp }
  const nextNonce = (): string => nonceOf(undefined, run.random)
  const nonce = needsBase64Marks(mistake) ? nonceWithBase64Marks(request, nextNonce) : nextNonce()
  return { header: sign({ ...request, nonce }, mistake).header, nonce, timestamp }
}

/**
 * The bytes of a call with changed parts (`alter`), or with a nonce of a given kind.
 *
 * @throws SuiteError (`fixture`) where a change has nothing to change, @throws UnusableValue for a value from a server that is no credential
 */
function writeChanged(talk: Conversation, spec: CallSpec, id: unknown, signedAtMs: number) {
  const { scheme, signedUri } = talk.instance.settings
  const { changes = [] } = spec
  const someWay = typeof spec.auth === 'object' && 'key' in spec.auth ? keyInSomeWay(talk, spec.auth.key) : undefined
  const auth = someWay === undefined ? spec.auth : ({ [someWay.kind]: '' } as Auth)
  const nonces: string[] = []
  /** With the same nonces each time. */
  const written = (some: readonly Change[]): WrittenCall => {
    let at = 0
    const nextNonce = (kind: NonceKind | undefined): string => {
      const nonce = nonces[at] ?? nonceOf(kind, talk.run.random)
      nonces[at] = nonce
      at += 1
      return nonce
    }
    return write({ ...spec, auth, changes: some }, id, (member) => someWay?.key ?? credentialFor(talk, member), {
      scheme,
      uri: signedUri,
      url: `${talk.instance.baseUrl}/api`,
      tokenWord: tokenWordOf(talk),
      operations: readDeviations(),
      nextNonce,
      timestamp: () => Math.round(signedAtMs),
    })
  }
  try {
    const call = written(changes)
    const [unchanged] = call.idle
    if (unchanged !== undefined) throw new Unmakeable(`"${unchanged.field}" stays as it is`)
    if (changes.length > 0 && isSame(call, written([]))) throw new Unmakeable('what is sent stays as it is')
    const header = asSent(call.authorization)
    return { body: utf8(call.body), ...(header === undefined ? {} : { header: headerBytes(header) }) }
  } catch (error) {
    if (error instanceof Unmakeable) throw new SuiteError('fixture', `Cannot change this call: ${error.message}`)
    throw error
  }
}

const isSame = (one: WrittenCall, other: WrittenCall): boolean =>
  one.body === other.body && asSent(one.authorization) === asSent(other.authorization)

/** HTTP takes away white space at both ends of a header. */
const asSent = (header: string | undefined): string | undefined => header?.replace(/^[\t ]+|[\t ]+$/g, '')

/** A call that can be sent repeatedly; every try has its own signature. */
export interface PreparedCall {
  build: Build
  /** The values in the latest request. */
  sent: Called['sent']
}

export function prepareCall(talk: Conversation, spec: CallSpec): PreparedCall {
  const id = spec.id === undefined ? talk.next('call') : spec.id
  const params = withScopeNames(talk, spec)
  const members: Member[] = [
    ['jsonrpc', '2.0'],
    ['id', id],
    ['method', spec.method],
    ['params', params],
  ]
  const plainBody = utf8(writeBody(members, spec.form))
  const sent: Called['sent'] = { id }
  const build: Build = (signedAtMs) => {
    const isChanged = spec.changes !== undefined || spec.nonce !== undefined
    const changed = isChanged ? writeChanged(talk, { ...spec, params }, id, signedAtMs) : undefined
    const body = changed?.body ?? plainBody
    const authorization = changed ?? authorizeSendable(talk, spec.auth, { method: 'POST', body, signedAtMs })
    const own = Object.entries(spec.headers ?? {})
    const isReplaced = (name: string): boolean => own.some(([other]) => other.toLowerCase() === name)
    const headers = [['content-type', 'application/json'] as [string, string], ...noteSent(sent, authorization)]
    return {
      method: 'POST',
      path: '/api',
      headers: [
        ...Object.entries(talk.instance.settings.headers),
        ...headers.filter(([name]) => !isReplaced(name)),
        ...own,
      ],
      body,
      connection: connectionOf(talk, spec),
      ...howOf({ ...spec, sharedBy: Math.max(spec.sharedBy ?? 1, keptBeside(spec)) }),
    }
  }
  return { build, sent }
}

/** Prepares raw HTTP, to be sent unchanged on its own connection. */
export function prepareRaw(talk: Conversation, spec: RawSpec): PreparedCall {
  const { method, path, body } = spec
  const sent: Called['sent'] = {}
  const build: Build = (signedAtMs) => {
    const authorization = authorizeSendable(talk, spec.auth, { method, body, signedAtMs })
    const headers = [...Object.entries(talk.instance.settings.headers), ...Object.entries(spec.headers)]
    return {
      method,
      path,
      headers: [...headers, ...noteSent(sent, authorization)],
      body,
      connection: 'fresh',
      raw: true,
      ...howOf(spec),
    }
  }
  return { build, sent }
}

function authorizeSendable(talk: Conversation, auth: Auth, covered: Covered): Authorization {
  const authorization = authorize(talk, auth, covered)
  if (authorization.header !== undefined && unsendable.test(authorization.header))
    throw new UnsendableCredentials(typeof auth === 'object' && 'token' in auth && !('but' in auth))
  return authorization
}

/** Notes what a step may keep of its request. @returns the Authorization header, if any */
function noteSent(sent: Called['sent'], authorization: Authorization): [string, string][] {
  const { header } = authorization
  const signature = header === undefined ? undefined : /;([^;]*)$/.exec(header)?.[1]
  Object.assign(sent, { header, nonce: authorization.nonce, timestamp: authorization.timestamp, signature })
  return header === undefined ? [] : [['authorization', header]]
}

/** The word before a token. */
const tokenWordOf = ({ facts }: Conversation): string => facts.tokenPrefix ?? 'Bearer'

/** Cases keep the keys and tokens that they were given while they wait, many of them at the same time. */
const keptTogether = 64

const keptBeside = ({ method }: CallSpec): number => (method.startsWith('manager/') ? keptTogether : 1)

/** From where a request is sent, and the limits of its answer. */
const howOf = ({ from, timeoutMs, sharedBy }: AnySpec): Pick<WireRequest, 'from' | 'timeoutMs' | 'sharedBy'> => ({
  ...(from === undefined ? {} : { from }),
  ...(timeoutMs === undefined ? {} : { timeoutMs }),
  ...(sharedBy === undefined ? {} : { sharedBy }),
})

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
