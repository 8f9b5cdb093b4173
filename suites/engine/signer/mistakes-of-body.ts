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
import { type KnownMistake, ofBody } from './mistake.ts'

/** A body that was parsed and written in the first style that changes it; styles say how they differ from `compact`. */
export const reserialised = (word: string, how: string, ...styles: Partial<Style>[]): KnownMistake =>
  ofBody(word, `the body is parsed and written again ${how} before it is signed`, (body) => {
    const written = styles.map((style) => rewrite(body, { ...compact, ...style }))
    return written.find((bytes) => bytes !== null && fromLatin1(bytes) !== fromLatin1(body)) ?? null
  })

export const bodyMistakes: readonly KnownMistake[] = [
  // For fixtures: the first style that changes the bytes. The diagnosis looks for each style under its own name.
  { ...reserialised('with-body-reserialised', 'with other spacing', spaced, compact), found: false },
  reserialised('with-body-compact', 'without white space (as JSON.stringify does)', compact),
  reserialised('with-body-spaced', 'with spaces (as json.dumps of Python does)', spaced),
  reserialised('with-body-python-escapes', 'with spaces and \\u escapes (as json.dumps of Python does)', {
    ...spaced,
    escape: escapeNonAscii,
  }),
  reserialised('with-body-ascii', 'without white space and with \\u escapes', { escape: escapeNonAscii }),
  reserialised('with-body-go-escapes', 'with <, > and & escaped (as encoding/json of Go does)', {
    escape: escapeMarksOfGo,
  }),
  reserialised('with-body-php-escapes', 'with \\/ and \\u escapes (as json_encode of PHP does)', {
    escape: escapeAsPhp,
  }),
  reserialised('with-body-sorted', 'with sorted members', { sorted: true }),
  reserialised('with-body-indented', 'with indentation', { colon: ': ', indent: '  ' }),
  reserialised('with-body-indented-by-4', 'with an indentation of 4', { colon: ': ', indent: '    ' }),
  textOfBody('with-body-trimmed', 'the body is trimmed before it is signed', (text) => text.trim()),
  textOfBody('with-body-lf', 'CR LF in the body is signed as LF', (text) => text.replaceAll('\r\n', '\n')),
  textOfBody('with-body-crlf', 'LF in the body is signed as CR LF', (text) => text.replace(/\r?\n/g, '\r\n')),
  textOfBody('with-body-unescaped', '\\u escapes of the body are resolved before it is signed', (text) =>
    text.replace(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
  ),
  textOfBody('with-body-as-json-text', 'the body is JSON-encoded twice', (text) => JSON.stringify(text)),
  textOfBody('with-params-only', 'only the params of the body are signed', (text) => {
    const whole = parseJson(utf8(text))
    return isObject(whole) && whole.params !== undefined ? writeJson(whole.params, styleOf(utf8(text))) : text
  }),
  textOfBody('with-body-percent-encoded', 'the body is percent-encoded before it is signed', (text) =>
    encodeURIComponent(text),
  ),
  ofBody('with-empty-body', 'the body is left out of the signed data', () => new Uint8Array(0)),
  ofBody('with-body-latin-1', 'the body is signed in ISO 8859-1', (raw) => latin1(fromUtf8(raw) ?? '')),
  ofBody('with-body-utf8-twice', 'the UTF-8 of the body is encoded a second time', (raw) => utf8(fromLatin1(raw))),
  ofBody('with-body-utf16', 'the body is signed in UTF-16', (raw) => utf16(fromUtf8(raw))),
  ofBody('with-body-bom', 'the body is signed with a byte order mark', (raw) =>
    concat(Uint8Array.of(0xef, 0xbb, 0xbf), raw),
  ),
  ofBody('without-body-bom', 'the byte order mark of the body is not signed', (raw) =>
    raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? raw.slice(3) : raw,
  ),
  ofBody('with-body-hash', 'the SHA-256 of the body is signed in its place', (raw) => utf8(toHex(sha256(raw)))),
  ofBody('with-body-base64', 'the BASE64 of the body is signed in its place', (raw) => utf8(toBase64(raw))),
]

/** A mistake in the text of the body. */
export function textOfBody(word: string, when: string, change: (text: string) => string): KnownMistake {
  return ofBody(word, when, (raw) => {
    const text = fromUtf8(raw)
    return text === null ? null : utf8(change(text))
  })
}

/** Little endian, without a byte order mark. */
export function utf16(text: string | null): Uint8Array | null {
  if (text === null) return null
  return Uint8Array.from(text.split('').flatMap((unit) => [unit.charCodeAt(0) & 0xff, unit.charCodeAt(0) >> 8]))
}
