import { createHmac, type KeyObject, verify } from 'node:crypto'
import { decodeBase64, sameText } from '../encoding.ts'
import type { Profile } from '../profile.ts'
import { isWeakPoint } from '../public-key.ts'
import type { ApiKey } from '../state.ts'

/** Everything that a signature could cover. */
export interface SignedParts {
  /** As in the header. */
  timestamp: string
  nonce: string
  httpMethod: string
  /** `/api` */
  uri: string
  /** The path and query as received. */
  target: string
  host: string
  body: Buffer
}

/** A text, bytes and a final line feed in one piece. */
function joinText(head: string, body: Buffer): Buffer {
  const headBytes = Buffer.byteLength(head)
  const joined = Buffer.allocUnsafe(headBytes + body.length + 1)
  joined.write(head)
  body.copy(joined, headBytes)
  joined[joined.length - 1] = 0x0a
  return joined
}

/** Part 5.1 of the document. */
export const signatureRules = {
  /** signatures/header-fields: the fields are separated by semicolons. */
  headerFields: (credentials: string): string[] => credentials.split(';'),

  /** signatures/header-fields: there are five. */
  fieldCountTaken: (count: number): boolean => count === 5,

  /** signatures/version: the second field is the literal 1. */
  versionTaken: (version: string): boolean => version === '1',

  /** signatures/timestamp: an integer; how far it may be off is an open question. */
  timestampTaken: (timestamp: string, nowMs: number, profile: Profile): boolean =>
    /^[0-9]{1,15}$/.test(timestamp) && Math.abs(Number(timestamp) - nowMs) < profile.timeWindowMs,

  /** Open question signatures/nonce-length: visible characters without semicolon. */
  nonceTaken: (nonce: string, profile: Profile): boolean =>
    nonce.length <= profile.nonceMaxLength && /^[\x21-\x3a\x3c-\x7e]+$/.test(nonce),

  /** Open question signatures/nonce-reuse. */
  usedNonceTaken: (profile: Profile): boolean => profile.nonceReuse === 'accepted',

  /** signatures/request-method: the method in upper case. */
  signedMethod: (httpMethod: string): string => httpMethod.toUpperCase(),

  /**
   * signatures/data-to-sign, request-method, request-uri, request-body, request-line-feeds, timestamp, nonce: the texts of which
   * one must be signed. `<timestamp>;<nonce>;<METHOD>LF<URI>LF<body>LF` and no other.
   */
  dataToSign: (parts: SignedParts): Uint8Array[] => [
    joinText(`${parts.timestamp};${parts.nonce};${parts.httpMethod}\n${parts.uri}\n`, parts.body),
  ],

  /** signatures/key-id: the keys whose secret or public key may verify a signature that names `key`. */
  signingKeys: (key: ApiKey, _all: () => ApiKey[], _kind: 'hmac' | 'ecc'): ApiKey[] => [key],

  /** signatures/public-key-refuses-hmac: an HMAC is accepted only for a key without a public key. */
  hmacTakenFor: (key: ApiKey): boolean => key.publicKey === undefined,

  /** signatures/secret-key-refuses-ecc: an ED25519 signature is accepted only for a key with a public key. */
  eccTakenFor: (key: ApiKey): boolean => key.publicKey !== undefined,

  /** signatures/hmac: HMAC-SHA256 with the secret's UTF-8 bytes as key. */
  mac: (data: Uint8Array, key: ApiKey): Buffer => createHmac('sha256', key.macKey).update(data).digest(),

  /** signatures/hmac, signatures/hmac-length: the first 20 bytes are sent. */
  macBytes: (): number => 20,

  /** signatures/hmac-encoding: the texts that stand for a MAC; BASE64 only. `mac` has all 32 bytes, `bytes` the sent ones. */
  macTexts: (bytes: Buffer, _mac: Buffer, profile: Profile): string[] => {
    const text = bytes.toString('base64')
    return profile.unpaddedSignatures === 'accepted' ? [text, text.replace(/=+$/, '')] : [text]
  },

  /** signatures/hmac, signatures/hmac-length: equal as a whole, in constant time. */
  macTextMatches: (received: string, expected: string): boolean => sameText(received, expected),

  /** signatures/ecc-encoding: the bytes that a received ED25519 signature may stand for; strict BASE64 only. */
  eccSignatures: (received: string, profile: Profile): Buffer[] => {
    const bytes = decodeBase64(received, { unpadded: profile.unpaddedSignatures === 'accepted' })
    return bytes === undefined ? [] : [bytes]
  },

  /** signatures/ecc, signatures/ecc-malleability: pure ED25519 with S below L; small-order points are refused. */
  eccVerifies: (publicKey: KeyObject, data: Uint8Array, signature: Buffer): boolean =>
    signature.length === 64 && !isWeakPoint(signature.subarray(0, 32)) && verify(null, data, publicKey, signature),
}
