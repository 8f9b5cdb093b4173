/** Writes a call as bytes with some of its parts changed; later parts are made from the changed ones. */

import { bodyForms, brokenBodies } from './bodies.ts'
import { fromLatin1, fromUtf8, toBase64, utf8 } from './bytes.ts'
import {
  type Draft,
  draftOf,
  joinPieces,
  type Origin,
  piece,
  type SigningKey,
  signDraft,
  wholeSignature,
} from './draft.ts'
import type { ed25519Sign } from './ed25519.ts'
import { sha256 } from './hmac.ts'
import { mistakeById } from './mistakes.ts'
import { type BytesOperation, changeBytes, changeText, type TextOperation } from './operations.ts'
import type { Random } from './random.ts'

/** A JSON value in which `$name.path` stands for a value of an earlier step, and `$unique` for a text of this run, `$digits` for one of digits. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** One change of one part of a call, as the explorer makes it and a fixture writes it under `alter`. */
export interface Change {
  /** A part: a `field` of fixtures/deviations.yaml. */
  readonly field: string
  /** An operation of fixtures/deviations.yaml, a known mistake (`data/with-commas`), `removed`, or another JSON form of a value. */
  readonly operation?: string
  /** An operation itself, where it has no such name. */
  readonly by?: TextOperation | BytesOperation
  /** Another value in this place. */
  readonly value?: Json
}

/** One deliberate mistake in a signed request; everything else is right. The words of `data`, `signature` and `fields` are in mistakes.ts. */
export interface Mistake {
  'key-id'?: string
  secret?: string
  version?: string
  /** Both signed and sent. */
  nonce?: string
  /** Both signed and sent, as written. */
  timestamp?: string | number
  /** These values are signed, and the true ones are sent. */
  signed?: { method?: string; path?: string; body?: string; timestamp?: string | number; nonce?: string }
  /** Only a part of the signature is sent: of its text, or of its bytes before they are encoded. */
  cut?: { characters: number | string } | { bytes: number | string }
  /** Appended to a field of the header; the field is signed without it. */
  appended?: { timestamp?: string; nonce?: string; signature?: string }
  /** Prepended to a field of the header; the field is signed without it. */
  prepended?: { timestamp?: string }
  data?: string
  signature?: string
  fields?: string
}

/** The words of a mistake that name a known one. */
const mistakeGroups = ['data', 'signature', 'fields'] as const

/** What a mistake changes, in the order in which it is made. */
export function changesOfMistake({ signed = {}, cut, appended = {}, prepended = {}, ...mistake }: Mistake): Change[] {
  const values: { readonly [part: string]: string | number | undefined } = {
    'key-id': mistake['key-id'],
    secret: mistake.secret,
    version: mistake.version,
    timestamp: mistake.timestamp,
    nonce: mistake.nonce,
    'signed-timestamp': signed.timestamp ?? mistake.timestamp,
    'signed-nonce': signed.nonce ?? mistake.nonce,
    'signed-method': signed.method,
    'signed-uri': signed.path,
    'signed-body-text': signed.body,
  }
  const first = (count: number | string): TextOperation & BytesOperation => ({ keep: [0, Number(count)] })
  return [
    ...Object.entries(values).flatMap(([field, value]) =>
      value === undefined ? [] : [{ field, value: String(value) }],
    ),
    ...(cut === undefined
      ? []
      : 'bytes' in cut
        ? [{ field: 'signature-bytes', by: first(cut.bytes) }]
        : [{ field: 'signature', by: first(cut.characters) }]),
    ...Object.entries(prepended).map(([field, prepend]) => ({ field, by: { prepend } })),
    ...Object.entries(appended).map(([field, append]) => ({ field, by: { append } })),
    ...mistakeGroups.flatMap((group) =>
      mistake[group] === undefined ? [] : [{ field: 'mistake', operation: `${group}/${mistake[group]}` }],
    ),
  ]
}

