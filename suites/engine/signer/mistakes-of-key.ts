/** Known mistakes in which bytes are the key. */
import { concat, fromBase64Loose, fromHex, fromUtf8, latin1, toBase64, toHex, utf8 } from './bytes.ts'
import { publicKeyOfSeed } from './ed25519.ts'
import { sha256, sha512 } from './hmac.ts'
import { type KnownMistake, keyMistake } from './mistake.ts'
import { pkcs8Prefix } from './pem.ts'

const seedOnly = 'Read the 32-byte seed out of the PKCS#8 file; it is its last 32 bytes'
export const secretOfKey = 'Use the secret of the key, never its id'

/** Mistakes with the secret of a key without a public key. */
const secretMistakes: readonly KnownMistake[] = [
  ofSecret('hex-decoded', 'the secret is hex-decoded', fromHex),
  ofSecret('base64-decoded', 'the secret is base64-decoded', (text) => (text === '' ? null : fromBase64Loose(text))),
  ofSecret('base64-encoded', 'the secret is base64-encoded', (text) => utf8(toBase64(utf8(text)))),
  ofSecret('hex-encoded', 'the secret is hex-encoded', (text) => utf8(toHex(utf8(text)))),
  ofSecret('upper-case', 'the secret is put in upper case', (text) => utf8(text.toUpperCase())),
  ofSecret('lower-case', 'the secret is put in lower case', (text) => utf8(text.toLowerCase())),
  ofSecret('with-newline', 'the secret is used with a line feed at its end', (text) => utf8(`${text}\n`)),
  ofSecret('trimmed', 'white space around the secret is dropped', (text) => utf8(text.trim())),
  ofSecret('quoted', 'the secret is used with quotation marks around it', (text) => utf8(`"${text}"`)),
  ofSecret('hashed', 'the SHA-256 of the secret is used as the key', (text) => sha256(utf8(text))),
  ofSecret('hashed-in-hex', 'the hex of the SHA-256 of the secret is used as the key', (text) =>
    utf8(toHex(sha256(utf8(text)))),
  ),
  ofSecret('latin-1', 'the secret is encoded in ISO 8859-1', latin1),
  ofSecret('empty', 'an empty secret is used', () => new Uint8Array(0)),
  ofSecret('basic-pair', 'the pair id:secret is used as the key', (text, keyId) => utf8(`${keyId}:${text}`)),
  {
    ...ofSecret('id-as-secret', 'the key id is used as the secret', (_, keyId) => utf8(keyId)),
    requirement: 'signatures/key-id',
    fix: secretOfKey,
  },
]

/** Mistakes with the seed of a key with a public key. They are made with the seed, and can be found with the public key alone. */
const seedMistakes: readonly KnownMistake[] = [
  ofSeed('seed-hashed', 'the SHA-256 of the seed is used as the seed', sha256),
  ofSeed('expanded-as-seed', 'the first half of the expanded private key is used as the seed', (seed) =>
    sha512(seed).slice(0, 32),
  ),
  ofSeed('clamped-as-seed', 'the clamped scalar is used as the seed', (seed) => {
    const scalar = sha512(seed).slice(0, 32)
    scalar[0] = (scalar[0] ?? 0) & 0xf8
    scalar[31] = ((scalar[31] ?? 0) & 0x7f) | 0x40
    return scalar
  }),
  ofSeed('public-key-as-seed', 'the public key is used as the seed', publicKeyOfSeed),
  ofSeed('der-as-seed', 'the first 32 bytes of the PKCS#8 file are used as the seed', (seed) =>
    concat(pkcs8Prefix, seed).slice(0, 32),
  ),
  ofSeed('octet-string-as-seed', 'the seed is read two bytes too early', (seed) =>
    concat(pkcs8Prefix.slice(14), seed).slice(0, 32),
  ),
  ofSeed('hex-as-seed', 'the first 32 hex digits of the seed are used as the seed', (seed) =>
    utf8(toHex(seed)).slice(0, 32),
  ),
  ofSeed('base64-as-seed', 'the first 32 base64 characters of the seed are used as the seed', (seed) =>
    utf8(toBase64(seed)).slice(0, 32),
  ),
  ofSeed('reversed-seed', 'the seed is used in reversed byte order', (seed) => Uint8Array.from(seed).reverse()),
]

export const keyMistakes: readonly KnownMistake[] = [...secretMistakes, ...seedMistakes]

/** The bytes that are the HMAC key of a secret. */
export function secretBytes(secret: string | Uint8Array): Uint8Array {
  return typeof secret === 'string' ? utf8(secret) : secret
}

/** A mistake with the secret of a key without a public key. */
export function ofSecret(
  word: string,
  when: string,
  change: (text: string, keyId: string) => Uint8Array | null,
): KnownMistake {
  const fix = 'Use the UTF-8 bytes of the secret as the key, as the text stands'
  return keyMistake({ id: `key/${word}`, requirement: 'signatures/hmac', when, fix }, ({ around, algorithm }) => {
    const { key, keyId } = around
    const text = key.kind === 'secret' && algorithm.kind === 'mac' ? fromUtf8(secretBytes(key.secret)) : null
    return text === null ? null : change(text, keyId)
  })
}

function ofSeed(word: string, when: string, change: (seed: Uint8Array) => Uint8Array): KnownMistake {
  return keyMistake({ id: `key/${word}`, requirement: 'signatures/ecc', when, fix: seedOnly }, (draft) =>
    draft.algorithm.kind === 'ed25519' && draft.key.length === 32 ? change(draft.key) : null,
  )
}
