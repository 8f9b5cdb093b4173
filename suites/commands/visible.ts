/** Bytes and quoted text for a terminal, with visible line ends and without loss. */
import { printableLines } from '../engine/printable.ts'
import { fromUtf8, toBase64 } from '../engine/signer/bytes.ts'

/** Lines with their ends visible; bytes that are not UTF-8 as \x escapes. */
export function visibleLines(bytes: Uint8Array): string[] {
  const text = fromUtf8(bytes) ?? [...bytes].map(asciiOrEscape).join('')
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

/** Hex in rows of 32 bytes. */
export function hexRows(hex: string): string[] {
  return hex.match(/.{1,64}/g)?.map((row) => row.replace(/(.{8})(?=.)/g, '$1 ')) ?? []
}

/** A curl line that sends these bytes with this header. */
export function curlLine(url: string, method: string, header: string, body: Uint8Array): string {
  const text = fromUtf8(body)
  const head = `curl -sS -X ${method} ${quoted(url)} -H 'Content-Type: application/json' -H ${quoted(`Authorization: ${header}`)}`
  // A shell word cannot hold NUL or bytes that are not text, and unprintable characters would be printed differently.
  return text === null || printableLines(text) !== text
    ? `printf %s ${toBase64(body)} | openssl base64 -d -A | ${head} --data-binary @-`
    : `${head} --data-raw ${quoted(text)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function asciiOrEscape(byte: number): string {
  return byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`
}
