/** Mistakes with key, algorithm, cut and encoding that only the diagnosis of a signature looks for. */
import { fromBase64Loose, fromLatin1, fromUtf8, percentDecoded, toBase64, toHex, utf8 } from './bytes.ts'
import { hmacSha256, hmacSha384, sha256 } from './hmac.ts'
import { cutMistake, encodingMistake, type KnownMistake } from './mistake.ts'
import { mac } from './mistakes-of-algorithm.ts'
import { utf16 } from './mistakes-of-body.ts'
import { ofSecret } from './mistakes-of-key.ts'
import { pythonBytes } from './printed-values.ts'

const algorithms: readonly KnownMistake[] = [
  mac('sha384', 'HMAC-SHA384 is used', hmacSha384),
  mac('hash-without-secret', 'SHA-256 over the data alone is used, not an HMAC', (_, data) => sha256(data)),
  mac('hmac-over-hex-hash', 'the HMAC is made over the hex of the SHA-256 of the data', (key, data) =>
    hmacSha256(key, utf8(toHex(sha256(data)))),
  ),
  mac('hmac-over-base64-hash', 'the HMAC is made over the BASE64 of the SHA-256 of the data', (key, data) =>
    hmacSha256(key, utf8(toBase64(sha256(data)))),
  ),
  mac('hmac-over-utf16', 'the HMAC is made over the data in UTF-16', (key, data) =>
    hmacSha256(key, utf16(fromUtf8(data)) ?? data),
  ),
  mac('hmac-twice', 'the HMAC is made over the HMAC of the data', (key, data) =>
    hmacSha256(key, hmacSha256(key, data)),
  ),
  mac('hmac-over-hex-hmac', 'the HMAC is made over the hex of the HMAC of the data', (key, data) =>
    hmacSha256(key, utf8(toHex(hmacSha256(key, data)))),
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
  secret('percent-decoded', 'percent-decoded', percentDecoded),
  secret('percent-encoded', 'percent-encoded', (text) => encodeURIComponent(text)),
  secret('cut-to-32', 'cut to 32 bytes', (text) => text.slice(0, 32)),
  secret('cut-to-16', 'cut to 16 bytes', (text) => text.slice(0, 16)),
  ...['undefined', 'null', 'None', 'nil'].map((word) =>
    secret(`text-${word.toLowerCase()}`, `as the text ${word}, which stands for a secret that is not set`, () => word),
  ),
  ofSecret('utf-16', 'the secret is encoded in UTF-16', utf16),
  ofSecret('decoded-as-utf8', 'the secret is base64-decoded into a text', (text) =>
    utf8(new TextDecoder().decode(fromBase64Loose(text) ?? utf8(text))),
  ),
]

const endings: readonly KnownMistake[] = [
  cutMistake(
    {
      id: 'signature/ed25519-cut-to-20-bytes',
      requirement: 'signatures/ecc',
      when: 'the ED25519 signature is cut to its first 20 bytes, as only an HMAC is',
      fix: 'Send all 64 bytes of the ED25519 signature',
    },
    (_, whole) => whole.slice(0, 20),
    'ed25519',
  ),
  cutMistake(
    {
      id: 'signature/decoded-as-utf8',
      requirement: 'signatures/hmac-encoding',
      when: 'the bytes of the MAC are decoded as UTF-8, and the first 20 characters are encoded again',
      fix: 'Cut the bytes of the MAC to 20, then encode them in BASE64; never make a text of them',
    },
    (_, whole) => utf8(new TextDecoder().decode(whole).slice(0, 20)),
    'mac',
  ),
  encoding('as-utf8-text', 'the 20 bytes are decoded as UTF-8 and encoded again', (bytes) =>
    toBase64(utf8(new TextDecoder().decode(bytes))),
  ),
  encoding('latin-1-as-utf8', 'the bytes are read as ISO 8859-1 and written in UTF-8', (bytes) =>
    toBase64(utf8(fromLatin1(bytes))),
  ),
  encoding('python-bytes', "the BASE64 is sent as Python prints bytes, b'…'", (_, right) => `b'${right}'`),
  encoding('as-numbers', 'the bytes are sent as a list of numbers', (bytes) => `${bytes}`),
]

export const labMistakesOfSignature: readonly KnownMistake[] = [
  ...algorithms,
  ...secrets,
  ...endings,
  mac('derived-key', 'the HMAC is made with a key derived from secret and timestamp', (key, data) =>
    hmacSha256(hmacSha256(key, data.subarray(0, data.indexOf(0x3b))), data),
  ),
]

function secret(word: string, how: string, write: (text: string, keyId: string) => string): KnownMistake {
  return ofSecret(word, `the secret is used ${how}`, (text, keyId) => utf8(write(text, keyId)))
}

function encoding(word: string, when: string, change: (bytes: Uint8Array, right: string) => string): KnownMistake {
  const fix = 'Encode the bytes of the signature, not a printed form of them, in BASE64'
  return encodingMistake({ id: `signature/${word}`, requirement: 'signatures/hmac-encoding', when, fix }, change)
}
