import { isAscii, isUtf8 } from 'node:buffer'

/** Whether two texts are equal, compared in a time that does not depend on where they differ; their lengths are not secret. */
export function sameText(received: string, expected: string): boolean {
  if (received.length !== expected.length) return false
  let difference = 0
  for (let at = 0; at < expected.length; at += 1) difference |= received.charCodeAt(at) ^ expected.charCodeAt(at)
  return difference === 0
}

/**
 * The bytes of a BASE64 text, or undefined. Strict by encoding again: Buffer alone also takes base64url, junk, missing padding
 * and stray last bits.
 */
export function decodeBase64(text: string, options: { unpadded?: boolean } = {}): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  const again = bytes.toString('base64')
  if (again === text) return bytes
  return options.unpadded && again.replace(/=+$/, '') === text ? bytes : undefined
}

/** The text of UTF-8 bytes, or undefined when they are not valid UTF-8 or begin with a byte order mark. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  if (isAscii(bytes)) return bytes.toString('latin1')
  if (!isUtf8(bytes) || (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)) return undefined
  return bytes.toString('utf8')
}
