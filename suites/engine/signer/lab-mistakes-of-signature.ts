/** Mistakes with key, algorithm, cut and encoding that only the diagnosis of a signature looks for. */
import { fromBase64Loose, fromLatin1, fromUtf8, toBase64, toHex, utf8 } from './bytes.ts'
import { hmacSha256, hmacSha384, sha256 } from './hmac.ts'
import { cutMistake, encodingMistake, type KnownMistake } from './mistake.ts'
import { mac } from './mistakes-of-algorithm.ts'
import { utf16 } from './mistakes-of-body.ts'
import { ofSecret } from './mistakes-of-key.ts'
import { pythonBytes } from './printed-values.ts'

const useBase64 = 'Encode the bytes of the signature, not a printed form of them, in BASE64'

const algorithms: readonly KnownMistake[] = [
  mac('sha384', 'HMAC-SHA384 was used', 'HMAC-SHA384 is used', hmacSha384),
  mac('hash-without-secret', 'SHA-256 over the data alone was used, no HMAC', 'SHA-256 is used', (_, data) =>
    sha256(data),
  ),
  mac(
    'hmac-over-hex-hash',
    'The HMAC was made over the hex of the SHA-256 of the data',
    'the HMAC is made over the hex of the SHA-256 of the data',
    (key, data) => hmacSha256(key, utf8(toHex(sha256(data)))),
  ),
  mac(
    'hmac-over-base64-hash',
    'The HMAC was made over the BASE64 of the SHA-256 of the data',
    'the HMAC is made over the BASE64 of the SHA-256 of the data',
    (key, data) => hmacSha256(key, utf8(toBase64(sha256(data)))),
  ),
  mac(
    'hmac-over-utf16',
    'The HMAC was made over the data in UTF-16',
    'the HMAC is made over the data in UTF-16',
    (key, data) => hmacSha256(key, utf16(fromUtf8(data)) ?? data),
  ),
  mac('hmac-twice', 'The HMAC was made over the HMAC of the data', 'the HMAC is made twice', (key, data) =>
    hmacSha256(key, hmacSha256(key, data)),
  ),
  mac(
    'hmac-over-hex-hmac',
    'The HMAC was made over the hex of the HMAC of the data',
    'the HMAC is made over the hex of an HMAC',
    (key, data) => hmacSha256(key, utf8(toHex(hmacSha256(key, data)))),
  ),
]

const secrets: readonly KnownMistake[] = [
  secret('python-bytes', "as Python prints bytes, b'…'", (text) => pythonBytes(utf8(text))),
  secret('with-cr-lf', 'with CR LF at its end', (text) => `${text}\r\n`),
  secret('with-space', 'with a space at its end', (text) => `${text} `),
  secret('single-quoted', 'with single quotation marks around it', (text) => `'${text}'`),
  secret('hashed-in-base64', 'as the BASE64 of its SHA-256', (text) => toBase64(sha256(utf8(text)))),
  secret('basic-blob', 'as BASE64 of the pair id:secret', (text, id) => toBase64(utf8(`${id}:${text}`))),
  secret('id-and-secret', 'with the key id before it', (text, id) => id + text),
  secret('percent-decoded', 'percent-decoded', (text) => decoded(text)),
  secret('percent-encoded', 'percent-encoded', (text) => encodeURIComponent(text)),
  secret('cut-to-32', 'cut to 32 bytes', (text) => text.slice(0, 32)),
  secret('cut-to-16', 'cut to 16 bytes', (text) => text.slice(0, 16)),
  ...['undefined', 'null', 'None', 'nil'].map((word) =>
    secret(`text-${word.toLowerCase()}`, `as the text ${word}, which stands for a secret that is not set`, () => word),
  ),
  ofSecret('key/utf-16', 'The secret was encoded in UTF-16', 'the secret is encoded in UTF-16', (text) => utf16(text)),
  ofSecret('key/decoded-as-utf8', 'The secret was base64-decoded into a text', 'it is decoded into a text', (text) =>
    utf8(new TextDecoder().decode(fromBase64Loose(text) ?? utf8(text))),
  ),
]

const endings: readonly KnownMistake[] = [
  cutMistake(
    {
      id: 'signature/ed25519-cut-to-20-bytes',
      title: 'The ED25519 signature was cut to its first 20 bytes, as only an HMAC is',
      requirement: 'signatures/ecc',
      fix: 'Send all 64 bytes of the ED25519 signature',
      when: 'the first 20 bytes of the ED25519 signature are sent',
    },
    (_, whole) => whole.slice(0, 20),
    'ed25519',
  ),
  cutMistake(
    {
      id: 'signature/decoded-as-utf8',
      title: 'The bytes of the MAC were decoded as UTF-8, and the first 20 characters were encoded again',
      requirement: 'signatures/hmac-encoding',
      fix: 'Cut the bytes of the MAC to 20, then encode them in BASE64; never make a text of them',
      when: 'the MAC is decoded as UTF-8 and encoded again',
    },
    (_, whole) => utf8(new TextDecoder().decode(whole).slice(0, 20)),
    'mac',
  ),
  encoding('as-utf8-text', 'The 20 bytes were decoded as UTF-8 and encoded again', (bytes) =>
    toBase64(utf8(new TextDecoder().decode(bytes))),
  ),
  encoding('latin-1-as-utf8', 'The bytes were read as ISO 8859-1 and written in UTF-8', (bytes) =>
    toBase64(utf8(fromLatin1(bytes))),
  ),
  encoding('python-bytes', "The BASE64 was sent as Python prints bytes, b'…'", (_, right) => `b'${right}'`),
  encoding('as-numbers', 'The bytes were sent as a list of numbers', (bytes) => `${bytes}`),
]

export const labMistakesOfSignature: readonly KnownMistake[] = [
  ...algorithms,
  ...secrets,
  ...endings,
  mac(
    'derived-key',
    'The HMAC was made with a key derived from secret and timestamp',
    'the key is derived from secret and timestamp',
    (key, data) => hmacSha256(hmacSha256(key, data.subarray(0, data.indexOf(0x3b))), data),
  ),
]

function secret(word: string, how: string, write: (text: string, keyId: string) => string): KnownMistake {
  return ofSecret(`key/${word}`, `The secret was used ${how}`, `the secret is used ${how}`, (text, { around }) =>
    utf8(write(text, around.keyId)),
  )
}

function encoding(word: string, title: string, change: (bytes: Uint8Array, right: string) => string): KnownMistake {
  const id = `signature/${word}`
  return encodingMistake(
    { id, title, requirement: 'signatures/hmac-encoding', fix: useBase64, when: 'it is sent in this form' },
    change,
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
