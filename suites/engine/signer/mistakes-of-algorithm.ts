/** Known mistakes in how data and key become bytes: other algorithms, other inputs, the other kind of key. */
import { concat, toBase64, toHex, utf8 } from './bytes.ts'
import { type Draft, first20Bytes } from './draft.ts'
import { noDomain, prehashDomain, publicKeyOfSeed } from './ed25519.ts'
import { hmacSha1, hmacSha256, hmacSha512, sha256, sha512 } from './hmac.ts'
import { algorithmMistake, type KnownMistake } from './mistake.ts'
import { secretBytes, secretOfKey } from './mistakes-of-key.ts'
import { cutThenEncode } from './mistakes-of-signature.ts'
import { publicKeyToPem } from './pem.ts'

export const algorithmMistakes: readonly KnownMistake[] = [
  mac('sha1', 'HMAC-SHA1 is used', hmacSha1),
  mac('sha512', 'HMAC-SHA512 is used', hmacSha512),
  mac('arguments-swapped', 'key and data of the HMAC are swapped', (key, data) => hmacSha256(data, key)),
  mac('plain-hash', 'SHA-256 over secret and data is used, not an HMAC', (key, data) => sha256(concat(key, data))),
  mac('plain-hash-of-data-and-secret', 'SHA-256 over data and secret is used, not an HMAC', (key, data) =>
    sha256(concat(data, key)),
  ),
  mac('hmac-over-hash', 'the HMAC is made over the SHA-256 of the data', (key, data) => hmacSha256(key, sha256(data))),
  mac('hmac-over-hex', 'the HMAC is made over the hex of the data', (key, data) => hmacSha256(key, utf8(toHex(data)))),
  mac('hmac-over-base64', 'the HMAC is made over the BASE64 of the data', (key, data) =>
    hmacSha256(key, utf8(toBase64(data))),
  ),
  {
    ...mac('cut-hex', 'the MAC is put in hex and its first 20 digits are encoded', (key, data) =>
      utf8(toHex(hmacSha256(key, data))),
    ),
    fix: cutThenEncode,
  },
  {
    ...mac('cut-base64', 'the MAC is put in BASE64 and its first 20 characters are encoded', (key, data) =>
      utf8(toBase64(hmacSha256(key, data))),
    ),
    fix: cutThenEncode,
  },
  algorithmMistake(
    {
      id: 'signature/hmac-with-key-id-as-secret',
      requirement: 'signatures/key-id',
      when: 'the HMAC is made with the key id as the secret',
      fix: secretOfKey,
      // Found as key/id-as-secret.
      found: false,
    },
    (draft) => ({ ...asHmac(draft), key: utf8(draft.around.keyId) }),
  ),
  ed25519('prehashed', 'Ed25519ph is used instead of Ed25519', sha512, prehashDomain),
  ed25519('over-hash', 'the SHA-256 of the data is signed', sha256),
  ed25519('over-sha512', 'the SHA-512 of the data is signed', sha512),
  ed25519('over-hex-hash', 'the hex of the SHA-256 of the data is signed', (data) => utf8(toHex(sha256(data)))),
  ed25519('over-base64', 'the BASE64 of the data is signed', (data) => utf8(toBase64(data))),
  hmacForEcc('hmac-with-seed', 'the seed of the private key', (draft) => draft.key),
  hmacForEcc('hmac-with-public-pem', 'the PEM of the public key', publicPem),
  hmacForEcc('hmac-with-public-pem-file', 'the PEM of the public key and a line feed, as files have it,', (draft) =>
    withFinalLf(publicPem(draft)),
  ),
  hmacForEcc('hmac-with-public-key', 'the bytes of the public key', publicKey),
  hmacForEcc('hmac-with-secret', 'a secret', secretOfOthers),
  hmacForEcc('hmac-with-key-id', 'the key id', ({ around }) => utf8(around.keyId)),
  eccForHmac('ed25519-with-secret', 'the first 32 bytes of the secret', (key) => key.slice(0, 32)),
  eccForHmac('ed25519-with-hashed-secret', 'the SHA-256 of the secret', sha256),
]

/** A mistake in how a MAC is computed. */
export function mac(
  word: string,
  when: string,
  compute: (key: Uint8Array, data: Uint8Array) => Uint8Array,
): KnownMistake {
  return algorithmMistake({ id: `signature/${word}`, requirement: 'signatures/hmac', when }, (draft) =>
    draft.algorithm.kind === 'mac' ? { ...draft, algorithm: { kind: 'mac', compute } } : null,
  )
}

function ed25519(
  word: string,
  when: string,
  message: (data: Uint8Array) => Uint8Array,
  domain: Uint8Array = noDomain,
): KnownMistake {
  return algorithmMistake({ id: `signature/${word}`, requirement: 'signatures/ecc', when }, (draft) =>
    draft.algorithm.kind === 'ed25519' ? { ...draft, algorithm: { kind: 'ed25519', message, domain } } : null,
  )
}

function hmacForEcc(word: string, name: string, key: (draft: Draft) => Uint8Array | null): KnownMistake {
  const requirement = 'signatures/public-key-refuses-hmac'
  const when = `an HMAC with ${name} is sent where an ED25519 signature is due`
  return algorithmMistake({ id: `signature/${word}`, requirement, when }, (draft) => {
    const bytes = draft.algorithm.kind === 'ed25519' ? key(draft) : null
    return bytes === null || bytes.length === 0 ? null : { ...asHmac(draft), key: bytes }
  })
}

function eccForHmac(word: string, name: string, seed: (secret: Uint8Array) => Uint8Array): KnownMistake {
  const requirement = 'signatures/secret-key-refuses-ecc'
  const when = `an ED25519 signature with ${name} as the seed is sent where an HMAC is due`
  return algorithmMistake({ id: `signature/${word}`, requirement, when }, (draft) => {
    const key = draft.algorithm.kind === 'mac' ? seed(draft.key) : new Uint8Array(0)
    if (key.length !== 32) return null
    const algorithm = { kind: 'ed25519', message: (data: Uint8Array) => data, domain: noDomain } as const
    return { ...draft, key, cut: (all) => all, algorithm }
  })
}

function asHmac(draft: Draft): Draft {
  return { ...draft, cut: first20Bytes, algorithm: { kind: 'mac', compute: hmacSha256 } }
}

function publicKey({ around, key }: Draft): Uint8Array | null {
  if (around.key.kind === 'ed25519-public') return around.key.publicKey
  return around.key.kind === 'ed25519' ? publicKeyOfSeed(key) : null
}

function publicPem(draft: Draft): Uint8Array | null {
  const bytes = publicKey(draft)
  return bytes === null ? null : utf8(publicKeyToPem(bytes))
}

function withFinalLf(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : concat(bytes, utf8('\n'))
}

function secretOfOthers({ around }: Draft): Uint8Array | null {
  const other = around.otherKeys.find(({ kind }) => kind === 'secret')
  return other?.kind === 'secret' ? secretBytes(other.secret) : null
}
