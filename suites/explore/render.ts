/** Turns a step with names into the bytes of a call. One part may be changed on the way; later parts are made from the changed one. */

import { fromLatin1, toBase64, utf8 } from '../engine/signer/bytes.ts'
import { signDraft } from '../engine/signer/draft.ts'
import { ed25519Sign } from '../engine/signer/ed25519.ts'
import { hmacSha256 } from '../engine/signer/hmac.ts'
import { mistakeById } from '../engine/signer/mistakes.ts'
import { shortName } from '../engine/signer/short-name.ts'
import { draftOf, type SigningKey } from '../engine/signer/sign.ts'
import { bodyForms, brokenBodies, cutLetterForms, padded } from './body-forms.ts'
import type { Operations } from './deviations.ts'
import { nonceFor } from './nonces.ts'
import { changeBytes } from './operations.ts'
import type { CallStep, Change, Json, Value } from './step.ts'
import { changeText } from './text-operations.ts'

/** What a call needs besides its step. */
export interface Surroundings {
  readonly scheme: string
  readonly tokenPrefix: string
  readonly uri: string
  /** Where calls are sent, as some callers sign it by mistake. */
  readonly url: string
  readonly operations: Operations
  lookUp(name: string): Value | undefined
  /** A text of this run only. */
  readonly unique: string
  /** The target refuses other names than short ones. */
  readonly shortSessionNames: boolean
  nextId(): number
  nextNonce(kind: CallStep['nonce']): string
  /** The time of the target's clock. In ms. */
  timestamp(): number
}

export interface Rendered {
  readonly authorization: string | undefined
  readonly body: string
  readonly breaks: string | undefined
}

/** The change makes no sense for this call: its part is missing, or nothing would differ. */
export class Unmakeable extends Error {}

/** @throws Unmakeable */
export function render(step: CallStep, around: Surroundings): Rendered {
  const maker = makerOf(step, around)
  const body = writeBody(step, around, maker)
  const authorization = writeAuthorization(step, around, maker, body.signed)
  const header = authorization === undefined ? undefined : maker.text('header', authorization)
  if (step.change !== undefined && !maker.used()) throw new Unmakeable(`Nothing to change at ${step.change.field}`)
  if (header !== undefined && !isHeaderValue(header)) throw new Unmakeable('HTTP has no such header value')
  return { authorization: header, body: body.sent, breaks: around.operations.breaks(step.change, step.auth.kind) }
}

/** Bytes beyond ASCII travel as UTF-8, one character each. */
const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value)

interface Maker {
  text(field: string, value: string): string
  bytes(field: string, value: Uint8Array): Uint8Array
  json(field: string, value: Json | undefined): Json | undefined
  /** The caller changes this part itself. */
  touch(field: string): void
  used(): boolean
}

function makerOf({ change }: CallStep, around: Surroundings): Maker {
  let used = false
  const instead = (): string | undefined =>
    change?.place === undefined ? undefined : String(resolve(change.place, around))
  const hit = (field: string): boolean => {
    if (change?.field !== field) return false
    used = true
    return true
  }
  const text = (field: string, value: string): string => {
    if (!hit(field)) return value
    const other = instead() ?? (typeof change?.value === 'string' ? change.value : undefined)
    if (other !== undefined) return other
    if (change?.remove === true) return ''
    return changeText(value, around.operations.text(change?.operation ?? ''))
  }
  const bytes = (field: string, value: Uint8Array): Uint8Array =>
    hit(field) ? changeBytes(value, around.operations.bytes(change?.operation ?? '')) : value
  const json = (field: string, value: Json | undefined): Json | undefined => {
    if (change?.field !== field) return value
    used = true
    if (change.remove === true) return undefined
    if (change.wrap !== undefined) return wrapped(value, change.wrap)
    if (change.value !== undefined) return resolveAll(change.value, around)
    const other = instead()
    if (other !== undefined) return other
    if (typeof value === 'string') return changeText(value, around.operations.text(change.operation ?? ''))
    throw new Unmakeable(`No operation on a value that is not a text at ${field}`)
  }
  return { text, bytes, json, touch: hit, used: () => used }
}

