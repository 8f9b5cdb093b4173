/** Hashes, and HMAC of RFC 2104. */
import { hmac } from '@noble/hashes/hmac.js'
import { md5, sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import type { CHash } from '@noble/hashes/utils.js'
import { fromLatin1 } from './bytes.ts'

export { md5, sha1, sha256, sha384, sha512 }

/** A run has few keys, and a search through many mistakes returns to the same ones; a search through many keys must not keep them all. */
const mostKept = 32

/** Makes something of a key once, as long as there are few keys. @param nameOf the same text for the same key */
export function ofFewKeys<T>(
  nameOf: (key: Uint8Array) => string,
  make: (key: Uint8Array) => T,
): (key: Uint8Array) => T {
  const made = new Map<string, T>()
  return (key) => {
    const name = nameOf(key)
    const one = made.get(name) ?? make(key)
    if (!made.has(name) && made.size >= mostKept) made.clear()
    made.set(name, one)
    return one
  }
}

/** How many bytes of the MAC are sent (signatures/hmac-length). */
export const macBytesSent = 20

/** An HMAC that computes the blocks of a key once: for short data, these are a third of the work. */
export function hmacOver(hash: CHash): (key: Uint8Array, data: Uint8Array) => Uint8Array {
  // One for all, because allocating them takes as long as hashing.
  const copy = hmac.create(hash, new Uint8Array(0))
  const forKey = ofFewKeys(fromLatin1, (key) => hmac.create(hash, key))
  return (key, data) => forKey(key)._cloneInto(copy).update(data).digest()
}

/** HMAC-SHA256, 32 bytes; over any other hash it is only ever a mistake here. */
export const hmacSha256 = hmacOver(sha256)
