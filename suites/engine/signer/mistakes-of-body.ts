/** Known mistakes in the body that is signed: other bytes than those sent (signatures/request-body). */
import { concat, fromLatin1, fromUtf8, latin1, toBase64, toHex, utf8 } from './bytes.ts'
import { sha256 } from './hmac.ts'
import {
  compact,
  escapeAsPhp,
  escapeMarksOfGo,
  escapeNonAscii,
  isObject,
  parseJson,
  rewrite,
  type Style,
  spaced,
  styleOf,
  writeJson,
} from './json-styles.ts'
import { bodyMistake, type KnownMistake } from './mistake.ts'

const requirement = 'signatures/request-body'
const asSent = 'Sign the body exactly as sent: serialise once, sign these bytes and send these bytes'

/** A body that was parsed and written in the first style that changes it. */
export const reserialised = (said: { word: string; how: string; found?: boolean }, ...styles: Style[]): KnownMistake =>
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
  // For fixtures: the first style that changes the bytes. The diagnosis looks for each style under its own name.
  reserialised({ word: 'with-body-reserialised', how: 'with other spacing', found: false }, spaced, compact),
  reserialised({ word: 'with-body-compact', how: 'without white space (as JSON.stringify does)' }, compact),
  reserialised({ word: 'with-body-spaced', how: 'with spaces (as json.dumps of Python does)' }, spaced),
  reserialised(
    { word: 'with-body-python-escapes', how: 'with spaces and \\u escapes (as json.dumps of Python does)' },
    { ...spaced, escape: escapeNonAscii },
  ),
  reserialised(
    { word: 'with-body-ascii', how: 'without white space and with \\u escapes' },
    { ...compact, escape: escapeNonAscii },
  ),
  reserialised(
    { word: 'with-body-go-escapes', how: 'with <, > and & escaped (as encoding/json of Go does)' },
    { ...compact, escape: escapeMarksOfGo },
  ),
  reserialised(
    { word: 'with-body-php-escapes', how: 'with \\/ and \\u escapes (as json_encode of PHP does)' },
    { ...compact, escape: escapeAsPhp },
  ),
  reserialised({ word: 'with-body-sorted', how: 'with sorted members' }, { ...compact, sorted: true }),
  reserialised({ word: 'with-body-indented', how: 'with indentation' }, { ...compact, colon: ': ', indent: '  ' }),
  reserialised(
    { word: 'with-body-indented-by-4', how: 'with an indentation of 4' },
    { ...compact, colon: ': ', indent: '    ' },
  ),
  textOfBody(
    'with-body-trimmed',
    'The body was trimmed before it was signed',
    'the body is trimmed before it is signed',
    (text) => text.trim(),
  ),
  textOfBody(
    'with-body-lf',
    'CR LF in the body became LF before it was signed',
    'CR LF in the body is signed as LF',
    (text) => text.replaceAll('\r\n', '\n'),
  ),
  textOfBody(
    'with-body-crlf',
    'LF in the body became CR LF before it was signed',
    'LF in the body is signed as CR LF',
    (text) => text.replace(/\r?\n/g, '\r\n'),
  ),
  textOfBody(
    'with-body-unescaped',
    '\\u escapes of the body were resolved before it was signed',
    '\\u escapes of the body are resolved before it is signed',
    (text) => text.replace(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
  ),
  textOfBody(
    'with-body-as-json-text',
    'The body was JSON-encoded twice',
    'the body is JSON-encoded once more',
    (text) => JSON.stringify(text),
  ),
  textOfBody(
    'with-params-only',
    'Only the params of the body were signed',
    'only the params of the body are signed',
    (text) => {
      const whole = parseJson(utf8(text))
      return isObject(whole) && whole.params !== undefined ? writeJson(whole.params, styleOf(utf8(text))) : text
    },
  ),
  textOfBody(
    'with-body-percent-encoded',
    'The body was percent-encoded before it was signed',
    'the body is percent-encoded',
    (text) => encodeURIComponent(text),
  ),
  bytesOfBody(
    'with-empty-body',
    'The body was left out of the signed data',
    'an empty body is signed',
    () => new Uint8Array(0),
  ),
  bytesOfBody('with-body-latin-1', 'The body was signed in ISO 8859-1', 'the body is signed in ISO 8859-1', (raw) =>
    latin1(fromUtf8(raw) ?? ''),
  ),
  bytesOfBody(
    'with-body-utf8-twice',
    'The UTF-8 of the body was encoded a second time',
    'the body is encoded twice',
    (raw) => utf8(fromLatin1(raw)),
  ),
  bytesOfBody('with-body-utf16', 'The body was signed in UTF-16', 'the body is signed in UTF-16', (raw) =>
    utf16(fromUtf8(raw)),
  ),
  bytesOfBody(
    'with-body-bom',
    'The body was signed with a byte order mark',
    'a byte order mark is signed before the body',
    (raw) => concat(Uint8Array.of(0xef, 0xbb, 0xbf), raw),
  ),
  bytesOfBody(
    'without-body-bom',
    'The byte order mark of the body was not signed',
    'the byte order mark is not signed',
    (raw) => (raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? raw.slice(3) : raw),
  ),
  bytesOfBody(
    'with-body-hash',
    'The SHA-256 of the body was signed in its place',
    'the SHA-256 of the body is signed',
    (raw) => utf8(toHex(sha256(raw))),
  ),
  bytesOfBody(
    'with-body-base64',
    'The BASE64 of the body was signed in its place',
    'the BASE64 of the body is signed',
    (raw) => utf8(toBase64(raw)),
  ),
]

/** A mistake in the text of the body. */
export function textOfBody(word: string, title: string, when: string, change: (text: string) => string): KnownMistake {
  return bytesOfBody(word, title, when, (raw) => {
    const text = fromUtf8(raw)
    return text === null ? null : utf8(change(text))
  })
}

/** A mistake in the bytes of the body. */
export function bytesOfBody(
  word: string,
  title: string,
  when: string,
  change: (raw: Uint8Array) => Uint8Array | null,
): KnownMistake {
  return bodyMistake({ id: `data/${word}`, title, requirement, fix: asSent, when }, change)
}

/** Little endian, without a byte order mark. */
export function utf16(text: string | null): Uint8Array | null {
  if (text === null) return null
  return Uint8Array.from(text.split('').flatMap((unit) => [unit.charCodeAt(0) & 0xff, unit.charCodeAt(0) >> 8]))
}