/** The same value, in a JSON form in which a careless server may still find it. */
function wrapped(value: Json | undefined, wrap: NonNullable<Change['wrap']>): Json {
  if (value === undefined) throw new Unmakeable('No value to wrap')
  const list: readonly Json[] | null = Array.isArray(value) ? (value as readonly Json[]) : null
  switch (wrap) {
    case 'in-list':
      return [value]
    case 'in-list-twice':
      return [[value]]
    case 'in-object':
      return { value }
    case 'as-json-text':
      return JSON.stringify(value)
    default:
      if (list === null) throw new Unmakeable('Not a list')
  }
  if (wrap === 'joined') return list.join(' ')
  if (wrap === 'joined-by-comma') return list.join(',')
  if (wrap === 'first-alone') return list[0] ?? ''
  if (wrap === 'with-number') return [...list, 1]
  return wrap === 'with-null' ? [...list, null] : Object.fromEntries(list.map((item, at) => [String(at), item]))
}

const ownMembers = new Set(['jsonrpc', 'id', 'method', 'params'])

function writeBody(step: CallStep, around: Surroundings, maker: Maker): { sent: string; signed: string } {
  const params: { [name: string]: Json } = {}
  const plain = resolveAll(step.params, around) as { [name: string]: Json }
  const names = new Set([...Object.keys(plain), ...(paramOf(step.change?.field) ?? [])])
  for (const name of names) {
    const value = maker.json(`param ${name}`, withWords(name, plain[name], maker))
    if (value !== undefined) params[maker.text(`name-of ${name}`, name)] = value
  }
  const members: [string, Json | undefined][] = [
    ['jsonrpc', maker.json('member jsonrpc', '2.0')],
    ['id', maker.json('member id', step.id ?? around.nextId())],
    [maker.text('name-of method', 'method'), maker.json('member method', step.method)],
    [maker.text('name-of params', 'params'), maker.json('member params', params)],
  ]
  const [, more] = /^member (.+)$/.exec(step.change?.field ?? '') ?? []
  if (more !== undefined && !ownMembers.has(more)) members.push([more, maker.json(`member ${more}`, undefined)])
  const compact = JSON.stringify(Object.fromEntries(members.filter(([, value]) => value !== undefined)))
  const formed = formOf(step.form, compact)
  const { field, operation = '' } = step.change ?? {}
  if (field !== 'sent-body' && field !== 'signed-body' && field !== 'body') return { sent: formed, signed: formed }
  maker.touch(field)
  const form = field === 'body' ? brokenBodies[operation] : bodyForms[operation]
  if (form === undefined) throw new Unmakeable(`No form of bodies is called ${operation}`)
  const other = form(formed)
  if (other === formed) throw new Unmakeable('The body stays as it is')
  if (field === 'body') return { sent: other, signed: other }
  return field === 'sent-body' ? { sent: other, signed: formed } : { sent: formed, signed: other }
}

/** `scope 0`: the first word of a list. */
function withWords(name: string, value: Json | undefined, maker: Maker): Json | undefined {
  if (!Array.isArray(value)) return value
  return value.map((word, at) => (typeof word === 'string' ? maker.text(`${name} ${at}`, word) : word))
}

const paramOf = (field: string | undefined): string[] | null =>
  field?.startsWith('param ') === true ? [field.slice('param '.length)] : null

function formOf(form: CallStep['form'], body: string): string {
  if (form === undefined) return body
  if (typeof form === 'number') return padded(body, form)
  return (bodyForms[form] ?? cutLetterForms[form] ?? ((text) => text))(body)
}

function writeAuthorization(step: CallStep, around: Surroundings, maker: Maker, body: string): string | undefined {
  const { auth } = step
  if (auth.kind === 'none') return step.change?.field === 'header' ? '' : undefined
  if (auth.kind === 'token') {
    const token = maker.text('token', String(resolve(auth.token, around)))
    const word = maker.text('token-word', around.tokenPrefix)
    return word === '' ? token : `${word}${maker.text('gap', ' ')}${token}`
  }
  if (auth.kind === 'header') return String(resolve(auth.header, around))
  const value = around.lookUp(auth.who)
  if (value?.id === undefined) throw new Unmakeable(`There is no key ${auth.who}`)
  if (auth.kind === 'basic') return basicHeader(value, maker)
  return signedHeader(step, { value, body }, around, maker)
}

function basicHeader({ id = '', secret = '' }: Value, maker: Maker): string {
  const name = maker.text('basic-id', id)
  const text = `${name}${maker.text('basic-colon', ':')}${maker.text('basic-secret', secret)}`
  const blob = toBase64(utf8(maker.text('basic-text', text)))
  return `${maker.text('basic-word', 'Basic')}${maker.text('gap', ' ')}${maker.text('basic-blob', blob)}`
}

