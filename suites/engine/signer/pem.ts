/** Ed25519 keys in PEM: SPKI for the public key, PKCS#8 for the private key (RFC 8410). */
import { concat, fromBase64Loose, fromHex, sameBytes, toBase64, toHex, utf8 } from './bytes.ts'
import { publicKeyOfSeed, publicKeyProblem } from './ed25519.ts'
import { md5, sha1, sha256 } from './hmac.ts'

const spkiPrefix = fromHex('302a300506032b6570032100') as Uint8Array
/** Everything of a PKCS#8 file before the seed. */
export const pkcs8Prefix = fromHex('302e020100300506032b657004220420') as Uint8Array

/** The key pair of a 32-byte seed. */
export function ed25519KeyPair(seed: Uint8Array) {
  return {
    seed,
    /** SPKI, lines joined by LF, as `publicKey` of manager/createApiKey wants it. */
    publicKeyPem: publicKeyToPem(publicKeyOfSeed(seed)),
    /** PKCS#8. */
    privateKeyPem: pem('PRIVATE KEY', concat(pkcs8Prefix, seed)),
  }
}

/** SPKI PEM of a 32-byte public key. */
export function publicKeyToPem(publicKey: Uint8Array): string {
  return pem('PUBLIC KEY', concat(spkiPrefix, publicKey)).trimEnd()
}

/**
 * The 32-byte seed of a PKCS#8 PEM, also of one that carries the public key too (version 2 of RFC 5958).
 *
 * @throws Error that says what the text is instead
 */
export function seedFromPkcs8(text: string): Uint8Array {
  const der = derOf(text, 'PRIVATE KEY')
  const behindVersion = sameBytes(der.subarray(5, 16), pkcs8Prefix.subarray(5))
  if (der.length < 48 || der[0] !== 0x30 || !behindVersion) {
    throw new Error('expected an Ed25519 private key in PKCS#8, got another kind of key')
  }
  return der.slice(16, 48)
}

/**
 * The 32-byte public key of an SPKI PEM.
 *
 * @throws Error that says what the text is instead, or why the key is unusable (signatures/weak-keys)
 */
export function publicKeyFromPem(text: string): Uint8Array {
  const der = derOf(text, 'PUBLIC KEY')
  if (der.length !== 44 || !sameBytes(der.subarray(0, 12), spkiPrefix)) {
    throw new Error('expected an Ed25519 public key in SPKI, got another kind of key')
  }
  const publicKey = der.slice(12)
  const problem = publicKeyProblem(publicKey)
  if (problem !== null) throw new Error(`expected a usable Ed25519 public key: ${problem}`)
  return publicKey
}

function pem(label: string, der: Uint8Array): string {
  return `-----BEGIN ${label}-----\n${toBase64(der)}\n-----END ${label}-----\n`
}

/** What to do with a PEM that is neither a public nor a private key, by its label. */
const otherLabels: { [label: string]: string } = {
  CERTIFICATE: 'a certificate: "openssl x509 -in FILE -pubkey -noout" prints its public key',
  'ENCRYPTED PRIVATE KEY': 'an encrypted key: "openssl pkey -in FILE -out PLAIN" decrypts it',
  'OPENSSH PRIVATE KEY': 'a key of OpenSSH, which is not PKCS#8',
}

function derOf(text: string, label: string): Uint8Array {
  // A variable or a JSON file often holds a backslash and an n where the line feeds were.
  const pem = text.replace(/\\r|\\n/g, '\n')
  const blocks = [...pem.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/g)]
  const found = blocks.find((block) => block[1] === label)
  const other = blocks[0]?.[1]
  if (found === undefined && other !== undefined) {
    throw new Error(`expected a PEM labelled "${label}", got ${otherLabels[other] ?? `"${other}"`}`)
  }
  if (found === undefined) throw new Error(`expected a PEM that begins with "-----BEGIN ${label}-----"`)
  const der = fromBase64Loose((found[2] ?? '').replace(/\s/g, ''))
  if (der === null) throw new Error(`expected BASE64 inside the PEM labelled "${label}"`)
  return der
}

const digests = { md5, sha1, sha256 }
const spellings = { Hex: toHex, Base64: toBase64 }

/**
 * Secrets that anyone can compute from a public key, by name such as `sha256PemHex`: the digest of the PEM as created or of the 32 raw
 * bytes, in hex or base64. A server that makes the secret of a key in such a way lets in everyone who knows the public key.
 */
export function derivedSecrets(publicKey: Uint8Array): { [name: string]: string } {
  const sources = { Pem: utf8(publicKeyToPem(publicKey)), Raw: publicKey }
  return Object.fromEntries(
    Object.entries(digests).flatMap(([digest, of]) =>
      Object.entries(sources).flatMap(([source, bytes]) =>
        Object.entries(spellings).map(([spelling, write]) => [`${digest}${source}${spelling}`, write(of(bytes))]),
      ),
    ),
  )
}
