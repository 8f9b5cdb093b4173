/** Writes a call as bytes with some of its parts changed; later parts are made from the changed ones. */

import { bodyForms, brokenBodies } from './body-forms.ts'
import { fromLatin1, toBase64, utf8 } from './bytes.ts'
import { changeBytes, type NamedOperations } from './bytes-operations.ts'
import { type Change, type Json, Unmakeable } from './change.ts'
import { signDraft } from './draft.ts'
import { ed25519Sign } from './ed25519.ts'
import { hmacSha256 } from './hmac.ts'
import { mistakeById } from './mistakes.ts'
import { type NonceKind, nonceFor } from './nonces.ts'
import { draftOf, type SigningKey } from './sign.ts'
import { changeText } from './text-operations.ts'
import { wrapped } from './wrapped.ts'

export interface Key {
  readonly id: string
  readonly secret?: string | undefined
  /** Of an ED25519 key; 32 bytes. */
  readonly seed?: Uint8Array | undefined
}

export type Caller =
  | { readonly kind: 'none' }
  | { readonly kind: 'basic' | 'hmac' | 'ecc'; readonly key: Key }
  | { readonly kind: 'token'; readonly token: string }
  /** Exactly these characters. */
  | { readonly kind: 'header'; readonly header: string }

export interface PlainCall {
  readonly method: string
  readonly params: { readonly [name: string]: Json }
  readonly id: Json
  readonly caller: Caller
  readonly nonce?: NonceKind | undefined
  /** Writes the JSON, before it is signed. */
  write(members: Member[]): string
}

export type Member = [name: string, value: Json]

/** What a call needs besides its parts. */
export interface CallSettings {
  readonly scheme: string
  /** The word before a token; empty: none. */
  readonly tokenWord: string
  readonly uri: string
  /** Where calls are sent, as some callers sign it by mistake. */
  readonly url: string
  readonly operations: NamedOperations
  nextNonce(kind: NonceKind | undefined): string
  /** The time of the target's clock. In ms. */
  timestamp(): number
}

export interface WrittenCall {
  /** Changes without an effect: what stood there was that already. */
  readonly idle: readonly Change[]
  readonly authorization: string | undefined
  readonly body: string
}

/** @throws Unmakeable where a change has nothing to change */
export function writeCall(call: PlainCall, changes: readonly Change[], settings: CallSettings): WrittenCall {
  const changer = changerOf(changes, settings.operations)
  const body = writeBody(call, changer)
  const written = writeAuthorization(call, settings, changer, body.signed)
  const authorization = written === undefined ? undefined : changer.text('header', written)
  const unused = changes.find((change) => !changer.used.has(change))
  if (unused !== undefined) throw new Unmakeable(`Nothing to change at ${unused.field}`)
  if (authorization !== undefined && !isHeaderValue(authorization))
    throw new Unmakeable('HTTP has no such header value')
  return { authorization, body: body.sent, idle: changes.filter((change) => changer.idle.has(change)) }
}

/** Bytes beyond ASCII travel as UTF-8, one character each. */
const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

/** The header as HTTP sends it: one character for each byte of its UTF-8. */
export function headerBytes(value: string): string {
  return /^[\x20-\x7e\t]*$/.test(value) ? value : fromLatin1(utf8(value))
}

interface Changer {
  readonly used: ReadonlySet<Change>
  readonly idle: ReadonlySet<Change>
  /** The parts to change. */
  readonly fields: readonly string[]
  text(field: string, value: string): string
  bytes(field: string, value: Uint8Array): Uint8Array
  json(field: string, value: Json | undefined): Json | undefined
  /** The change of a part that the caller makes itself; undefined where it stays as it is. */
  take(field: string): Change | undefined
}