function signedHeader(
  step: CallStep,
  { value, body }: { value: Value; body: string },
  around: Surroundings,
  maker: Maker,
): string {
  const timestamp = String(around.timestamp())
  const dataWith = (one: string): string => `${timestamp};${one};POST\n${around.uri}\n${body}\n`
  const nonce = nonceFor(step.nonce, value, { next: around.nextNonce, dataWith })
  if (nonce === null) throw new Unmakeable('No nonce makes such a signature')
  const { operation = '', field } = step.change ?? {}
  if (field === 'mistake') {
    maker.touch('mistake')
    return mistaken(operation, value, around, { timestamp, nonce, body })
  }
  const lines = [
    maker.text('signed-method', 'POST'),
    maker.text('signed-uri', around.uri),
    maker.text('signed-body-text', body),
  ]
  const signedNonce = maker.text('signed-nonce', nonce)
  const data = `${maker.text('signed-timestamp', timestamp)};${signedNonce};${lines.join('\n')}\n`
  const signature = toBase64(
    maker.bytes('signature-bytes', signatureOf(step, value, utf8(maker.text('data', data)), maker)),
  )
  const fields = [
    maker.text('key-id', value.id ?? ''),
    maker.text('version', '1'),
    maker.text('timestamp', timestamp),
    maker.text('nonce', nonce),
    maker.text('signature', signature),
  ]
  return `${maker.text('scheme', around.scheme)}${maker.text('gap', ' ')}${maker.text('fields', fields.join(';'))}`
}

function signatureOf(step: CallStep, value: Value, data: Uint8Array, maker: Maker): Uint8Array {
  if (step.auth.kind === 'ecc') {
    if (value.seed === undefined) throw new Unmakeable('No private key')
    const seed = maker.bytes('seed', value.seed)
    if (seed.length !== 32) throw new Unmakeable('A private key has 32 bytes')
    return ed25519Sign(seed, data)
  }
  const secret = maker.text('secret', value.secret ?? '')
  return maker.bytes('mac', hmacSha256(utf8(secret), data)).slice(0, 20)
}

interface SignedNow {
  timestamp: string
  nonce: string
  body: string
}

/** A known mistake of the signer's table (fixtures/words.md). */
function mistaken(id: string, value: Value, around: Surroundings, now: SignedNow): string {
  const known = mistakeById(id)
  const key: SigningKey =
    value.seed === undefined ? { kind: 'secret', secret: value.secret ?? '' } : { kind: 'ed25519', seed: value.seed }
  const { scheme, uri, url } = around
  const draft = draftOf({ scheme, uri, url, method: 'POST', keyId: value.id ?? '', key, ...now, body: utf8(now.body) })
  const wrong = known?.apply(draft) ?? null
  if (wrong === null) throw new Unmakeable(`The mistake ${id} cannot be made here`)
  const { header } = signDraft(wrong)
  if (header === signDraft(draft).header) throw new Unmakeable(`The mistake ${id} changes nothing here`)
  return header
}

/** The header as HTTP sends it: one character for each byte of its UTF-8. */
export function headerBytes(value: string): string {
  return /^[\x20-\x7e\t]*$/.test(value) ? value : fromLatin1(utf8(value))
}

/** Two digits of this run: with more a name would be no small number, which some readers treat in another way. */
const digitsOf = (unique: string): string =>
  Array.from(unique.slice(0, 2), (letter) => Number.parseInt(letter, 36) % 10).join('')

/** `$name.path` as a value; a text with such in it; `$unique` and `$digits`. */
function resolve(text: string, around: Surroundings): Json {
  const whole = /^\$([A-Za-z][\w-]*)((?:\.\w+)*)$/.exec(text)
  if (whole !== null && whole[1] !== 'unique' && whole[1] !== 'digits')
    return valueAt(whole[1] ?? '', whole[2] ?? '', around)
  const full = text.replaceAll('$unique', around.unique).replaceAll('$digits', digitsOf(around.unique))
  return around.shortSessionNames ? withShortSession(full) : full
}

/** A long session name becomes a short one; the same name always the same. */
const withShortSession = (word: string): string =>
  word.replace(/^session:(.+)$/, (whole, name: string) =>
    /^[a-z0-9]{1,8}$/.test(name) ? whole : `session:${shortName(name)}`,
  )

function valueAt(name: string, path: string, around: Surroundings): Json {
  let value: unknown = around.lookUp(name)
  for (const part of path.split('.').slice(1)) value = (value as { [name: string]: unknown } | undefined)?.[part]
  if (value === undefined) throw new Unmakeable(`There is no ${name}${path}`)
  return value as Json
}

export function resolveAll(value: Json, around: Surroundings): Json {
  if (typeof value === 'string') return resolve(value, around)
  if (Array.isArray(value)) return value.map((item) => resolveAll(item, around))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolveAll(item, around)]))
}
