/** Writes a call as bytes with some of its parts changed; later parts are made from the changed ones. */

import { type BodyForms, bodyForms, brokenBodies } from './bodies.ts'
import { fromLatin1, toBase64, utf8 } from './bytes.ts'
import { type Draft, draftOf, joinPieces, type SigningKey, signDraft, wholeSignature } from './draft.ts'
import { changePart, draftParts } from './draft-changes.ts'
import { mistakeById } from './mistakes.ts'
import { changeBytes, changeText, type NamedOperations } from './operations.ts'
import type { Random } from './random.ts'

/** A JSON value in which `$name.path` stands for a value of an earlier step, and `$unique` for a text of this run, `$digits` for one of digits. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** One change of one part of a call, as the explorer makes it and a fixture writes it under `alter`. */
export interface Change {
  /** A part: a `field` of fixtures/deviations.yaml. */
  readonly field: string
  /** An operation of fixtures/deviations.yaml, a known mistake (`data/with-commas`), `removed`, or another JSON form of a value. */
  readonly operation?: string
  /** Another value in this place. */
  readonly value?: Json
}

/** The change makes no sense for this call: its part is missing, or nothing would differ. */
export class Unmakeable extends Error {}

const ofList =
  (write: (list: readonly Json[]) => Json) =>
  (value: Json): Json => {
    if (!Array.isArray(value)) throw new Unmakeable('Not a list')
    return write(value as readonly Json[])
  }

/** The same value, in JSON forms in which a careless server may still find it. */
const wrapForms = {
  'in-list': (value: Json): Json => [value],
  'in-object': (value: Json): Json => ({ value }),
  joined: ofList((list) => list.join(' ')),
  'joined-by-comma': ofList((list) => list.join(',')),
  'first-alone': ofList((list) => list[0] ?? ''),
  'with-number': ofList((list) => [...list, 1]),
  'with-null': ofList((list) => [...list, null]),
  'as-map': ofList((list) => Object.fromEntries(list.map((item, at) => [String(at), item]))),
  'in-list-twice': (value: Json): Json => [[value]],
  'as-json-text': (value: Json): Json => JSON.stringify(value),
} as const

export const wraps: readonly string[] = Object.keys(wrapForms)

/** The word that leaves a param or a member out. */
export const removed = 'removed'

/** Which operations a part takes. */
export type OperationsOfPart = 'text' | 'bytes' | 'body forms' | 'broken bodies' | 'mistakes' | 'values'

interface Part {
  /** What it is, for a reader. */
  readonly says?: string
  readonly operations: OperationsOfPart
  /** The ways to authorize that have it; undefined: every call. */
  readonly callers?: readonly string[]
}

const signers = ['hmac', 'ecc']
const textOf = (callers: readonly string[], says: string): Part => ({ operations: 'text', callers, says })

const parts: { readonly [part: string]: Part } = {
  header: { operations: 'text', says: 'the whole header' },
  gap: textOf(['basic', 'token', ...signers], 'the space between the words of the header'),
  'basic-word': textOf(['basic'], 'the word before Basic credentials'),
  'basic-id': textOf(['basic'], 'the id in Basic credentials'),
  'basic-colon': textOf(['basic'], 'the colon in Basic credentials'),
  'basic-secret': textOf(['basic'], 'the secret in Basic credentials'),
  'basic-text': textOf(['basic'], 'what Basic credentials encode: id, colon and secret'),
  'basic-blob': textOf(['basic'], 'Basic credentials, encoded'),
  'token-word': textOf(['token'], 'the word before the token'),
  token: textOf(['token'], 'the token'),
  scheme: textOf(signers, 'the word before the fields of a signature'),
  fields: textOf(signers, 'the fields of the header as one text'),
  'key-id': textOf(signers, 'the key id in the header'),
  version: textOf(signers, 'the version in the header'),
  timestamp: textOf(signers, 'the timestamp in the header; the right one is signed'),
  nonce: textOf(signers, 'the nonce in the header; the right one is signed'),
  signature: textOf(signers, 'the signature in the header'),
  'signed-timestamp': textOf(signers, 'the timestamp that is signed; the right one is sent'),
  'signed-nonce': textOf(signers, 'the nonce that is signed; the right one is sent'),
  'signed-method': textOf(signers, 'the method that is signed'),
  'signed-uri': textOf(signers, 'the path that is signed'),
  'signed-body-text': textOf(signers, 'the body that is signed'),
  data: textOf(signers, 'the data that are signed'),
  secret: textOf(['hmac'], 'the secret that signs'),
  mac: { operations: 'bytes', callers: ['hmac'], says: 'the 32 bytes of the MAC' },
  seed: { operations: 'bytes', callers: ['ecc'], says: 'the private key that signs' },
  'signature-bytes': { operations: 'bytes', callers: signers, says: 'the bytes of the signature' },
  mistake: { operations: 'mistakes', callers: signers, says: 'a mistake in the signature' },
  'sent-body': {
    operations: 'body forms',
    callers: signers,
    says: 'the body that is sent after the right one was signed',
  },
  'signed-body': { operations: 'body forms', callers: signers, says: 'the body that is signed; the right one is sent' },
  body: { operations: 'broken bodies', says: 'the body, sent and signed' },
}

