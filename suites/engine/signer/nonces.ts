/** Nonces of every form that the document allows, and such as make a signature that a careless server reads wrongly. */
import type { Random } from '../random.ts'
import { toBase64, utf8 } from './bytes.ts'
import { ed25519Sign } from './ed25519.ts'
import { hmacSha256 } from './hmac.ts'

/**
 * What a nonce looks like; base64 unless given, `marks` is base64 that ends in `////++++`. With `leading-zero` the most significant byte of the
 * MAC, or of S in an ED25519 signature, is zero; with `trailing-zero` the least significant one.
 */
export type NonceKind = 'digits' | 'padded' | 'letters' | 'marks' | 'leading-zero' | 'trailing-zero'

interface Key {
  readonly secret?: string | undefined
  /** Of an ED25519 key. */
  readonly seed?: Uint8Array | undefined
}

/** A new nonce. */
export function nonceOf(kind: NonceKind | undefined, values: Random): string {
  const bytes = values.bytes(24)
  if (kind === 'digits') return `00${Array.from(bytes.slice(0, 22), (byte) => byte % 10).join('')}`
  if (kind === 'padded') return toBase64(bytes.slice(0, 16))
  if (kind === 'marks') return `${toBase64(bytes.slice(0, 12))}////++++`
  if (kind === 'letters')
    return Array.from(bytes, (byte) => String.fromCharCode((byte & 32 ? 65 : 97) + (byte % 26))).join('')
  return toBase64(bytes)
}

/** One nonce of 256 makes a MAC with a zero byte at a given place; the last byte of S in an ED25519 signature is zero in one of 16. */
const mostNonces = 8000

interface Making {
  next(kind: NonceKind | undefined): string
  /** The data to sign with a nonce. */
  dataWith(nonce: string): string
}

/** A nonce for a call that a key signs; null if none was found that makes such a signature. */
export function nonceFor(
  kind: NonceKind | undefined,
  { secret = '', seed }: Key,
  { next, dataWith }: Making,
): string | null {
  if (kind !== 'leading-zero' && kind !== 'trailing-zero') return next(kind)
  const sign = (data: Uint8Array): Uint8Array =>
    seed === undefined ? hmacSha256(utf8(secret), data) : ed25519Sign(seed, data)
  // S is written with its lowest byte first.
  const [first, last] = seed === undefined ? [0, 19] : [63, 32]
  const at = kind === 'leading-zero' ? first : last
  for (let tried = 0; tried < mostNonces; tried++) {
    const nonce = next(undefined)
    if (sign(utf8(dataWith(nonce)))[at] === 0) return nonce
  }
  return null
}
