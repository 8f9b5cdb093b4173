/** Reads the bytes of a call: its own parser, shared with no server. */
import { fromBase64Strict, fromUtf8, utf8 } from '../signer/bytes.ts'
import { hasDuplicateMembers } from './spelling.ts'
import type { Terms } from './state.ts'

/** Part 5: what the Authorization header says. `plain` is false where the spelling differs from the document's in an open way. */
export type Authorization =
  | { kind: 'none' }
  | { kind: 'signature'; fields: string[]; plain: boolean }
  | { kind: 'basic'; id: string; secret: string; plain: boolean }
  | { kind: 'malformed-basic' }
  | { kind: 'token'; token: string; plain: boolean }
  | { kind: 'other-scheme' }

/** Part 5.1 to 5.3. `isToken` knows the texts that may be a token: the word before it is open. */
export function readAuthorization(
  header: string | undefined,
  terms: Terms,
  isToken: (text: string) => boolean,
): Authorization {
  if (header === undefined) return { kind: 'none' }
  // HTTP takes spaces and tabs away; whether a server takes other white space away, such as a no-break space, is open.
  const bare = header.replace(/^[ \t]+|[ \t]+$/g, '')
  const value = bare.trim()
  const [, word = '', gap = '', rest = ''] = /^(\S*)([ \t]*)(.*)$/s.exec(value) ?? []
  const oneSpace = gap === ' ' && value === bare
  if (word.toLowerCase() === terms.scheme.toLowerCase())
    return { kind: 'signature', fields: rest.split(';'), plain: oneSpace && word === terms.scheme }
  if (word.toLowerCase() === 'basic' && !isToken(rest)) return readBasic(rest, oneSpace && word === 'Basic')
  if (terms.tokenPrefix !== null && word === terms.tokenPrefix && word !== '')
    return { kind: 'token', token: rest, plain: oneSpace }
  if (isToken(value)) return { kind: 'token', token: value, plain: terms.tokenPrefix === '' }
  if (isToken(rest)) return { kind: 'token', token: rest, plain: false }
  return { kind: 'other-scheme' }
}

/** Part 5.2: BASE64(id:secret). Missing padding is open; whatever else a forgiving decoder may read is malformed. */
function readBasic(blob: string, plain: boolean): Authorization {
  const bytes = fromBase64Strict(blob)
  const padded = bytes ?? fromBase64Strict(blob.padEnd(Math.ceil(blob.length / 4) * 4, '='))
  const text = padded === null ? null : fromUtf8(padded)
  const colon = text?.indexOf(':') ?? -1
  if (text === null || colon < 0) return { kind: 'malformed-basic' }
  return { kind: 'basic', id: text.slice(0, colon), secret: text.slice(colon + 1), plain: plain && bytes !== null }
}

export type JsonObject = { readonly [name: string]: unknown }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** FNV-1a over the text without its id. */
function formOf(body: string): string {
  let hash = 0x811c9dc5
  for (const letter of body.replace(/"id":\s*\d+/, ''))
    hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return `form ${hash.toString(36)}`
}

export interface ReadBody {
  /** False: not JSON. */
  readonly json: boolean
  readonly method: unknown
  readonly params: unknown
  readonly id: unknown
  readonly members: JsonObject | null
  /** A member is written twice, or something else about the text is open. */
  readonly duplicates: boolean
  readonly bytes: number
  /** The text, its id apart: bodies of one form are taken alike. */
  readonly form: string
}

/** An integer to some parsers, and a floating point number to those that tell the two apart by their spelling (envelope/id-types). */
const idWithFractionOrExponent = /"id"\s*:\s*-?\d+[.eE]/

/** Caches the latest body, because a call is read several times in a row. */
let last: { readonly body: string; readonly read: ReadBody } | undefined

/** Part 1: the request envelope. */
export function readBody(body: string): ReadBody {
  if (last?.body === body) return last.read
  const read = parseBody(body)
  last = { body, read }
  return read
}

function parseBody(body: string): ReadBody {
  const bytes = utf8(body).length
  const form = formOf(body)
  const nothing = { method: undefined, params: undefined, id: undefined, members: null, duplicates: false, bytes, form }
  try {
    // Whether a byte order mark in front matters is open (envelope/encoding).
    const marked = body.startsWith('\ufeff')
    const value: unknown = JSON.parse(marked ? body.slice(1) : body)
    if (!isObject(value)) return { json: true, ...nothing }
    const { method, params, id } = value
    return {
      json: true,
      method,
      params,
      id,
      members: value,
      duplicates: marked || hasDuplicateMembers(body) || idWithFractionOrExponent.test(body),
      bytes,
      form,
    }
  } catch {
    return { json: false, ...nothing }
  }
}
