/** Bytes and their texts. Works in node and in browsers alike: no Buffer. */
import { hexToBytes } from '@noble/hashes/utils.js'

/** Lower-case hex; and one array after the other. */
export { bytesToHex as toHex, concatBytes as concat } from '@noble/hashes/utils.js'

const encoder = new TextEncoder()
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The UTF-8 bytes of a text. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}

/** The text of UTF-8 bytes (a byte order mark is kept), or null where the bytes are not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | null {
  try {
    return strictDecoder.decode(bytes)
  } catch {
    return null
  }
}

/** The text with `%41` as `A`; unchanged where a percent sign begins nothing. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** One character per byte (ISO 8859-1). */
export function fromLatin1(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at++) text += String.fromCharCode(bytes[at] ?? 0)
  return text
}

/** One byte per character, or null where a character has none. */
export function latin1(text: string): Uint8Array | null {
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code > 0xff) return null
    bytes[at] = code
  }
  return bytes
}

/** The bytes of hex in either case, or null where the text is not hex. */
export function fromHex(text: string): Uint8Array | null {
  return text.length % 2 === 0 && /^[0-9a-fA-F]*$/.test(text) ? hexToBytes(text) : null
}

/** BASE64 of RFC 4648 §4, with padding. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(fromLatin1(bytes))
}

/** The bytes of canonical, padded BASE64; null for anything else (base64url, missing padding, stray last bits). */
export function fromBase64Strict(text: string): Uint8Array | null {
  const bytes = decodeBase64(text)
  return bytes !== null && toBase64(bytes) === text ? bytes : null
}

/** The bytes of base64 or base64url, padded or not; null for anything else. */
export function fromBase64Loose(text: string): Uint8Array | null {
  const plain = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
  return decodeBase64(plain)
}

/** base64url of RFC 4648 §5, with padding: what a change of alphabet alone makes. */
export function toBase64url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_')
}

/** Whether two byte arrays are the same. Not in constant time: this is the side that knows the secret. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

function decodeBase64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null
  try {
    return latin1(atob(text))
  } catch {
    return null
  }
}

/** Text as lines for people, without loss: their ends are visible, and bytes that are not UTF-8 are \x escapes. */
export function visibleLines(given: Uint8Array | string): string[] {
  const text = typeof given === 'string' ? given : (fromUtf8(given) ?? [...given].map(asciiOrEscape).join(''))
  const shown = text
    .replaceAll('\r', '␍')
    .replaceAll('\t', '␉')
    .replaceAll('\ufeff', '\\ufeff')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a terminal
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, (mark) => `\\x${mark.charCodeAt(0).toString(16).padStart(2, '0')}`)
  const lines = shown.split('\n')
  const last = lines.pop() ?? ''
  return [...lines.map((line) => `${line}␊`), ...(last === '' ? [] : [last])]
}

function asciiOrEscape(byte: number): string {
  return byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`
}
