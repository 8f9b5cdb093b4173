/** Known mistakes in which bytes are the key. */
import { concat, fromBase64Loose, fromHex, fromUtf8, latin1, toBase64, toHex, utf8 } from './bytes.ts'
import type { Draft } from './draft.ts'
import { publicKeyOfSeed } from './ed25519.ts'
import { sha256, sha512 } from './hmac.ts'
import { type KnownMistake, keyMistake } from './mistake.ts'
import { pkcs8Prefix } from './pem.ts'

const hmac = 'signatures/hmac'
const ecc = 'signatures/ecc'
const plainText = 'Use the UTF-8 bytes of the secret as the key, as the text stands'
const seedOnly = 'Read the 32-byte seed out of the PKCS#8 file; it is its last 32 bytes'

/** Mistakes with the secret of a key without a public key. */
const secretMistakes: readonly KnownMistake[] = [
  ofSecret('key/hex-decoded', 'The secret was hex-decoded', 'the secret is hex-decoded', (text) => fromHex(text)),
  ofSecret('key/base64-decoded', 'The secret was base64-decoded', 'the secret is base64-decoded', (text) =>
    text === '' ? null : fromBase64Loose(text),
  ),
  ofSecret('key/base64-encoded', 'The secret was base64-encoded', 'the secret is base64-encoded', (text) =>
    utf8(toBase64(utf8(text))),
  ),
  ofSecret('key/hex-encoded', 'The secret was hex-encoded', 'the secret is hex-encoded', (text) =>
    utf8(toHex(utf8(text))),
  ),
  ofSecret('key/upper-case', 'The secret was put in upper case', 'the secret is put in upper case', (text) =>
    utf8(text.toUpperCase()),
  ),
  ofSecret('key/lower-case', 'The secret was put in lower case', 'the secret is put in lower case', (text) =>
    utf8(text.toLowerCase()),
  ),
  ofSecret(
    'key/with-newline',
    'The secret was used with a line feed at its end',
    'a line feed ends the secret',
    (text) => utf8(`${text}\n`),
  ),
  ofSecret(
    'key/trimmed',
    'White space around the secret was dropped',
    'white space around the secret is dropped',
    (text) => utf8(text.trim()),
  ),
  ofSecret(
    'key/quoted',
    'The secret was used with quotation marks around it',
    'the secret stands in quotation marks',
    (text) => utf8(`"${text}"`),
  ),
  ofSecret(
    'key/hashed',
    'The SHA-256 of the secret was used as the key',
    'the SHA-256 of the secret is the key',
    (text) => sha256(utf8(text)),
  ),
  ofSecret(
    'key/hashed-in-hex',
    'The hex of the SHA-256 of the secret was the key',
    'its SHA-256 in hex is the key',
    (text) => utf8(toHex(sha256(utf8(text)))),
  ),
  ofSecret('key/latin-1', 'The secret was encoded in ISO 8859-1', 'the secret is encoded in ISO 8859-1', (text) =>
    latin1(text),
  ),
  ofSecret('key/empty', 'An empty secret was used', 'the key is empty', () => new Uint8Array(0)),
  ofSecret(
    'key/basic-pair',
    'The pair id:secret was used as the key',
    'the pair id:secret is the key',
    (text, { around }) => utf8(`${around.keyId}:${text}`),
  ),
  ofSecret(
    'key/id-as-secret',
    'The key id was used as the secret',
    'the key id is used as the secret',
    (_, { around }) => utf8(around.keyId),
  ),
]

/** Mistakes with the seed of a key with a public key. They are made with the seed, and can be found with the public key alone. */
const seedMistakes: readonly KnownMistake[] = [
  ofSeed(
    'key/seed-hashed',
    'The SHA-256 of the seed was used as the seed',
    'the SHA-256 of the seed is the seed',
    sha256,
  ),
  ofSeed(
    'key/expanded-as-seed',
    'The first half of the expanded private key was used as the seed',
    'the expanded key is the seed',
    (seed) => sha512(seed).slice(0, 32),
  ),
  ofSeed('key/clamped-as-seed', 'The clamped scalar was used as the seed', 'the clamped scalar is the seed', (seed) => {
    const scalar = sha512(seed).slice(0, 32)
    scalar[0] = (scalar[0] ?? 0) & 0xf8
    scalar[31] = ((scalar[31] ?? 0) & 0x7f) | 0x40
    return scalar
  }),
  ofSeed('key/public-key-as-seed', 'The public key was used as the seed', 'the public key is the seed', (seed) =>
    publicKeyOfSeed(seed),
  ),
  ofSeed(
    'key/der-as-seed',
    'The first 32 bytes of the PKCS#8 file were used as the seed',
    'the start of the PKCS#8 file is the seed',
    (seed) => concat(pkcs8Prefix, seed).slice(0, 32),
  ),
  ofSeed(
    'key/octet-string-as-seed',
    'The seed was read two bytes too early',
    'the seed is read two bytes too early',
    (seed) => concat(pkcs8Prefix.slice(14), seed).slice(0, 32),
  ),
  ofSeed(
    'key/hex-as-seed',
    'The first 32 hex digits of the seed were used as the seed',
    'hex digits of the seed are the seed',
    (seed) => utf8(toHex(seed)).slice(0, 32),
  ),
  ofSeed(
    'key/base64-as-seed',
    'The first 32 base64 characters of the seed were used as the seed',
    'base64 of the seed is the seed',
    (seed) => utf8(toBase64(seed)).slice(0, 32),
  ),
  ofSeed('key/reversed-seed', 'The seed was used in reversed byte order', 'the seed is reversed', (seed) =>
    Uint8Array.from(seed).reverse(),
  ),
]

export const keyMistakes: readonly KnownMistake[] = [...secretMistakes, ...seedMistakes]

/** The bytes that are the HMAC key of a secret. */
export function secretBytes(secret: string | Uint8Array): Uint8Array {
  return typeof secret === 'string' ? utf8(secret) : secret
}

/** A mistake with the secret of a key without a public key. */
export function ofSecret(
  id: string,
  title: string,
  when: string,
  change: (text: string, draft: Draft) => Uint8Array | null,
): KnownMistake {
  const said = { id, title, requirement: id === 'key/id-as-secret' ? 'signatures/key-id' : hmac, fix: plainText, when }
  return keyMistake(said, (draft) => {
    const { key } = draft.around
    const text = key.kind === 'secret' && draft.algorithm.kind === 'mac' ? fromUtf8(secretBytes(key.secret)) : null
    return text === null ? null : change(text, draft)
  })
}

function ofSeed(id: string, title: string, when: string, change: (seed: Uint8Array) => Uint8Array): KnownMistake {
  return keyMistake({ id, title, requirement: ecc, fix: seedOnly, when }, (draft) =>
    draft.algorithm.kind === 'ed25519' && draft.key.length === 32 ? change(draft.key) : null,
  )
}