function changerOf(changes: readonly Change[], operations: NamedOperations): Changer {
  const used = new Set<Change>()
  const idle = new Set<Change>()
  const noted = <Value>(change: Change, before: Value, after: Value): Value => {
    if (String(before) === String(after)) idle.add(change)
    return after
  }
  const take = (field: string): Change | undefined => {
    const change = changes.find((one) => one.field === field)
    if (change !== undefined) used.add(change)
    return change
  }
  const text = (field: string, value: string): string => {
    const change = take(field)
    if (change === undefined) return value
    if (typeof change.value === 'string') return noted(change, value, change.value)
    if (change.remove === true) return ''
    return noted(change, value, changeText(value, operations.text(change.operation ?? '')))
  }
  const bytes = (field: string, value: Uint8Array): Uint8Array => {
    const change = take(field)
    if (change === undefined) return value
    return noted(change, value, changeBytes(value, operations.bytes(change.operation ?? '')))
  }
  const json = (field: string, value: Json | undefined): Json | undefined => {
    const change = take(field)
    if (change === undefined) return value
    if (change.remove === true) return undefined
    if (change.wrap !== undefined) return wrapped(value, change.wrap)
    if (change.value !== undefined) return change.value
    if (typeof value === 'string')
      return noted(change, value, changeText(value, operations.text(change.operation ?? '')))
    throw new Unmakeable(`No operation on a value that is not a text at ${field}`)
  }
  return { used, idle, fields: changes.map(({ field }) => field), text, bytes, json, take }
}

const ownMembers = new Set(['jsonrpc', 'id', 'method', 'params'])

function writeBody(call: PlainCall, changer: Changer): { sent: string; signed: string } {
  const params: { [name: string]: Json } = {}
  for (const name of new Set([...Object.keys(call.params), ...partsNamed(changer, 'param ')])) {
    const value = changer.json(`param ${name}`, withWords(name, call.params[name], changer))
    if (value !== undefined) params[changer.text(`name-of ${name}`, name)] = value
  }
  const members: [string, Json | undefined][] = [
    ['jsonrpc', changer.json('member jsonrpc', '2.0')],
    ['id', changer.json('member id', call.id)],
    [changer.text('name-of method', 'method'), changer.json('member method', call.method)],
    [changer.text('name-of params', 'params'), changer.json('member params', params)],
  ]
  for (const name of partsNamed(changer, 'member '))
    if (!ownMembers.has(name)) members.push([name, changer.json(`member ${name}`, undefined)])
  const body = call.write(members.filter((member): member is Member => member[1] !== undefined))
  const broken = changer.take('body')
  if (broken !== undefined) {
    const other = rewritten(body, brokenBodies, broken)
    return { sent: other, signed: other }
  }
  const [sent, signed] = [changer.take('sent-body'), changer.take('signed-body')]
  return {
    sent: sent === undefined ? body : rewritten(body, bodyForms, sent),
    signed: signed === undefined ? body : rewritten(body, bodyForms, signed),
  }
}

type Forms = { readonly [name: string]: (body: string) => string }

function rewritten(body: string, forms: Forms, { operation = '' }: Change): string {
  const form = forms[operation]
  if (form === undefined) throw new Unmakeable(`No form of bodies is called ${operation}`)
  const other = form(body)
  if (other === body) throw new Unmakeable('The body stays as it is')
  return other
}

/** The names of the changed parts of a kind, such as `param scope`. */
const partsNamed = ({ fields }: Changer, kind: string): string[] =>
  fields.filter((field) => field.startsWith(kind)).map((field) => field.slice(kind.length))

/** `scope 0`: the first word of a list. */
function withWords(name: string, value: Json | undefined, changer: Changer): Json | undefined {
  if (!Array.isArray(value)) return value
  return value.map((word: Json, at) => (typeof word === 'string' ? changer.text(`${name} ${at}`, word) : word))
}

