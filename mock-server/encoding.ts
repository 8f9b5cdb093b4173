import { isAscii, isUtf8 } from 'node:buffer'
import { createPublicKey, type KeyObject } from 'node:crypto'

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

/**
 * The text of the id of a request, as it was sent: JSON.parse rounds integers beyond 2^53. Undefined where the id is not a number, or where
 * the text is not an object. Of several ids the last one counts, as in JSON.parse.
 */
export function rawId(json: string): string | undefined {
  let depth = 0
  let found: string | undefined
  let name: string | undefined
  for (const { 0: token, index } of json.matchAll(tokens)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === '}' || token === ']') depth -= 1
    else if (depth === 1 && token === ':') {
      if (name === 'id') found = numberAt(json, index + 1)
    } else if (depth === 1) name = JSON.parse(token) as string
  }
  return found
}

/** Strings, and the signs of the structure outside of them. */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g

const number = /\s*(-?\d[\d.eE+-]*)/y

function numberAt(json: string, index: number): string | undefined {
  number.lastIndex = index
  return number.exec(json)?.[1]
}

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

/** The y coordinates of the points of order 1, 2, 4 and 8, least byte first. */
const smallOrderY = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
])

/** At and above 2^255 - 19, in hexadecimal as above: numbers that are not in their canonical encoding. */
const beyondField = /^(?:e[d-f]|f.)(?:ff){30}7f$/

/** signatures/weak-keys: a point of small order, with which anyone can sign, or one not in its canonical encoding. */
export function isWeakPoint(point: Buffer): boolean {
  // Quick way out: all small-order and non-canonical encodings begin with one of these bytes.
  const first = point[0] ?? 0
  if (first > 1 && first !== 0x26 && first !== 0xc7 && first < 0xec) return false
  const y = Buffer.from(point)
  // The highest bit is the sign of x.
  y[31] = (y[31] ?? 0) & 0x7f
  const hex = y.toString('hex')
  return smallOrderY.has(hex) || beyondField.test(hex)
}