/** The change makes no sense for this call: its part is missing, or nothing would differ. */
export class Unmakeable extends Error {
  constructor(message: string) {
    // It is thrown thousands of times, and tells no defect: where it was thrown is not needed, and takes as long as the rest.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}

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

type Caller =
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

type Member = [name: string, value: Json]

/** What a call needs besides its parts. */
interface CallSettings {
  readonly scheme: string
  /** The word before a token; empty: none. */
  readonly tokenWord: string
  readonly uri: string
  /** Where calls are sent, as some callers sign it by mistake. */
  readonly url: string
  readonly operations: NamedOperations
  /** A change that changes nothing is an error. */
  readonly mustChange?: boolean
  /** Makes right ED25519 signatures; noble unless given. */
  readonly ed25519?: Parameters<typeof ed25519Sign>[3]
  nextNonce(kind: NonceKind | undefined): string
  /** The time of the target's clock. In ms. */
  timestamp(): number
}

/** An Authorization header, and what signed it. */
interface WrittenHeader {
  readonly authorization: string | undefined
  readonly nonce?: string
  readonly timestamp?: string
}

interface WrittenCall extends WrittenHeader {
  readonly body: string
}

/** @throws Unmakeable where a change has nothing to change, and with `mustChange` where it changes nothing */
export function writeCall(call: PlainCall, changes: readonly Change[], settings: CallSettings): WrittenCall {
  const changer = changerOf(changes, settings)
  const body = writeBody(call, changer)
  const header = writeHeader({ ...call, method: 'POST', body: utf8(body.signed) }, changer, settings)
  changer.end()
  return { ...header, body: body.sent }
}

type SignedCall = Pick<PlainCall, 'caller' | 'nonce'> & { readonly method: string; readonly body: Uint8Array }

/** The header of a raw request. @throws Unmakeable like `writeCall` */
export function authorize(call: SignedCall, changes: readonly Change[], settings: CallSettings): WrittenHeader {
  const changer = changerOf(changes, settings)
  const header = writeHeader(call, changer, settings)
  changer.end()
  return header
}

function writeHeader(call: SignedCall, changer: Changer, settings: CallSettings): WrittenHeader {
  const written = writeAuthorization(call, settings, changer)
  const authorization = written.authorization === undefined ? undefined : changer.text('header', written.authorization)
  if (authorization !== undefined && !isHeaderValue(authorization))
    throw new Unmakeable('HTTP has no such header value')
  return { ...written, authorization }
}

/** Bytes beyond ASCII travel as UTF-8, one character each. */
const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

/** The header as HTTP sends it: one character for each byte of its UTF-8. */
export function headerBytes(value: string): string {
  return /^[\x20-\x7e\t]*$/.test(value) ? value : fromLatin1(utf8(value))
}

type Changer = ReturnType<typeof changerOf>

/** The operations of fixtures/deviations.yaml by name. @throws SuiteError (`fixture`) for an unknown name */
interface NamedOperations {
  text(name: string): TextOperation | readonly TextOperation[]
  bytes(name: string): BytesOperation
}

function changerOf(
  changes: readonly Change[],
  { operations, mustChange = false }: Pick<CallSettings, 'operations' | 'mustChange'>,
) {
  const used = new Set<Change>()
  const take = (field: string): readonly Change[] => {
    // Most calls are right.
    if (changes.length === 0) return changes
    const found = changes.filter((one) => one.field === field)
    for (const change of found) used.add(change)
    return found
  }
  const noted = <Value>(change: Change, before: Value, after: Value): Value => {
    // Some servers give a key with a public key an empty secret, which is wrong whatever is done to it. Where no word stands before a token,
    // the other changes of the call are what differs.
    if (mustChange && String(before) === String(after) && String(before) !== '')
      throw new Unmakeable(`"${change.field}" stays as it is`)
    return after
  }
  const textOnce = (value: string, change: Change): string => {
    if (change.value !== undefined) return String(change.value)
    return noted(
      change,
      value,
      changeText(value, (change.by as TextOperation) ?? operations.text(change.operation ?? '')),
    )
  }
  const bytesOnce = (value: Uint8Array, change: Change): Uint8Array =>
    noted(change, value, changeBytes(value, (change.by as BytesOperation) ?? operations.bytes(change.operation ?? '')))
  const jsonOnce = (value: Json | undefined, change: Change): Json | undefined => {
    const { operation = '' } = change
    if (operation === removed) return undefined
    if (change.value !== undefined) return change.value
    if (Object.hasOwn(wrapForms, operation)) {
      if (value === undefined) throw new Unmakeable('No value to wrap')
      return wrapForms[operation as keyof typeof wrapForms](value)
    }
    if (typeof value === 'string') return textOnce(value, change)
    throw new Unmakeable(`No operation on a value that is not a text at ${change.field}`)
  }
  return {
    /** The parts to change. */
    fields: changes.map(({ field }) => field),
    text: (field: string, value: string) => take(field).reduce(textOnce, value),
    bytes: (field: string, value: Uint8Array) => take(field).reduce(bytesOnce, value),
    json: (field: string, value: Json | undefined) => take(field).reduce(jsonOnce, value),
    /** The changes of a part that the caller makes itself. */
    take,
    /** @throws Unmakeable if a change was not made */
    end: (): void => {
      const unused = changes.find((change) => !used.has(change))
      if (unused !== undefined) throw new Unmakeable(`Nothing to change at ${unused.field}`)
    },
  }
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
  const [broken] = changer.take('body')
  if (broken !== undefined) {
    const other = rewritten(body, brokenBodies, broken)
    return { sent: other, signed: other }
  }
  const [[sent], [signed]] = [changer.take('sent-body'), changer.take('signed-body')]
  return {
    sent: sent === undefined ? body : rewritten(body, bodyForms, sent),
    signed: signed === undefined ? body : rewritten(body, bodyForms, signed),
  }
}

function rewritten(body: string, forms: typeof bodyForms, { operation = '' }: Change): string {
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

function writeAuthorization(call: SignedCall, settings: CallSettings, changer: Changer): WrittenHeader {
  const { caller } = call
  if (caller.kind === 'none') return { authorization: changer.fields.includes('header') ? '' : undefined }
  if (caller.kind === 'header') return { authorization: caller.header }
  if (caller.kind === 'basic') return { authorization: basicHeader(caller.key, changer) }
  if (caller.kind !== 'token') return signedHeader(call, settings, changer)
  const token = changer.text('token', caller.token)
  const word = changer.text('token-word', settings.tokenWord)
  return { authorization: word === '' ? token : `${word}${changer.text('gap', ' ')}${token}` }
}

function basicHeader({ id, secret = '' }: Key, changer: Changer): string {
  const name = changer.text('basic-id', id)
  const text = `${name}${changer.text('basic-colon', ':')}${changer.text('basic-secret', secret)}`
  const blob = toBase64(utf8(changer.text('basic-text', text)))
  return `${changer.text('basic-word', 'Basic')}${changer.text('gap', ' ')}${changer.text('basic-blob', blob)}`
}

function signedHeader(call: SignedCall, settings: CallSettings, changer: Changer): WrittenHeader {
  const right = rightDraft(call, settings, changer)
  const { nonce, timestamp } = right.sent
  return { authorization: signDraft(draftWith(right, changer)).header, nonce, timestamp }
}

function draftWith(right: Draft, changer: Changer): Draft {
  let draft = right
  for (const [part, change] of changer.fields.length === 0 ? [] : Object.entries(partsOfDraft)) {
    if (!changer.fields.includes(part)) continue
    const text = (value: string): string => changer.text(part, value)
    draft = change(draft, { text, bytes: (value) => changer.bytes(part, value) }) ?? draft
  }
  if (draft.algorithm.kind === 'ed25519' && draft.key.length !== 32) throw new Unmakeable('A private key has 32 bytes')
  return changer.take('mistake').reduce((before, { operation = '' }) => mistaken(before, operation), draft)
}

/** A draft with one deliberate mistake. @throws Unmakeable where it changes nothing */
export function draftWithMistake(right: Draft, mistake: Mistake): Draft {
  const none = (name: string): never => {
    throw new Unmakeable(`No operation is called ${name}`)
  }
  const changer = changerOf(changesOfMistake(mistake), { operations: { text: none, bytes: none }, mustChange: true })
  const draft = draftWith(right, changer)
  // Some parts are changed only now.
  signDraft(draft)
  changer.end()
  return draft
}

/** Mistakes that show only in signatures with `+` or `/`: others would be right by accident. */
const mistakesWithMarks: readonly string[] = ['base64url', 'percent-encoded', 'spaces-for-plus'].map(
  (word) => `signature/${word}`,
)

function rightDraft(
  { caller, nonce: kind, method, body }: SignedCall,
  settings: CallSettings,
  changer: Changer,
): Draft {
  if (caller.kind !== 'hmac' && caller.kind !== 'ecc') throw new Error(`${caller.kind} signs nothing`)
  const { id: keyId, secret = '', seed } = caller.key
  if (caller.kind === 'ecc' && seed === undefined) throw new Unmakeable('No private key')
  const key: SigningKey =
    caller.kind === 'ecc' && seed !== undefined ? { kind: 'ed25519', seed } : { kind: 'secret', secret }
  const { scheme, uri, url } = settings
  const rest = { scheme, uri, url, method, keyId, key, timestamp: String(settings.timestamp()), body }
  const isZero = kind === 'leading-zero' || kind === 'trailing-zero'
  const needsMarks = changer.take('mistake').some(({ operation = '' }) => mistakesWithMarks.includes(operation))
  // S of an ED25519 signature is written with its lowest byte first.
  const [first, last] = caller.kind === 'hmac' ? [0, 19] : [63, 32]
  for (let tried = 0; tried < mostNonces; tried++) {
    const ordinary = draftOf({ ...rest, nonce: settings.nextNonce(isZero ? undefined : kind) })
    const { algorithm } = ordinary
    const draft =
      algorithm.kind === 'mac' ? ordinary : { ...ordinary, algorithm: { ...algorithm, sign: settings.ed25519 } }
    if (needsMarks && !/[+/]/.test(signDraft(draft).signature)) continue
    if (!isZero || wholeSignature(draft, joinPieces(draft.pieces))[kind === 'leading-zero' ? first : last] === 0)
      return draft
  }
  throw new Unmakeable('No nonce makes such a signature')
}

/** With a known mistake of the signer's table (fixtures/words.md). */
function mistaken(right: Draft, id: string): Draft {
  const wrong = mistakeById(id)?.apply(right) ?? null
  if (wrong === null) throw new Unmakeable(`The mistake ${id} cannot be made here`)
  if (signDraft(wrong).header === signDraft(right).header)
    throw new Unmakeable(`The mistake ${id} changes nothing here`)
  return wrong
}

/** Another text or other bytes in the place of a part. */
interface Write {
  text: (text: string) => string
  bytes: (bytes: Uint8Array) => Uint8Array
}

/** A text that is sent; the right one is signed. */
const sent =
  (name: keyof Draft['sent']) =>
  (draft: Draft, { text }: Write): Draft => ({
    ...draft,
    sent: { ...draft.sent, [name]: text(draft.sent[name]) },
  })

/** A text that is signed; the right one is sent. */
const signed =
  (origin: Origin) =>
  (draft: Draft, { text }: Write): Draft => ({
    ...draft,
    pieces: draft.pieces.map((one) => (one.origin === origin ? piece(origin, text(fromUtf8(one.bytes) ?? '')) : one)),
  })

/**
 * The parts of a signed call by the names that fixtures use, in the order in which they are changed: what is signed before the data as a whole.
 * null: this call has no such part.
 */
const partsOfDraft: { readonly [part: string]: (draft: Draft, write: Write) => Draft | null } = {
  scheme: (draft, { text }) => ({ ...draft, scheme: text(draft.scheme) }),
  gap: (draft, { text }) => ({ ...draft, gap: text(draft.gap) }),
  fields: (draft, { text }) => ({ ...draft, fields: (inOrder) => [text(draft.fields(inOrder).join(';'))] }),
  'key-id': sent('keyId'),
  version: sent('version'),
  timestamp: sent('timestamp'),
  nonce: sent('nonce'),
  signature: (draft, { text }) => ({ ...draft, encode: (bytes) => text(draft.encode(bytes)) }),
  'signed-timestamp': signed('timestamp'),
  'signed-nonce': signed('nonce'),
  'signed-method': signed('method'),
  'signed-uri': signed('uri'),
  'signed-body-text': signed('body'),
  data: (draft, { text }) => ({ ...draft, pieces: [piece('other', text(fromUtf8(joinPieces(draft.pieces)) ?? ''))] }),
  // For an Ed25519 key a seed derived from that secret, so another private key.
  secret: (draft, { text }) =>
    draft.algorithm.kind === 'mac'
      ? { ...draft, key: utf8(text(fromUtf8(draft.key) ?? '')) }
      : { ...draft, key: sha256(utf8(text(''))) },
  mac: (draft, { bytes }) => {
    const { algorithm: right } = draft
    if (right.kind !== 'mac') return null
    return { ...draft, algorithm: { kind: 'mac', compute: (by, over) => bytes(right.compute(by, over)) } }
  },
  seed: (draft, { bytes }) => (draft.algorithm.kind === 'ed25519' ? { ...draft, key: bytes(draft.key) } : null),
  'signature-bytes': (draft, { bytes }) => ({ ...draft, cut: (whole) => bytes(draft.cut(whole)) }),
}