/** `param NAME`, `member NAME` (of the request), `name-of NAME`, and `scope 0`: a word of a list. */
const named: readonly [RegExp, Part][] = [
  [/^(param|member) \S+$/, { operations: 'values' }],
  [/^name-of \S+$|^[A-Za-z]+ \d+$/, { operations: 'text' }],
]

/** undefined: there is no such part. */
export const partNamed = (name: string): Part | undefined =>
  Object.hasOwn(parts, name) ? parts[name] : named.find(([pattern]) => pattern.test(name))?.[1]

/** For a reader who mistyped one. */
export const partNames: readonly string[] = [
  ...Object.keys(parts),
  'param apiKeyId',
  'param apiKeySecret',
  'param grantType',
  'param refreshToken',
  'param scope',
  'param name',
  'param publicKey',
  'member jsonrpc',
  'member id',
  'member method',
  'member params',
]

/**
 * What a nonce looks like; base64 unless given, `marks` is base64 that ends in `////++++`. With `leading-zero` the most significant byte of the
 * MAC, or of S in an ED25519 signature, is zero; with `trailing-zero` the least significant one.
 */
export type NonceKind = 'digits' | 'padded' | 'letters' | 'marks' | 'leading-zero' | 'trailing-zero'

/** A new nonce. */
export function nonceOf(kind: NonceKind | undefined, values: Random): string {
  const bytes = values.bytes(24)
  if (kind === 'digits') return `00${Array.from(bytes.slice(0, 22), (byte) => byte % 10).join('')}`
  if (kind === 'padded') return toBase64(bytes.slice(0, 16))
  if (kind === 'marks') return `${toBase64(bytes.slice(0, 12))}////++++`
  if (kind === 'letters')
    return Array.from(bytes, (byte) => String.fromCharCode((byte & 32 ? 65 : 97) + (byte % 26))).join('')
  // 24 characters without padding, so the open question of padded nonces does not arise.
  return toBase64(bytes.slice(0, 18))
}

/** One nonce of 256 makes a MAC with a zero byte at a given place; the last byte of S in an ED25519 signature is zero in one of 16. */
const mostNonces = 8000

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
    const { operation = '' } = change
    if (operation === removed) return undefined
    if (change.value !== undefined) return change.value
    if (Object.hasOwn(wrapForms, operation)) {
      if (value === undefined) throw new Unmakeable('No value to wrap')
      return wrapForms[operation as keyof typeof wrapForms](value)
    }
    if (typeof value === 'string') return noted(change, value, changeText(value, operations.text(operation)))
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

function rewritten(body: string, forms: BodyForms, { operation = '' }: Change): string {
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

function signedHeader(call: PlainCall, body: string, settings: CallSettings, changer: Changer): string {
  const right = rightDraft(call, body, settings)
  const mistake = changer.take('mistake')
  if (mistake !== undefined) return mistaken(right, mistake.operation ?? '')
  let draft = right
  for (const part of draftParts.filter((one) => changer.fields.includes(one))) {
    const text = (value: string): string => changer.text(part, value)
    draft = changePart(draft, part, { text, bytes: (value) => changer.bytes(part, value) }) ?? draft
  }
  if (draft.algorithm.kind === 'ed25519' && draft.key.length !== 32) throw new Unmakeable('A private key has 32 bytes')
  return signDraft(draft).header
}

function rightDraft({ caller, nonce: kind }: PlainCall, body: string, settings: CallSettings): Draft {
  if (caller.kind !== 'hmac' && caller.kind !== 'ecc') throw new Error(`${caller.kind} signs nothing`)
  const { id: keyId, secret = '', seed } = caller.key
  if (caller.kind === 'ecc' && seed === undefined) throw new Unmakeable('No private key')
  const key: SigningKey =
    caller.kind === 'ecc' && seed !== undefined ? { kind: 'ed25519', seed } : { kind: 'secret', secret }
  const { scheme, uri, url } = settings
  const rest = {
    scheme,
    uri,
    url,
    method: 'POST',
    keyId,
    key,
    timestamp: String(settings.timestamp()),
    body: utf8(body),
  }
  const with1 = (nonce: string): Draft => draftOf({ ...rest, nonce })
  if (kind !== 'leading-zero' && kind !== 'trailing-zero') return with1(settings.nextNonce(kind))
  // S of an ED25519 signature is written with its lowest byte first.
  const [first, last] = caller.kind === 'hmac' ? [0, 19] : [63, 32]
  for (let tried = 0; tried < mostNonces; tried++) {
    const draft = with1(settings.nextNonce(undefined))
    if (wholeSignature(draft, joinPieces(draft.pieces))[kind === 'leading-zero' ? first : last] === 0) return draft
  }
  throw new Unmakeable('No nonce makes such a signature')
}

/** The header with a known mistake of the signer's table (fixtures/words.md). */
function mistaken(right: Draft, id: string): string {
  const wrong = mistakeById(id)?.apply(right) ?? null
  if (wrong === null) throw new Unmakeable(`The mistake ${id} cannot be made here`)
  const { header } = signDraft(wrong)
  if (header === signDraft(right).header) throw new Unmakeable(`The mistake ${id} changes nothing here`)
  return header
}
