/**
 * A signature before it is computed: every choice that goes into it is a field, the right choice in each. A mistake is a
 * function from a draft to a draft, so mistakes can be made alone, together, in a fixture, in a run and in the lab.
 */
import { concat, toBase64, utf8 } from './bytes.ts'
import { ed25519Sign, noDomain } from './ed25519.ts'
import { hmacSha256, macBytesSent } from './hmac.ts'

export type Origin =
  | 'timestamp'
  | 'nonce'
  | 'separator'
  | 'method'
  | 'uri'
  | 'body'
  | 'line-end'
  /** Anything else comes from a mistake. */
  | 'other'

/** A part of the data to sign with its origin, so that a mistake can change one piece and a reader can see which byte comes from where. */
export interface Piece {
  readonly origin: Origin
  readonly bytes: Uint8Array
}

/** What is signed. */
interface SignedParts {
  /** Milliseconds since 1970, as written. */
  timestamp: string
  nonce: string
  /** In any case; it is signed in upper case. */
  method: string
  /** `/api` as a rule. */
  uri: string
  /** Exactly as sent. */
  body: Uint8Array
}

/** The data to sign, piece by piece. signatures/data-to-sign: `<timestamp>;<nonce>;<METHOD>LF<URI>LF<body>LF`. */
export function piecesOf({ timestamp, nonce, method, uri, body }: SignedParts): Piece[] {
  const [separator, lineEnd] = [piece('separator', ';'), piece('line-end', '\n')]
  const fields = [piece('timestamp', timestamp), separator, piece('nonce', nonce), separator]
  const request = [piece('method', method.toUpperCase()), lineEnd, piece('uri', uri), lineEnd]
  return [...fields, ...request, { origin: 'body', bytes: body }, lineEnd]
}

/** A piece of text. */
export function piece(origin: Origin, text: string): Piece {
  return { origin, bytes: utf8(text) }
}

/** All bytes of the pieces, in order. */
export function joinPieces(pieces: readonly Piece[]): Uint8Array {
  return concat(...pieces.map(({ bytes }) => bytes))
}

/** The part of the data that the document calls request data: from the method on. */
export function requestDataOf(pieces: readonly Piece[]): Uint8Array {
  const last = pieces.findLastIndex(({ origin }) => origin === 'timestamp' || origin === 'nonce')
  // The separator after the last of them belongs to the fields, not to the request.
  const start = pieces[last + 1]?.origin === 'separator' ? last + 2 : last + 1
  return joinPieces(pieces.slice(start))
}

export const version = '1'

/** The Authorization header of a signed request: `<scheme> <key id>;1;<timestamp>;<nonce>;<signature>` (signatures/header-fields). */
export interface HeaderFields {
  keyId: string
  version: string
  timestamp: string
  nonce: string
  signature: string
}

/** The value of the header; without a scheme word (only ever a mistake) the fields alone. */
export function writeHeader(scheme: string, fields: readonly string[], gap = ' '): string {
  return scheme === '' ? fields.join(';') : `${scheme}${gap}${fields.join(';')}`
}

/** Scheme word and fields of a header value as they stand; an `Authorization:` in front is dropped. */
export function splitHeader(header: string): { scheme: string; fields: string[] } {
  const value = header.trim().replace(/^authorization\s*:\s*/i, '')
  const space = value.indexOf(' ')
  return { scheme: value.slice(0, Math.max(0, space)), fields: value.slice(space + 1).split(';') }
}

export type SigningKey =
  | { kind: 'secret'; secret: string | Uint8Array }
  /** The 32-byte seed of RFC 8032. */
  | { kind: 'ed25519'; seed: Uint8Array }
  /** Enough to check an Ed25519 signature, not to make one. */
  | { kind: 'ed25519-public'; publicKey: Uint8Array }

export interface SignInput extends SignedParts {
  /** The scheme word of the header. */
  scheme: string
  keyId: string
  key: SigningKey
  /** The whole URL that is called; only mistakes use it. */
  url?: string | undefined
}

