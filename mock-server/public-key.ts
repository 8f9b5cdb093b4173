import { createPublicKey, type KeyObject } from 'node:crypto'
import { decodeBase64 } from './encoding.ts'

/** What `readPublicKey` accepts; the defaults are those of the document. */
interface PublicKeyLimits {
  /** PEM labels. */
  labels?: string[]
  /** `asymmetricKeyType` of node:crypto. */
  types?: string[]
  /** Accepts points of small order and non-canonical encodings. */
  weak?: boolean
}

const pemShape = /^-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+?)\r?\n-----END \1-----(?:\r?\n)?$/

/**
 * keys/public-key-material: the key of an ED25519 public key in PEM form, or undefined. LF or CRLF, with or without a final line feed.
 * The label is looked at first, since createPublicKey also takes a private key and certificates.
 */
export function readPublicKey(pem: unknown, limits: PublicKeyLimits = {}): KeyObject | undefined {
  if (typeof pem !== 'string' || pem.length > 8192) return undefined
  const [, label, base64] = pemShape.exec(pem) ?? []
  if (label === undefined || base64 === undefined) return undefined
  if (!(limits.labels ?? ['PUBLIC KEY']).includes(label)) return undefined
  const der = decodeBase64(base64.replaceAll(/[\r\n]/g, ''))
  if (der === undefined) return undefined
  const found = (label === 'PUBLIC KEY' ? plainKey(der) : undefined) ?? anyKey(pem)
  if (found === undefined || !(limits.types ?? ['ed25519']).includes(found.key.asymmetricKeyType ?? ''))
    return undefined
  return found.point !== undefined && !limits.weak && isWeakPoint(found.point) ? undefined : found.key
}

interface Found {
  key: KeyObject
  /** The 32 bytes of an ED25519 public key. */
  point?: Buffer
}

/** The bytes before the point (RFC 8410, 4). */
const ed25519Prefix = Buffer.from('302a300506032b6570032100', 'hex')

/** The form of nearly every key. Reading it directly is twenty times as fast as detecting the format. */
function plainKey(der: Buffer): Found | undefined {
  if (der.length !== 44 || !der.subarray(0, 12).equals(ed25519Prefix)) return undefined
  const point = der.subarray(12)
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') }, format: 'jwk' })
  return { key, point }
}

function anyKey(pem: string): Found | undefined {
  try {
    const key = createPublicKey(pem)
    if (key.asymmetricKeyType !== 'ed25519') return { key }
    return { key, point: key.export({ type: 'spki', format: 'der' }).subarray(-32) }
  } catch {
    return undefined
  }
}

const fieldPrime = 2n ** 255n - 19n

/** The y coordinates of the points of order 1, 2, 4 and 8. */
const smallOrderY = new Set([
  0n,
  1n,
  fieldPrime - 1n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
])

/** signatures/weak-keys: a point of small order, with which anyone can sign, or one not in its canonical encoding. */
export function isWeakPoint(point: Buffer): boolean {
  // Quick way out: all small-order and non-canonical encodings begin with one of these bytes.
  const first = point[0] ?? 0
  if (first > 1 && first !== 0x26 && first !== 0xc7 && first < 0xec) return false
  let y = 0n
  for (let index = 31; index >= 0; index--) {
    const byte = point[index] ?? 0
    y = (y << 8n) | BigInt(index === 31 ? byte & 0x7f : byte)
  }
  return y >= fieldPrime || smallOrderY.has(y)
}
