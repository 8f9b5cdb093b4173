/** Known mistakes in which of the computed bytes are sent, and in how they become text. */
import { concat, fromUtf8, toBase64, toBase64url, toHex, utf8 } from './bytes.ts'
import { withHighS } from './ed25519.ts'
import { cutMistake, encodingMistake, type KnownMistake, recognised } from './mistake.ts'

const hmac = 'signatures/hmac'
const length = 'signatures/hmac-length'
const encoding = 'signatures/hmac-encoding'
const ecc = 'signatures/ecc'
const wholeSignature = 'Send the whole signature and nothing more: 20 bytes of an HMAC, 64 of ED25519'
/** For clients that cut the text: they do the two steps in the wrong order. */
export const cutThenEncode = 'Cut the bytes of the MAC to the first 20, then encode these bytes in BASE64'

export const cutMistakes: readonly KnownMistake[] = [
  cutOfMac('untruncated', 'all 32 bytes of the MAC are sent', (whole) => whole),
  cutOfMac('last-20-bytes', 'the last 20 bytes of the MAC are sent', (whole) => whole.slice(-20)),
  ...[10, 12, 16, 24, 28].map((count) =>
    cutOfMac(`first-${count}-bytes`, `the first ${count} bytes of the MAC are sent`, (whole) => whole.slice(0, count)),
  ),
  cutMistake(
    {
      id: 'signature/one-byte-short',
      requirement: length,
      when: 'the signature lacks its last byte',
      fix: wholeSignature,
    },
    (right) => right.slice(0, -1),
  ),
  cutMistake(
    {
      id: 'signature/one-byte-long',
      requirement: length,
      when: 'the signature has one byte too many',
      fix: wholeSignature,
    },
    (right, whole) =>
      concat(right, whole.length > right.length ? whole.slice(right.length, right.length + 1) : Uint8Array.of(0)),
  ),
  cutOfMac('without-first-byte', 'the MAC is cut from byte 1 to 21', (whole) => whole.slice(1, 21)),
  cutMistake(
    {
      id: 'signature/reversed',
      requirement: ecc,
      when: 'the bytes of the signature are reversed',
      fix: 'Send the bytes in the order in which they come',
    },
    (right) => Uint8Array.from(right).reverse(),
  ),
  cutMistake(
    {
      id: 'signature/high-s',
      requirement: 'signatures/ecc-malleability',
      when: 'S of the ED25519 signature is not below the group order L',
      fix: 'Reduce S modulo L',
    },
    (right) => (right.length === 64 ? withHighS(right) : right),
    'ed25519',
  ),
  ...(
    [
      ['first', () => 0],
      ['middle', (count: number) => count >> 1],
      ['last', (count: number) => count - 1],
    ] as const
  ).map(([word, at]) =>
    cutMistake(
      {
        id: `signature/one-bit-flipped-${word}`,
        requirement: hmac,
        when: `one bit of the ${word} byte of the signature is flipped`,
        fix: 'Send the signature as computed',
        found: false,
      },
      (right) => right.map((byte, index) => (index === at(right.length) ? byte ^ 1 : byte)),
    ),
  ),
]

export const encodingMistakes: readonly KnownMistake[] = [
  text('in-hex', 'the signature is sent in hex', (bytes) => toHex(bytes)),
  text('in-upper-case-hex', 'the signature is sent in upper-case hex', (bytes) => toHex(bytes).toUpperCase()),
  text('base64url', 'the signature is sent in base64url', (bytes) => toBase64url(bytes)),
  {
    ...text('unpadded', 'the signature is sent without = padding', (_, right) => right.replace(/=+$/, '')),
    requirement: hmac,
  },
  text('base64-of-hex', 'the hex of the signature is encoded in BASE64', (bytes) => toBase64(utf8(toHex(bytes)))),
  text('base64-twice', 'the signature is encoded in BASE64 twice', (_, right) => toBase64(utf8(right))),
  text('percent-encoded', 'the signature is sent percent-encoded', (_, right) => encodeURIComponent(right)),
  text('spaces-for-plus', 'each + of the signature becomes a space on the way', (_, right) =>
    right.replaceAll('+', ' '),
  ),
  text('quoted', 'the signature is sent in quotation marks', (_, right) => `"${right}"`),
  text('lower-case', 'the signature is put in lower case', (_, right) => right.toLowerCase()),
  {
    ...text('cut-text', 'the BASE64 text is cut to 20 characters instead of the MAC to 20 bytes', (_, right) =>
      right.slice(0, 20),
    ),
    fix: cutThenEncode,
  },
  {
    ...text('cut-hex-text', 'the first 20 hex digits are sent', (bytes) => toHex(bytes).slice(0, 20)),
    fix: cutThenEncode,
  },
  text('raw-latin-1', 'the bytes are sent as they are, without an encoding', (bytes) => fromUtf8(bytes) ?? ''),
  text('empty', 'the signature is empty', () => ''),
]

/** Named by the length or the form of a signature that no mistake reproduces. */
export const shapes = {
  eccForHmac: recognised({
    id: 'signature/ecc-for-hmac',
    requirement: 'signatures/secret-key-refuses-ecc',
    when: 'the signature has 64 bytes, the length of ED25519, but this key takes an HMAC',
    fix: 'Sign with the secret of this key, or use the id of the key that has the public key',
  }),
  hmacForEcc: recognised({
    id: 'signature/hmac-for-ecc',
    requirement: 'signatures/public-key-refuses-hmac',
    when: 'the signature has the length of an HMAC, or is cut like one, but this key takes an ED25519 signature of 64 bytes',
    fix: 'Sign with the private key that belongs to the public key of this key',
  }),
  printed: recognised({
    id: 'signature/printed-object',
    requirement: encoding,
    when: 'the signature field holds the printed form of a value or object, not a signature',
    fix: 'Encode the bytes of the signature in BASE64, and wait for them where they come from a promise',
  }),
  otherKind: recognised({
    id: 'signature/another-kind-of-key',
    requirement: ecc,
    when: 'the signature looks like one by an RSA or an ECDSA key',
    fix: 'Sign with the ED25519 private key whose public key this API key has',
  }),
  damaged: recognised({
    id: 'signature/damaged',
    requirement: hmac,
    when: 'the signature is the right one but for a few characters, or for a lost beginning or end',
    fix: 'Copy the signature whole; look for a line break, a shell or a log that alters it',
  }),
} as const

function cutOfMac(word: string, when: string, cut: (whole: Uint8Array) => Uint8Array): KnownMistake {
  return cutMistake({ id: `signature/${word}`, requirement: length, when }, (_, whole) => cut(whole), 'mac')
}

function text(word: string, when: string, change: (bytes: Uint8Array, right: string) => string): KnownMistake {
  return encodingMistake({ id: `signature/${word}`, requirement: encoding, when }, change)
}