type Algorithm =
  | { kind: 'mac'; compute(key: Uint8Array, data: Uint8Array): Uint8Array }
  | {
      kind: 'ed25519'
      message(data: Uint8Array): Uint8Array
      domain: Uint8Array
      sign?: Parameters<typeof ed25519Sign>[3]
    }

export interface Draft {
  /** What a mistake may use besides the draft itself; the caller might have mixed up one of the other keys with the right one. */
  readonly around: Pick<SignInput, 'keyId' | 'key' | 'url'> & { readonly otherKeys: readonly SigningKey[] }
  /** What the header carries, the signature apart. */
  readonly sent: Omit<HeaderFields, 'signature'>
  readonly scheme: string
  /** Between the scheme word and the fields. */
  readonly gap: string
  readonly pieces: readonly Piece[]
  /** HMAC key, or Ed25519 seed; empty if only the public key is known. */
  readonly key: Uint8Array
  readonly algorithm: Algorithm
  /** Cuts the computed bytes. */
  readonly cut: (bytes: Uint8Array) => Uint8Array
  readonly encode: (bytes: Uint8Array) => string
  readonly fields: (inOrder: string[]) => string[]
}

/** How a MAC is computed and cut, as the document says. */
export const rightMac: Pick<Draft, 'algorithm' | 'cut'> = {
  algorithm: { kind: 'mac', compute: hmacSha256 },
  cut: (bytes) => bytes.slice(0, macBytesSent),
}
/** How an Ed25519 signature is made: of the data themselves, and sent whole. */
export const rightEd25519: Pick<Draft, 'algorithm' | 'cut'> = {
  algorithm: { kind: 'ed25519', message: (data) => data, domain: noDomain },
  cut: (bytes) => bytes,
}

/** The right draft: header and signed data agree, the key's own algorithm, everything as the document says. */
export function draftOf(input: SignInput, otherKeys: readonly SigningKey[] = []): Draft {
  const { scheme, keyId, key, timestamp, nonce, url = `http://127.0.0.1${input.uri}` } = input
  return {
    around: { keyId, key, url, otherKeys },
    sent: { keyId, version, timestamp, nonce },
    scheme,
    gap: ' ',
    pieces: piecesOf(input),
    key: keyBytesOf(key),
    ...(key.kind === 'secret' ? rightMac : rightEd25519),
    encode: toBase64,
    fields: (inOrder) => inOrder,
  }
}

/** The bytes that sign: those of a secret, or the seed; none of a public key. */
export function keyBytesOf(key: SigningKey): Uint8Array {
  if (key.kind === 'secret') return typeof key.secret === 'string' ? utf8(key.secret) : key.secret
  return key.kind === 'ed25519' ? key.seed : new Uint8Array(0)
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
  const dataToSign = joinPieces(draft.pieces)
  const whole = wholeSignature(draft, dataToSign)
  const signatureBytes = draft.cut(whole)
  const signature = draft.encode(signatureBytes)
  const { keyId, version: sentVersion, timestamp, nonce } = draft.sent
  const fields = draft.fields([keyId, sentVersion, timestamp, nonce, signature])
  const signed = {
    pieces: draft.pieces,
    requestData: requestDataOf(draft.pieces),
    dataToSign,
    ...(draft.algorithm.kind === 'mac' ? { mac: whole, macFirst20: rightMac.cut(whole) } : {}),
    signatureBytes,
    signature,
    header: writeHeader(draft.scheme, fields, draft.gap),
  }
  computed.set(draft, signed)
  return signed
}

/** The MAC or the Ed25519 signature, before anything is cut off. */
export function wholeSignature(draft: Draft, dataToSign: Uint8Array): Uint8Array {
  const { algorithm, key } = draft
  if (algorithm.kind === 'mac') return algorithm.compute(key, dataToSign)
  return ed25519Sign(key, algorithm.message(dataToSign), algorithm.domain, algorithm.sign)
}
