/** Known mistakes in how data and key become bytes: other algorithms, other inputs, the other kind of key. */
import { concat, toBase64, toHex, utf8 } from './bytes.ts'
import { type Draft, first20Bytes } from './draft.ts'
import { noDomain, prehashDomain, publicKeyOfSeed } from './ed25519.ts'
import { hmacSha1, hmacSha256, hmacSha512, sha256, sha512 } from './hmac.ts'
import { algorithmMistake, type KnownMistake, type Said } from './mistake.ts'
import { secretBytes } from './mistakes-of-key.ts'
import { cutThenEncode } from './mistakes-of-signature.ts'
import { publicKeyToPem } from './pem.ts'

const hmac = 'signatures/hmac'
const ecc = 'signatures/ecc'

export const algorithmMistakes: readonly KnownMistake[] = [
  mac('sha1', 'HMAC-SHA1 was used', 'HMAC-SHA1 is used', hmacSha1),
  mac('sha512', 'HMAC-SHA512 was used', 'HMAC-SHA512 is used', hmacSha512),
  mac(
    'arguments-swapped',
    'Key and data of the HMAC were swapped',
    'key and data of the HMAC are swapped',
    (key, data) => hmacSha256(data, key),
  ),
  mac(
    'plain-hash',
    'SHA-256 over secret and data was used, no HMAC',
    'SHA-256 over secret and data is used',
    (key, data) => sha256(concat(key, data)),
  ),
  mac(
    'plain-hash-of-data-and-secret',
    'SHA-256 over data and secret was used, no HMAC',
    'SHA-256 over data and secret is used',
    (key, data) => sha256(concat(data, key)),
  ),
  mac(
    'hmac-over-hash',
    'The HMAC was made over the SHA-256 of the data',
    'the HMAC is made over the SHA-256 of the data',
    (key, data) => hmacSha256(key, sha256(data)),
  ),
  mac(
    'hmac-over-hex',
    'The HMAC was made over the hex of the data',
    'the HMAC is made over the hex of the data',
    (key, data) => hmacSha256(key, utf8(toHex(data))),
  ),
  mac(
    'hmac-over-base64',
    'The HMAC was made over the BASE64 of the data',
    'the HMAC is made over the BASE64 of the data',
    (key, data) => hmacSha256(key, utf8(toBase64(data))),
  ),
  mac(
    'cut-hex',
    'The MAC was put in hex and its first 20 digits were encoded',
    'the first 20 hex digits of the MAC are encoded',
    (key, data) => utf8(toHex(hmacSha256(key, data))),
    cutThenEncode,
  ),
  mac(
    'cut-base64',
    'The MAC was put in BASE64 and its first 20 characters were encoded',
    'the first 20 BASE64 characters of the MAC are encoded',
    (key, data) => utf8(toBase64(hmacSha256(key, data))),
    cutThenEncode,
  ),
  algorithmMistake(
    {
      id: 'signature/hmac-with-key-id-as-secret',
      title: 'The HMAC was made with the key id as the secret',
      requirement: 'signatures/key-id',
      fix: 'Use the secret of the key, never its id',
      when: 'the HMAC is made with the key id as the secret',
      // Found as key/id-as-secret.
      found: false,
    },
    (draft) => ({ ...asHmac(draft), key: utf8(draft.around.keyId) }),
  ),
  ed25519(
    'prehashed',
    'Ed25519ph was used instead of Ed25519',
    'Ed25519ph is used instead of Ed25519',
    sha512,
    prehashDomain,
  ),
  ed25519('over-hash', 'The SHA-256 of the data was signed', 'the SHA-256 of the data is signed', sha256),
  ed25519('over-sha512', 'The SHA-512 of the data was signed', 'the SHA-512 of the data is signed', sha512),
  ed25519(
    'over-hex-hash',
    'The hex of the SHA-256 of the data was signed',
    'the hex of the SHA-256 is signed',
    (data) => utf8(toHex(sha256(data))),
  ),
  ed25519('over-base64', 'The BASE64 of the data was signed', 'the BASE64 of the data is signed', (data) =>
    utf8(toBase64(data)),
  ),
  ...[
    {
      word: 'hmac-with-seed',
      name: 'the seed of the private key',
      key: (draft: Draft): Uint8Array | null => draft.key,
    },
    { word: 'hmac-with-public-pem', name: 'the PEM of the public key', key: publicPem },
    {
      word: 'hmac-with-public-pem-file',
      name: 'the PEM of the public key and a line feed, as files have it,',
      key: (draft: Draft) => withFinalLf(publicPem(draft)),
    },
    { word: 'hmac-with-public-key', name: 'the bytes of the public key', key: publicKey },
    { word: 'hmac-with-secret', name: 'a secret', key: secretOfOthers },
    { word: 'hmac-with-key-id', name: 'the key id', key: ({ around }: Draft) => utf8(around.keyId) },
  ].map(({ word, name, key }) =>
    algorithmMistake(
      {
        id: `signature/${word}`,
        title: `An HMAC with ${name} was sent where an ED25519 signature is due`,
        requirement: 'signatures/public-key-refuses-hmac',
        fix: 'A key with a public key takes only ED25519 signatures by its private key',
        when: `an HMAC with ${name} is sent`,
      },
      (draft) => {
        const bytes = draft.algorithm.kind === 'ed25519' ? key(draft) : null
        return bytes === null || bytes.length === 0 ? null : { ...asHmac(draft), key: bytes }
      },
    ),
  ),
  ...[
    {
      word: 'ed25519-with-secret',
      name: 'the first 32 bytes of the secret',
      seed: (key: Uint8Array) => key.slice(0, 32),
    },
    { word: 'ed25519-with-hashed-secret', name: 'the SHA-256 of the secret', seed: (key: Uint8Array) => sha256(key) },
  ].map(({ word, name, seed }) =>
    algorithmMistake(
      {
        id: `signature/${word}`,
        title: `An ED25519 signature with ${name} as the seed was sent where an HMAC is due`,
        requirement: 'signatures/secret-key-refuses-ecc',
        fix: 'A key without public key takes only HMAC signatures with its secret',
        when: `an ED25519 signature with ${name} as the seed is sent`,
      },
      (draft) => {
        const bytes = draft.algorithm.kind === 'mac' ? seed(draft.key) : new Uint8Array(0)
        if (bytes.length !== 32) return null
        return {
          ...draft,
          key: bytes,
          cut: (all) => all,
          algorithm: { kind: 'ed25519', message: (data) => data, domain: noDomain },
        }
      },
    ),
  ),
]

/** A mistake in how a MAC is computed. */
// biome-ignore lint/complexity/useMaxParams: the calls are the rows of a table
export function mac(
  word: string,
  title: string,
  when: string,
  compute: (key: Uint8Array, data: Uint8Array) => Uint8Array,
  fix = 'Compute HMAC-SHA256 with the secret as the key over the data to sign',
): KnownMistake {
  const said: Said = { id: `signature/${word}`, title, requirement: hmac, fix, when }
  return algorithmMistake(said, (draft) =>
    draft.algorithm.kind === 'mac' ? { ...draft, algorithm: { kind: 'mac', compute } } : null,
  )
}

// biome-ignore lint/complexity/useMaxParams: the calls are the rows of a table
function ed25519(
  word: string,
  title: string,
  when: string,
  message: (data: Uint8Array) => Uint8Array,
  domain: Uint8Array = noDomain,
): KnownMistake {
  const said: Said = {
    id: `signature/${word}`,
    title,
    requirement: ecc,
    fix: 'Sign the data to sign themselves with plain ED25519',
    when,
  }
  return algorithmMistake(said, (draft) =>
    draft.algorithm.kind === 'ed25519' ? { ...draft, algorithm: { kind: 'ed25519', message, domain } } : null,
  )
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
