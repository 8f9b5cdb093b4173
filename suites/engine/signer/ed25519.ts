/** Ed25519 (RFC 8032) over @noble/ed25519, and the forms of it that only a mistake makes. */
import { hashes, Point, utils, verify } from '@noble/ed25519'
import { concat, sameBytes, toHex, utf8 } from './bytes.ts'
import { ofFewKeys, sha512 } from './hmac.ts'

// noble's synchronous functions hash with what is set here.
hashes.sha512 = (data) => sha512(data) as Uint8Array<ArrayBuffer>

/** The prefix of Ed25519ph: dom2(1, "") of RFC 8032 §2. Plain Ed25519 has none. */
export const prehashDomain = concat(utf8('SigEd25519 no Ed25519 collisions'), Uint8Array.of(1, 0))
export const noDomain: Uint8Array = new Uint8Array(0)

/** Length of a signature: R and S, 32 bytes each. */
export const signatureBytes = 64

const order = Point.CURVE().n

type Expanded = ReturnType<typeof utils.getExtendedPublicKey>

/** Half of the work of a signature (RFC 8032 §5.1.5), done once for a seed, because a run signs often with few keys. */
const expand = ofFewKeys(toHex, (seed): Expanded => utils.getExtendedPublicKey(seed))

/** The 32-byte public key of a 32-byte seed. */
export function publicKeyOfSeed(seed: Uint8Array): Uint8Array {
  return expand(seed).pointBytes
}

/** Why 32 bytes are not a usable public key, as in `its point has a small order`; null for a usable one (RFC 8032 §5.1.3). */
export function publicKeyProblem(publicKey: Uint8Array): string | null {
  try {
    const isWeak = Point.fromBytes(publicKey).isSmallOrder()
    return isWeak ? 'its point has a small order, so signatures by it prove nothing' : null
  } catch {
    return 'its point is not on the curve'
  }
}

/** Makes the 64-byte signature of data with a seed of 32 bytes. */
type Ed25519 = (seed: Uint8Array, data: Uint8Array) => Uint8Array

/**
 * The 64-byte signature of `data` (signatures/ecc); with a domain prefix as Ed25519ph has it, over the SHA-512 of the data.
 *
 * @param sign makes it where there is no prefix; noble unless given
 */
export function ed25519Sign(
  seed: Uint8Array,
  data: Uint8Array,
  domain = noDomain,
  sign: Ed25519 = (...input) => signWithNoble(...input, noDomain),
): Uint8Array {
  if (domain.length > 0) return signWithNoble(seed, data, domain)
  const signature = sign(seed, data)
  const [oldest] = lastSigned.keys()
  if (oldest !== undefined && lastSigned.size >= mostRemembered) lastSigned.delete(oldest)
  lastSigned.set(toHex(signature), { publicKey: publicKeyOfSeed(seed), data })
  return signature
}

function signWithNoble(seed: Uint8Array, data: Uint8Array, domain: Uint8Array): Uint8Array {
  const { prefix, scalar, pointBytes } = expand(seed)
  // RFC 8032 §5.1.6: r = H(dom || prefix || M), R = rB, S = r + H(dom || R || A || M) s.
  const r = littleEndian(sha512(concat(domain, prefix, data))) % order
  const commitment = Point.BASE.multiply(r).toBytes()
  const challenge = littleEndian(sha512(concat(domain, commitment, pointBytes, data))) % order
  return concat(commitment, toLittleEndian((r + challenge * scalar) % order))
}

/** What was signed last, by the hex of its signature. A signature fits the data for which it was made, and no other. */
const lastSigned = new Map<string, { readonly publicKey: Uint8Array; readonly data: Uint8Array }>()
const mostRemembered = 16

/** Whether a signature is right in the strict sense of RFC 8032: canonical, S below L. Never throws. */
export function ed25519Verify(publicKey: Uint8Array, data: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(signature, data, publicKey, { zip215: false })
  } catch {
    return false
  }
}

/**
 * The same answer for many signatures of one key: what depends on the key alone is computed once. Strict as RFC 8032: S below L, and R
 * compared as bytes, so that only its canonical form fits. Signatures that were made here a moment ago need no computation.
 *
 * @returns weak: the signature fits, but its R has a small order
 */