function writeAuthorization(
  call: PlainCall,
  settings: CallSettings,
  changer: Changer,
  body: string,
): string | undefined {
  const { caller } = call
  if (caller.kind === 'none') return changer.fields.includes('header') ? '' : undefined
  if (caller.kind === 'header') return caller.header
  if (caller.kind === 'token') {
    const token = changer.text('token', caller.token)
    const word = changer.text('token-word', settings.tokenWord)
    return word === '' ? token : `${word}${changer.text('gap', ' ')}${token}`
  }
  return caller.kind === 'basic' ? basicHeader(caller.key, changer) : signedHeader(call, body, settings, changer)
}

function basicHeader({ id, secret = '' }: Key, changer: Changer): string {
  const name = changer.text('basic-id', id)
  const text = `${name}${changer.text('basic-colon', ':')}${changer.text('basic-secret', secret)}`
  const blob = toBase64(utf8(changer.text('basic-text', text)))
  return `${changer.text('basic-word', 'Basic')}${changer.text('gap', ' ')}${changer.text('basic-blob', blob)}`
}

function signedHeader(
  { caller, nonce: kind }: PlainCall,
  body: string,
  settings: CallSettings,
  changer: Changer,
): string {
  if (caller.kind !== 'hmac' && caller.kind !== 'ecc') throw new Error(`${caller.kind} signs nothing`)
  const { key } = caller
  const timestamp = String(settings.timestamp())
  const dataWith = (one: string): string => `${timestamp};${one};POST\n${settings.uri}\n${body}\n`
  const nonce = nonceFor(kind, key, { next: settings.nextNonce, dataWith })
  if (nonce === null) throw new Unmakeable('No nonce makes such a signature')
  const mistake = changer.take('mistake')
  if (mistake !== undefined) return mistaken(mistake.operation ?? '', key, settings, { timestamp, nonce, body })
  const lines = [
    changer.text('signed-method', 'POST'),
    changer.text('signed-uri', settings.uri),
    changer.text('signed-body-text', body),
  ]
  const signedNonce = changer.text('signed-nonce', nonce)
  const data = `${changer.text('signed-timestamp', timestamp)};${signedNonce};${lines.join('\n')}\n`
  const signature = toBase64(
    changer.bytes('signature-bytes', signatureOf(caller, utf8(changer.text('data', data)), changer)),
  )
  const fields = [
    changer.text('key-id', key.id),
    changer.text('version', '1'),
    changer.text('timestamp', timestamp),
    changer.text('nonce', nonce),
    changer.text('signature', signature),
  ]
  return `${changer.text('scheme', settings.scheme)}${changer.text('gap', ' ')}${changer.text('fields', fields.join(';'))}`
}

type Signer = Extract<Caller, { readonly key: Key }>

function signatureOf({ kind, key }: Signer, data: Uint8Array, changer: Changer): Uint8Array {
  if (kind === 'ecc') {
    if (key.seed === undefined) throw new Unmakeable('No private key')
    const seed = changer.bytes('seed', key.seed)
    if (seed.length !== 32) throw new Unmakeable('A private key has 32 bytes')
    return ed25519Sign(seed, data)
  }
  const secret = changer.text('secret', key.secret ?? '')
  return changer.bytes('mac', hmacSha256(utf8(secret), data)).slice(0, 20)
}

interface SignedNow {
  timestamp: string
  nonce: string
  body: string
}

/** A known mistake of the signer's table (fixtures/words.md). */
function mistaken(id: string, own: Key, { scheme, uri, url }: CallSettings, now: SignedNow): string {
  const known = mistakeById(id)
  const key: SigningKey =
    own.seed === undefined ? { kind: 'secret', secret: own.secret ?? '' } : { kind: 'ed25519', seed: own.seed }
  const draft = draftOf({ scheme, uri, url, method: 'POST', keyId: own.id, key, ...now, body: utf8(now.body) })
  const wrong = known?.apply(draft) ?? null
  if (wrong === null) throw new Unmakeable(`The mistake ${id} cannot be made here`)
  const { header } = signDraft(wrong)
  if (header === signDraft(draft).header) throw new Unmakeable(`The mistake ${id} changes nothing here`)
  return header
}
