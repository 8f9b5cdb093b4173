/** Ed25519 keys in PEM: SPKI for the public key, PKCS#8 for the private key (RFC 8410). */
import { concat, fromBase64Loose, fromHex, sameBytes, toBase64 } from './bytes.ts'
import { publicKeyOfSeed } from './ed25519.ts'

const spkiPrefix = fromHex('302a300506032b6570032100') as Uint8Array
/** Everything of a PKCS#8 file before the seed. */
export const pkcs8Prefix = fromHex('302e020100300506032b657004220420') as Uint8Array

export interface Ed25519KeyPair {
  seed: Uint8Array
  /** SPKI, lines joined by LF, as `publicKey` of manager/createApiKey wants it. */
  publicKeyPem: string
  /** PKCS#8. */
  privateKeyPem: string
}

/** The key pair of a 32-byte seed. */
export function ed25519KeyPair(seed: Uint8Array): Ed25519KeyPair {
  return { seed, publicKeyPem: publicKeyToPem(publicKeyOfSeed(seed)), privateKeyPem: seedToPkcs8(seed) }
}

/** SPKI PEM of a 32-byte public key. */
export function publicKeyToPem(publicKey: Uint8Array): string {
  return pem('PUBLIC KEY', concat(spkiPrefix, publicKey)).trimEnd()
}

/** The 32-byte seed of a PKCS#8 PEM. Throws an Error that says what the text is instead. */
export function seedFromPkcs8(text: string): Uint8Array {
  const der = derOf(text, 'PRIVATE KEY')
  if (der.length < 48 || !sameBytes(der.subarray(0, 16), pkcs8Prefix)) {
    throw new Error('Expected an Ed25519 private key in PKCS#8, got another kind of key')
  }
  return der.slice(16, 48)
}

/** The 32-byte public key of an SPKI PEM. Throws an Error that says what the text is instead. */
export function publicKeyFromPem(text: string): Uint8Array {
  const der = derOf(text, 'PUBLIC KEY')
  if (der.length !== 44 || !sameBytes(der.subarray(0, 12), spkiPrefix)) {
    throw new Error('Expected an Ed25519 public key in SPKI, got another kind of key')
  }
  return der.slice(12)
}

function seedToPkcs8(seed: Uint8Array): string {
  return pem('PRIVATE KEY', concat(pkcs8Prefix, seed))
}

function pem(label: string, der: Uint8Array): string {
  return `-----BEGIN ${label}-----\n${toBase64(der)}\n-----END ${label}-----\n`
}

function derOf(text: string, label: string): Uint8Array {
  const found = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/.exec(text)
  if (found === null) throw new Error(`Expected a PEM that begins with "-----BEGIN ${label}-----"`)
  if (found[1] !== label) throw new Error(`Expected a PEM labelled "${label}", got "${found[1]}"`)
  const der = fromBase64Loose((found[2] ?? '').replace(/\s/g, ''))
  if (der === null) throw new Error(`Expected BASE64 inside the PEM labelled "${label}"`)
  return der
}
