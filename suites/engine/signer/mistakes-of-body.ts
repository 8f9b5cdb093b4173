/** Known mistakes in the body that is signed: other bytes than those sent (signatures/request-body). */
import { concat, fromLatin1, fromUtf8, latin1, toBase64, toHex, utf8 } from './bytes.ts'
import { sha256 } from './hmac.ts'
import { bodyMistake, type KnownMistake } from './mistake.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

const requirement = 'signatures/request-body'
const asSent = 'Sign the body exactly as sent: serialise once, sign these bytes and send these bytes'

/** How a serialiser writes JSON. */
interface Style {
  comma: string
  colon: string
  /** What is done to a text that JSON.stringify quoted. */
  escape: (quoted: string) => string
  sorted: boolean
  /** Spaces per level, 0 for one line. */
  indent: number
}

const compact: Style = { comma: ',', colon: ':', escape: (quoted) => quoted, sorted: false, indent: 0 }
const spaced: Style = { ...compact, comma: ', ', colon: ': ' }

const nonAscii = (quoted: string) => quoted.replace(/[\u0080-\uffff]/g, unicodeEscape)
const goMarks = (quoted: string) => quoted.replace(/[<>&\u2028\u2029]/g, unicodeEscape)
const slashes = (quoted: string) => quoted.replaceAll('/', '\\/')

const reserialised = (said: { word: string; how: string; found?: boolean }, ...styles: Style[]): KnownMistake =>
  bodyMistake(
    {
      id: `data/${said.word}`,
      title: `The body was parsed and written again ${said.how} before it was signed`,
      requirement,
      fix: asSent,
      when: `the body is parsed and written again ${said.how} before it is signed`,
      found: said.found ?? true,
    },
    (body) => {
      const written = styles.map((style) => rewrite(body, style))
      return written.find((bytes) => bytes !== null && fromLatin1(bytes) !== fromLatin1(body)) ?? null
    },
  )

