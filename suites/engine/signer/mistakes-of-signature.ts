/** Known mistakes in which of the computed bytes are sent, and in how they become text. */
import { concat, fromUtf8, toBase64, toBase64url, toHex, utf8 } from './bytes.ts'
import { withHighS } from './ed25519.ts'
import { cutMistake, encodingMistake, type KnownMistake, recognised } from './mistake.ts'

const hmac = 'signatures/hmac'
const length = 'signatures/hmac-length'
const encoding = 'signatures/hmac-encoding'
const ecc = 'signatures/ecc'
const take20 = 'Send the first 20 bytes of the 32 of the MAC, no more and no less'
/** For clients that cut the text: they do the two steps in the wrong order. */
export const cutThenEncode = 'Cut the bytes of the MAC to the first 20, then encode these bytes in BASE64'
const useBase64 = 'Encode the bytes of the signature in BASE64 with + and / and with = padding'

export const cutMistakes: readonly KnownMistake[] = [
  cutMistake(
    {
      id: 'signature/untruncated',
      title: 'All 32 bytes of the MAC were sent',
      requirement: length,
      fix: take20,
      when: 'all 32 bytes of the MAC are sent',
    },
    (_, whole) => whole,
    'mac',
  ),
  cutMistake(
    {
      id: 'signature/last-20-bytes',
      title: 'The last 20 bytes of the MAC were sent',
      requirement: length,
      fix: take20,
      when: 'the last 20 bytes of the MAC are sent',
    },
    (_, whole) => whole.slice(-20),
    'mac',
  ),
  ...[10, 12, 16, 24, 28].map((count) =>
    cutMistake(
      {
        id: `signature/first-${count}-bytes`,
        title: `The first ${count} bytes of the MAC were sent`,
        requirement: length,
        fix: take20,
        when: `the first ${count} bytes of the MAC are sent`,
      },
      (_, whole) => whole.slice(0, count),
      'mac',
    ),
  ),
  cutMistake(
    {
      id: 'signature/one-byte-short',
      title: 'The signature lacks its last byte',
      requirement: length,
      fix: 'Send the whole signature: 20 bytes of an HMAC, 64 of ED25519',
      when: 'the signature is one byte short',
    },
    (right) => right.slice(0, -1),
  ),
  cutMistake(
    {
      id: 'signature/one-byte-long',
      title: 'The signature has one byte too many',
      requirement: length,
      fix: 'Send the whole signature and nothing more: 20 bytes of an HMAC, 64 of ED25519',
      when: 'the signature is one byte longer',
    },
    (right, whole) =>
      concat(right, whole.length > right.length ? whole.slice(right.length, right.length + 1) : Uint8Array.of(0)),
  ),
  cutMistake(
    {
      id: 'signature/without-first-byte',
      title: 'The MAC was cut from byte 1 to 21',
      requirement: length,
      fix: 'Begin the cut at byte 0',
      when: 'bytes 1 to 21 of the MAC are sent',
    },
    (_, whole) => whole.slice(1, 21),
    'mac',
  ),
  cutMistake(
    {
      id: 'signature/reversed',
      title: 'The bytes of the signature were reversed',
      requirement: ecc,
      fix: 'Send the bytes in the order in which they come',
      when: 'the bytes of the signature are reversed',
    },
    (right) => Uint8Array.from(right).reverse(),
  ),
  cutMistake(
    {
      id: 'signature/high-s',
      title: 'S of the ED25519 signature is not below the group order L',
      requirement: 'signatures/ecc-malleability',
      fix: 'Reduce S modulo L',
      when: 'S is not below L',
    },
    (right) => (right.length === 64 ? withHighS(right) : right),
    'ed25519',
  ),
  ...[
    { word: 'first', at: () => 0 },
    { word: 'middle', at: (count: number) => count >> 1 },
    { word: 'last', at: (count: number) => count - 1 },
  ].map(({ word, at }) =>
    cutMistake(
      {
        id: `signature/one-bit-flipped-${word}`,
        title: `One bit of the ${word} byte of the signature is flipped`,
        requirement: hmac,
        fix: 'Send the signature as computed',
        when: `one bit of the ${word} byte is flipped`,
        found: false,
      },
      (right) => right.map((byte, index) => (index === at(right.length) ? byte ^ 1 : byte)),
    ),
  ),
]

