/** HMAC of RFC 2104, built from its two paddings over a plain hash. */
import { md5, sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { concat } from './bytes.ts'

export { md5, sha1, sha256, sha512 }

/** How many bytes of the MAC are sent (signatures/hmac-length). */
export const macBytesSent = 20

interface Hash {
  (data: Uint8Array): Uint8Array
  readonly blockLen: number
}

function hmac(hash: Hash, key: Uint8Array, data: Uint8Array): Uint8Array {
  // RFC 2104 §2: a key longer than a block is hashed first, then filled with zeros to a block.
  const shortKey = key.length > hash.blockLen ? hash(key) : key
  const inner = new Uint8Array(hash.blockLen).fill(0x36)
  const outer = new Uint8Array(hash.blockLen).fill(0x5c)
  shortKey.forEach((byte, at) => {
    inner[at] = byte ^ 0x36
    outer[at] = byte ^ 0x5c
  })
  return hash(concat(outer, hash(concat(inner, data))))
}

/** HMAC-SHA256, 32 bytes. */
export function hmacSha256(key: Uint8Array, data: Uint8Array): Uint8Array {
  return hmac(sha256, key, data)
}

/** HMAC-SHA1, 20 bytes: only ever a mistake here. */
export function hmacSha1(key: Uint8Array, data: Uint8Array): Uint8Array {
  return hmac(sha1, key, data)
}

/** HMAC-SHA384, 48 bytes: only ever a mistake here. */
export function hmacSha384(key: Uint8Array, data: Uint8Array): Uint8Array {
  return hmac(sha384, key, data)
}

/** HMAC-SHA512, 64 bytes: only ever a mistake here. */
export function hmacSha512(key: Uint8Array, data: Uint8Array): Uint8Array {
  return hmac(sha512, key, data)
}
