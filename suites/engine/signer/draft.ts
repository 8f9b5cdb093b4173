/**
 * A signature before it is computed: every choice that goes into it is a field, the right choice in each. A mistake is a
 * function from a draft to a draft, so mistakes can be made alone, together, in a fixture, in a run and in the lab.
 */
import { toBase64 } from './bytes.ts'
import { joinPieces, type Piece, piecesOf, requestDataOf, type SignedParts } from './data-to-sign.ts'
import { ed25519Sign, noDomain } from './ed25519.ts'
import { type HeaderFields, version, writeHeader } from './header.ts'
import { hmacSha256, macBytesSent } from './hmac.ts'

export type SigningKey =
  | { kind: 'secret'; secret: string | Uint8Array }
  /** The 32-byte seed of RFC 8032. */
  | { kind: 'ed25519'; seed: Uint8Array }
  /** Enough to check an Ed25519 signature, not to make one. */
  | { kind: 'ed25519-public'; publicKey: Uint8Array }

type Algorithm =
  | { kind: 'mac'; compute(key: Uint8Array, data: Uint8Array): Uint8Array }
  | { kind: 'ed25519'; message(data: Uint8Array): Uint8Array; domain: Uint8Array }

/** What a mistake may use besides the draft itself. */
export interface Surroundings {
  keyId: string
  key: SigningKey
  /** The whole URL that was called, where it is known. */
  url?: string | undefined
  /** Other keys that the caller might have mixed up with the right one. */
  otherKeys: readonly SigningKey[]
}

export interface Draft {
  readonly around: Surroundings
  /** What the header carries, the signature apart. */
  readonly sent: Omit<HeaderFields, 'signature'>
  readonly scheme: string
  readonly pieces: readonly Piece[]
  /** HMAC key, or Ed25519 seed; empty if only the public key is known. */
  readonly key: Uint8Array
  readonly algorithm: Algorithm
  /** Cuts the computed bytes. */
  readonly cut: (bytes: Uint8Array) => Uint8Array
  readonly encode: (bytes: Uint8Array) => string
  readonly fields: (inOrder: string[]) => string[]
}

export const first20Bytes = (bytes: Uint8Array): Uint8Array => bytes.slice(0, macBytesSent)
const allBytes = (bytes: Uint8Array): Uint8Array => bytes

const hmac: Algorithm = { kind: 'mac', compute: hmacSha256 }
const ed25519: Algorithm = { kind: 'ed25519', message: (data) => data, domain: noDomain }

/** The right draft: header and signed data agree, the key's own algorithm, everything as the document says. */
export function rightDraft(scheme: string, keyBytes: Uint8Array, around: Surroundings, parts: SignedParts): Draft {
  const withSecret = around.key.kind === 'secret'
  return {
    around,
    sent: { keyId: around.keyId, version, timestamp: parts.timestamp, nonce: parts.nonce },
    scheme,
    pieces: piecesOf(parts),
    key: keyBytes,
    algorithm: withSecret ? hmac : ed25519,
    cut: withSecret ? first20Bytes : allBytes,
    encode: toBase64,
    fields: (inOrder) => inOrder,
  }
}

export interface Signed {
  readonly pieces: readonly Piece[]
  readonly requestData: Uint8Array
  readonly dataToSign: Uint8Array
  /** The whole MAC; only with HMAC. */
  readonly mac?: Uint8Array
  readonly macFirst20?: Uint8Array
  /** What the signature encodes. */
  readonly signatureBytes: Uint8Array
  readonly signature: string
  /** The value of the Authorization header. */
  readonly header: string
}

/** A mistake is compared with what it was made of, so most drafts are asked for twice. */
const computed = new WeakMap<Draft, Signed>()

/** Computes every stage of a draft. Throws a RangeError where an Ed25519 seed is missing. */
export function signDraft(draft: Draft): Signed {
  const known = computed.get(draft)
  if (known !== undefined) return known
  const signed = computeStages(draft)
  computed.set(draft, signed)
  return signed
}

function computeStages(draft: Draft): Signed {
  const dataToSign = joinPieces(draft.pieces)
  const whole = wholeSignature(draft, dataToSign)
  const signatureBytes = draft.cut(whole)
  const signature = draft.encode(signatureBytes)
  const { keyId, version: sentVersion, timestamp, nonce } = draft.sent
  return {
    pieces: draft.pieces,
    requestData: requestDataOf(draft.pieces),
    dataToSign,
    ...(draft.algorithm.kind === 'mac' ? { mac: whole, macFirst20: first20Bytes(whole) } : {}),
    signatureBytes,
    signature,
    header: writeHeader(draft.scheme, draft.fields([keyId, sentVersion, timestamp, nonce, signature])),
  }
}

/** The MAC or the Ed25519 signature, before anything is cut off. */
export function wholeSignature(draft: Draft, dataToSign: Uint8Array): Uint8Array {
  const { algorithm, key } = draft
  if (algorithm.kind === 'mac') return algorithm.compute(key, dataToSign)
  return ed25519Sign(key, algorithm.message(dataToSign), algorithm.domain)
}