export function ed25519Verifier(
  publicKey: Uint8Array,
): (data: Uint8Array, signature: Uint8Array) => 'right' | 'weak' | 'wrong' {
  let point: Point
  try {
    point = Point.fromBytes(publicKey).negate()
  } catch {
    return () => 'wrong'
  }
  let keyTimes: ((scalar: bigint) => Point) | undefined
  // One signature is often checked against several data.
  let last: { readonly s: bigint; readonly times: Point } | undefined
  return (data, signature) => {
    const signed = lastSigned.get(toHex(signature))
    if (signed !== undefined && sameBytes(signed.publicKey, publicKey))
      return sameBytes(signed.data, data) ? 'right' : 'wrong'
    const s = littleEndian(signature.subarray(32, 64))
    if (signature.length !== signatureBytes || s >= order) return 'wrong'
    const commitment = signature.subarray(0, 32)
    const challenge = littleEndian(sha512(concat(commitment, publicKey, data))) % order
    keyTimes ??= windowed(point)
    // R = S·B − k·A.
    if (last?.s !== s) last = { s, times: baseTimes(s) }
    const expected = last.times.add(keyTimes(challenge))
    if (!sameBytes(expected.toBytes(), commitment)) return 'wrong'
    return expected.isSmallOrder() ? 'weak' : 'right'
  }
}

/** A check of one signature against many candidates; the half of the equation without the data is computed once. */
export function ed25519Matcher(
  publicKey: Uint8Array,
  signature: Uint8Array,
): (data: Uint8Array, domain?: Uint8Array) => boolean {
  let left: Point
  let keyTimes: (scalar: bigint) => Point
  try {
    const commitment = Point.fromBytes(signature.subarray(0, 32))
    keyTimes = windowed(Point.fromBytes(publicKey))
    // S·B = R + k·A of RFC 8032 §5.1.7, written as S·B − R = k·A.
    left = baseTimes(littleEndian(signature.subarray(32, 64)) % order).subtract(commitment)
  } catch {
    return () => false
  }
  return (data, domain = noDomain) => {
    const challenge = littleEndian(sha512(concat(domain, signature.subarray(0, 32), publicKey, data))) % order
    return keyTimes(challenge).equals(left)
  }
}

/** The same signature with L added to S: mathematically right, and forbidden by RFC 8032 (signatures/ecc-malleability). */
export function withHighS(signature: Uint8Array): Uint8Array {
  return concat(signature.subarray(0, 32), toLittleEndian(littleEndian(signature.subarray(32, 64)) + order))
}

/** The canonical form of a signature whose S is not below L, or null where it is. */
export function withLowS(signature: Uint8Array): Uint8Array | null {
  const s = littleEndian(signature.subarray(32, 64))
  return s < order ? null : concat(signature.subarray(0, 32), toLittleEndian(s % order))
}

/** A signature whose R is the neutral point: the equation of RFC 8032 holds for it, yet R has small order (signatures/weak-keys). */
export function ed25519SignWithNeutralR(seed: Uint8Array, data: Uint8Array): Uint8Array {
  const { scalar, pointBytes } = expand(seed)
  // r = 0, so R = 0·B and S = k·s.
  const commitment = Point.ZERO.toBytes()
  const challenge = littleEndian(sha512(concat(commitment, pointBytes, data))) % order
  return concat(commitment, toLittleEndian((challenge * scalar) % order))
}

function baseTimes(scalar: bigint): Point {
  return scalar === 0n ? Point.ZERO : Point.BASE.multiply(scalar, false)
}

/** Multiplication of one point by many scalars: 64 additions each, out of a table of its multiples by every hex digit. */
function windowed(point: Point): (scalar: bigint) => Point {
  const table: Point[][] = []
  let unit = point
  for (let digit = 0; digit < 64; digit++) {
    const row = [Point.ZERO]
    for (let times = 1; times <= 16; times++) row.push((row[times - 1] ?? Point.ZERO).add(unit))
    table.push(row)
    unit = row[16] ?? unit
  }
  return (scalar) => {
    let sum = Point.ZERO
    let rest = scalar
    for (const row of table) {
      sum = sum.add(row[Number(rest & 15n)] ?? Point.ZERO)
      rest >>= 4n
    }
    return sum
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  let number = 0n
  for (let at = bytes.length - 1; at >= 0; at--) number = (number << 8n) | BigInt(bytes[at] ?? 0)
  return number
}

function toLittleEndian(number: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number((number >> BigInt(8 * at)) & 0xffn))
}
