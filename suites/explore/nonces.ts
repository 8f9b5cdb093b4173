/** Nonces of every form that the document allows, and such as make a signature that a careless server reads wrongly. */
import type { Random } from '../engine/random.ts'
import { toBase64, utf8 } from '../engine/signer/bytes.ts'
import { ed25519Sign } from '../engine/signer/ed25519.ts'
import { hmacSha256 } from '../engine/signer/hmac.ts'
import type { CallStep, Value } from './step.ts'

type NonceKind = CallStep['nonce']

/** A new nonce. */
export function nonceOf(kind: NonceKind, values: Random): string {
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
  next(kind: NonceKind): string
  /** The data to sign with a nonce. */
  dataWith(nonce: string): string
}

/** A nonce for a call that a key signs; null if none was found that makes such a signature. */
export function nonceFor(kind: NonceKind, { secret = '', seed }: Value, { next, dataWith }: Making): string | null {
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
