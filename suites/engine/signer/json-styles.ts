/** How serialisers write JSON: the same value, other bytes. */
import { isObject as hasMembers } from '../json.ts'
import { fromUtf8, sameBytes, utf8 } from './bytes.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

/** How a serialiser writes JSON. */
export interface Style {
  comma: string
  colon: string
  /** What is done to a text that JSON.stringify quoted. */
  escape: (quoted: string) => string
  /** How a number is written. */
  number: (value: number) => string
  sorted: boolean
  /** The indentation of a member for each level; empty for a single line. */
  indent: string
}

export const compact: Style = {
  comma: ',',
  colon: ':',
  escape: (quoted) => quoted,
  number: (value) => JSON.stringify(value),
  sorted: false,
  indent: '',
}
export const spaced: Style = { ...compact, comma: ', ', colon: ': ' }

/** As json.dumps of Python does. */
export const escapeNonAscii = (quoted: string): string => quoted.replace(/[\u0080-\uffff]/g, unicodeEscape)
/** As encoding/json of Go does. */
export const escapeMarksOfGo = (quoted: string): string => quoted.replace(/[<>&\u2028\u2029]/g, unicodeEscape)
/** As Gson does. */
export const escapeMarksOfGson = (quoted: string): string => quoted.replace(/[<>&='\u2028\u2029]/g, unicodeEscape)
/** As json_encode of PHP does. */
export const escapeAsPhp = (quoted: string): string => escapeNonAscii(quoted).replaceAll('/', '\\/')

/** As System.Text.Json of .NET does: hex in upper case, quotes as escapes too. */
export function escapeAsDotNet(quoted: string): string {
  const inner = quoted.slice(1, -1).replaceAll('\\"', '"')
  const hex = (mark: string) => `\\u${unicodeEscape(mark).slice(2).toUpperCase()}`
  return `"${inner.replace(/[<>&'"+`\u007f-\uffff]/g, hex)}"`
}

/** The value of a JSON text, or undefined for any other text. */
export function parseJson(bytes: Uint8Array): Json | undefined {
  try {
    return JSON.parse(fromUtf8(bytes) ?? '') as Json
  } catch {
    return undefined
  }
}

/** Whether a value has members. */
export const isObject = (value: Json | undefined): value is JsonObject => hasMembers(value)

/** The JSON text in another style, or null if it is not JSON. */
export function rewrite(bytes: Uint8Array, style: Style): Uint8Array | null {
  const value = parseJson(bytes)
  return value === undefined ? null : utf8(writeJson(value, style))
}

const knownStyles = new WeakMap<Uint8Array, Style>()

/** The style in which a JSON text is written; compact where no known one gives the same bytes. */
export function styleOf(bytes: Uint8Array): Style {
  const style = knownStyles.get(bytes) ?? findStyle(bytes)
  knownStyles.set(bytes, style)
  return style
}

function findStyle(bytes: Uint8Array): Style {
  const styles = [compact, spaced, { ...spaced, escape: escapeNonAscii }, { ...compact, colon: ': ', indent: '  ' }]
  const isSame = (style: Style): boolean => {
    const written = rewrite(bytes, style)
    return written !== null && sameBytes(written, bytes)
  }
  return styles.find(isSame) ?? compact
}

/** A value as a serialiser writes it. */
export function writeJson(value: Json, style: Style, margin = ''): string {
  if (typeof value === 'number') return style.number(value)
  if (value === null || typeof value !== 'object') {
    return typeof value === 'string' ? style.escape(JSON.stringify(value)) : JSON.stringify(value)
  }
  const inner = margin + style.indent
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const items = Array.isArray(value)
    ? value.map((item) => writeJson(item, style, inner))
    : namesOf(value, style).map(
        (name) => style.escape(JSON.stringify(name)) + style.colon + writeJson(value[name] ?? null, style, inner),
      )
  if (items.length === 0) return `${open}${close}`
  if (style.indent === '') return `${open}${items.join(style.comma)}${close}`
  return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}`
}

function namesOf(value: JsonObject, style: Style): string[] {
  return style.sorted ? Object.keys(value).sort() : Object.keys(value)
}

function unicodeEscape(mark: string): string {
  return `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`
}
