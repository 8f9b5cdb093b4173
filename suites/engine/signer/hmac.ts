/** HMAC of RFC 2104, built from its two paddings over a plain hash. */
import { md5, sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { fromLatin1 } from './bytes.ts'

export { md5, sha1, sha256, sha512 }

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

/** A hash that is under way. */
interface Hashing<T> {
  update(data: Uint8Array): T
  digestInto(bytes: Uint8Array): void
  _cloneInto(to: T): T
}

interface Hash<T> {
  (data: Uint8Array): Uint8Array
  readonly blockLen: number
  readonly outputLen: number
  create(): T
}

/** Both hashes of RFC 2104 §2 after their first block, which depends on the key alone. */
interface Keyed<T> {
  inner: T
  outer: T
}

/** An HMAC that computes the blocks of a key once: for short data, these are a third of the work. */
function hmacOver<T extends Hashing<T>>(hash: Hash<T>): (key: Uint8Array, data: Uint8Array) => Uint8Array {
  // One for all, because allocating them takes as long as hashing.
  const copy = hash.create()
  const hashed = new Uint8Array(hash.outputLen)
  const forKey = ofFewKeys(fromLatin1, (key) => keyedFor(hash, key))
  return (key, data) => {
    const { inner, outer } = forKey(key)
    inner._cloneInto(copy).update(data).digestInto(hashed)
    const mac = new Uint8Array(hash.outputLen)
    outer._cloneInto(copy).update(hashed).digestInto(mac)
    return mac
  }
}

function keyedFor<T extends Hashing<T>>(hash: Hash<T>, key: Uint8Array): Keyed<T> {
  // RFC 2104 §2: a key longer than a block is hashed first, then filled with zeros to a block.
  const shortKey = key.length > hash.blockLen ? hash(key) : key
  const inner = new Uint8Array(hash.blockLen).fill(0x36)
  const outer = new Uint8Array(hash.blockLen).fill(0x5c)
  shortKey.forEach((byte, at) => {
    inner[at] = byte ^ 0x36
    outer[at] = byte ^ 0x5c
  })
  return { inner: hash.create().update(inner), outer: hash.create().update(outer) }
}

/** HMAC-SHA256, 32 bytes. */
export const hmacSha256 = hmacOver(sha256)

/** HMAC-SHA1, 20 bytes: only ever a mistake here. */
export const hmacSha1 = hmacOver(sha1)

/** HMAC-SHA384, 48 bytes: only ever a mistake here. */
export const hmacSha384 = hmacOver(sha384)

/** HMAC-SHA512, 64 bytes: only ever a mistake here. */
export const hmacSha512 = hmacOver(sha512)