export const encodingMistakes: readonly KnownMistake[] = [
  text('in-hex', 'The signature was sent in hex', 'the signature is sent in hex', (bytes) => toHex(bytes)),
  text('in-upper-case-hex', 'The signature was sent in upper-case hex', 'it is sent in upper-case hex', (bytes) =>
    toHex(bytes).toUpperCase(),
  ),
  text('base64url', 'The signature was sent in base64url', 'the signature is sent in base64url', (bytes) =>
    toBase64url(bytes),
  ),
  text('unpadded', 'The signature was sent without = padding', 'the signature is sent without = padding', (_, right) =>
    right.replace(/=+$/, ''),
  ),
  text(
    'base64-of-hex',
    'The hex of the signature was encoded in BASE64',
    'the hex of the signature is encoded in BASE64',
    (bytes) => toBase64(utf8(toHex(bytes))),
  ),
  text(
    'base64-twice',
    'The signature was encoded in BASE64 twice',
    'the signature is encoded in BASE64 twice',
    (_, right) => toBase64(utf8(right)),
  ),
  text(
    'percent-encoded',
    'The signature was sent percent-encoded',
    'the signature is sent percent-encoded',
    (_, right) => encodeURIComponent(right),
  ),
  text(
    'spaces-for-plus',
    'Each + of the signature became a space on the way',
    'each + is sent as a space',
    (_, right) => right.replaceAll('+', ' '),
  ),
  text(
    'quoted',
    'The signature was sent in quotation marks',
    'the signature stands in quotation marks',
    (_, right) => `"${right}"`,
  ),
  text('lower-case', 'The signature was put in lower case', 'the signature is put in lower case', (_, right) =>
    right.toLowerCase(),
  ),
  text(
    'cut-text',
    'The BASE64 text was cut to 20 characters instead of the MAC to 20 bytes',
    'the first 20 characters are sent',
    (_, right) => right.slice(0, 20),
    cutThenEncode,
  ),
  text(
    'cut-hex-text',
    'The first 20 hex digits were sent',
    'the first 20 hex digits are sent',
    (bytes) => toHex(bytes).slice(0, 20),
    cutThenEncode,
  ),
  text(
    'raw-latin-1',
    'The bytes were sent as they are, without an encoding',
    'the bytes are sent without an encoding',
    (bytes) => fromUtf8(bytes) ?? '',
  ),
  text('empty', 'The signature is empty', 'the signature is empty', () => ''),
]

/** Named by the length or the form of a signature that no mistake reproduces. */
export const shapes = {
  eccForHmac: recognised({
    id: 'signature/ecc-for-hmac',
    title: 'The signature has 64 bytes, the length of ED25519, but this key takes an HMAC',
    requirement: 'signatures/secret-key-refuses-ecc',
    fix: 'Sign with the secret of this key, or use the id of the key that has the public key',
    when: 'an ED25519 signature is sent',
  }),
  hmacForEcc: recognised({
    id: 'signature/hmac-for-ecc',
    title:
      'The signature has the length of an HMAC, or is cut like one, but this key takes an ED25519 signature of 64 bytes',
    requirement: 'signatures/public-key-refuses-hmac',
    fix: 'Sign with the private key that belongs to the public key of this key',
    when: 'an HMAC is sent',
  }),
  printed: recognised({
    id: 'signature/printed-object',
    title: 'The signature field holds the printed form of a value or object, not a signature',
    requirement: encoding,
    fix: 'Encode the bytes of the signature in BASE64, and wait for them where they come from a promise',
    when: 'the printed form of an object is sent',
  }),
  otherKind: recognised({
    id: 'signature/another-kind-of-key',
    title: 'The signature looks like one by an RSA or an ECDSA key',
    requirement: ecc,
    fix: 'Sign with the ED25519 private key whose public key this API key has',
    when: 'a signature by another kind of key is sent',
  }),
  damaged: recognised({
    id: 'signature/damaged',
    title: 'The signature is the right one but for a few characters, or for a lost beginning or end',
    requirement: hmac,
    fix: 'Copy the signature whole; look for a line break, a shell or a log that alters it',
    when: 'a few characters of the signature are altered',
  }),
} as const

// biome-ignore lint/complexity/useMaxParams: the calls are the rows of a table
function text(
  word: string,
  title: string,
  when: string,
  change: (bytes: Uint8Array, right: string) => string,
  fix = useBase64,
): KnownMistake {
  const requirement = word === 'unpadded' ? hmac : encoding
  return encodingMistake({ id: `signature/${word}`, title, requirement, fix, when }, change)
}