export const bodyMistakes: readonly KnownMistake[] = [
  // For fixtures: whichever way changes the bytes. Looked for under its own name each way.
  reserialised({ word: 'with-body-reserialised', how: 'with other spacing', found: false }, spaced, compact),
  reserialised({ word: 'with-body-compact', how: 'without white space (as JSON.stringify does)' }, compact),
  reserialised({ word: 'with-body-spaced', how: 'with spaces (as json.dumps of Python does)' }, spaced),
  reserialised(
    { word: 'with-body-python-escapes', how: 'with spaces and \\u escapes (as json.dumps of Python does)' },
    { ...spaced, escape: nonAscii },
  ),
  reserialised(
    { word: 'with-body-ascii', how: 'without white space and with \\u escapes' },
    { ...compact, escape: nonAscii },
  ),
  reserialised(
    { word: 'with-body-go-escapes', how: 'with <, > and & escaped (as encoding/json of Go does)' },
    { ...compact, escape: goMarks },
  ),
  reserialised(
    { word: 'with-body-php-escapes', how: 'with \\/ and \\u escapes (as json_encode of PHP does)' },
    { ...compact, escape: (quoted) => slashes(nonAscii(quoted)) },
  ),
  reserialised({ word: 'with-body-sorted', how: 'with sorted members' }, { ...compact, sorted: true }),
  reserialised({ word: 'with-body-indented', how: 'with indentation' }, { ...compact, colon: ': ', indent: 2 }),
  reserialised(
    { word: 'with-body-indented-by-4', how: 'with an indentation of 4' },
    { ...compact, colon: ': ', indent: 4 },
  ),
  body(
    'with-body-trimmed',
    'The body was trimmed before it was signed',
    'the body is trimmed before it is signed',
    (text) => text.trim(),
  ),
  body(
    'with-body-lf',
    'CR LF in the body became LF before it was signed',
    'CR LF in the body is signed as LF',
    (text) => text.replaceAll('\r\n', '\n'),
  ),
  body(
    'with-body-crlf',
    'LF in the body became CR LF before it was signed',
    'LF in the body is signed as CR LF',
    (text) => text.replace(/\r?\n/g, '\r\n'),
  ),
  body(
    'with-body-unescaped',
    '\\u escapes of the body were resolved before it was signed',
    '\\u escapes of the body are resolved before it is signed',
    (text) => text.replace(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
  ),
  body('with-body-as-json-text', 'The body was JSON-encoded twice', 'the body is JSON-encoded once more', (text) =>
    JSON.stringify(text),
  ),
  body(
    'with-params-only',
    'Only the params of the body were signed',
    'only the params of the body are signed',
    (text) => {
      const params = member(parse(text), 'params')
      return params === undefined ? text : JSON.stringify(params)
    },
  ),
  body(
    'with-body-percent-encoded',
    'The body was percent-encoded before it was signed',
    'the body is percent-encoded',
    (text) => encodeURIComponent(text),
  ),
  bytes(
    'with-empty-body',
    'The body was left out of the signed data',
    'an empty body is signed',
    () => new Uint8Array(0),
  ),
  bytes('with-body-latin-1', 'The body was signed in ISO 8859-1', 'the body is signed in ISO 8859-1', (raw) =>
    latin1(fromUtf8(raw) ?? ''),
  ),
  bytes('with-body-utf8-twice', 'The UTF-8 of the body was encoded a second time', 'the body is encoded twice', (raw) =>
    utf8(fromLatin1(raw)),
  ),
  bytes('with-body-utf16', 'The body was signed in UTF-16', 'the body is signed in UTF-16', (raw) =>
    utf16(fromUtf8(raw)),
  ),
  bytes(
    'with-body-bom',
    'The body was signed with a byte order mark',
    'a byte order mark is signed before the body',
    (raw) => concat(Uint8Array.of(0xef, 0xbb, 0xbf), raw),
  ),
  bytes(
    'without-body-bom',
    'The byte order mark of the body was not signed',
    'the byte order mark is not signed',
    (raw) => (raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? raw.slice(3) : raw),
  ),
  bytes(
    'with-body-hash',
    'The SHA-256 of the body was signed in its place',
    'the SHA-256 of the body is signed',
    (raw) => utf8(toHex(sha256(raw))),
  ),
  bytes(
    'with-body-base64',
    'The BASE64 of the body was signed in its place',
    'the BASE64 of the body is signed',
    (raw) => utf8(toBase64(raw)),
  ),
]

function body(word: string, title: string, when: string, change: (text: string) => string): KnownMistake {
  return bytes(word, title, when, (raw) => {
    const text = fromUtf8(raw)
    return text === null ? null : utf8(change(text))
  })
}

function bytes(
  word: string,
  title: string,
  when: string,
  change: (raw: Uint8Array) => Uint8Array | null,
): KnownMistake {
  return bodyMistake({ id: `data/${word}`, title, requirement, fix: asSent, when }, change)
}

function rewrite(raw: Uint8Array, style: Style): Uint8Array | null {
  const text = fromUtf8(raw)
  const value = text === null ? undefined : parse(text)
  return value === undefined ? null : utf8(write(value, style, ''))
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

function member(value: Json | undefined, name: string): Json | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value[name] : undefined
}

function write(value: Json, style: Style, margin: string): string {
  if (value === null || typeof value !== 'object') {
    return typeof value === 'string' ? style.escape(JSON.stringify(value)) : JSON.stringify(value)
  }
  const inner = margin + ' '.repeat(style.indent)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const items = Array.isArray(value)
    ? value.map((item) => write(item, style, inner))
    : names(value, style).map(
        (name) => style.escape(JSON.stringify(name)) + style.colon + write(value[name] ?? null, style, inner),
      )
  if (items.length === 0) return `${open}${close}`
  if (style.indent === 0) return `${open}${items.join(style.comma)}${close}`
  return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}`
}

function names(value: { [key: string]: Json }, style: Style): string[] {
  return style.sorted ? Object.keys(value).sort() : Object.keys(value)
}

function unicodeEscape(mark: string): string {
  return `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function utf16(text: string | null): Uint8Array | null {
  if (text === null) return null
  return Uint8Array.from(
    [...text]
      .join('')
      .split('')
      .flatMap((unit) => [unit.charCodeAt(0) & 0xff, unit.charCodeAt(0) >> 8]),
  )
}
