/**
 * The data to sign as a list of pieces, each with its origin, so that a mistake can change one piece and a reader can see
 * which byte comes from where. signatures/data-to-sign: `<timestamp>;<nonce>;<METHOD>LF<URI>LF<body>LF`.
 */
import { concat, fromUtf8, utf8 } from './bytes.ts'

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

export interface Piece {
  readonly origin: Origin
  readonly bytes: Uint8Array
}

/** What is signed. */
export interface SignedParts {
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

/** The data to sign, piece by piece. */
export function piecesOf(parts: SignedParts): Piece[] {
  return [
    piece('timestamp', parts.timestamp),
    piece('separator', ';'),
    piece('nonce', parts.nonce),
    piece('separator', ';'),
    piece('method', parts.method.toUpperCase()),
    piece('line-end', '\n'),
    piece('uri', parts.uri),
    piece('line-end', '\n'),
    { origin: 'body', bytes: parts.body },
    piece('line-end', '\n'),
  ]
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
  const nonceOrTimestamp = (at: Piece) => at.origin === 'timestamp' || at.origin === 'nonce'
  let last = -1
  pieces.forEach((at, index) => {
    if (nonceOrTimestamp(at)) last = index
  })
  // The separator after the last of them belongs to the fields, not to the request.
  const start = pieces[last + 1]?.origin === 'separator' ? last + 2 : last + 1
  return joinPieces(pieces.slice(start))
}

/** The pieces with other bytes in every piece of one origin. */
export function replace(pieces: readonly Piece[], origin: Origin, change: (bytes: Uint8Array) => Uint8Array): Piece[] {
  return pieces.map((piece) => (piece.origin === origin ? { origin, bytes: change(piece.bytes) } : piece))
}

/** The pieces with another text in every piece of one origin. */
export function mapText(pieces: readonly Piece[], origin: Origin, change: (text: string) => string): Piece[] {
  return replace(pieces, origin, (bytes) => utf8(change(fromUtf8(bytes) ?? '')))
}

/** Removes one part and the separator or line end after it; null if there is no such part. */
export function without(pieces: readonly Piece[], origin: Origin): Piece[] | null {
  const at = pieces.findIndex((part) => part.origin === origin)
  if (at < 0) return null
  const mark = pieces[at + 1]?.origin
  const width = mark === 'separator' || mark === 'line-end' ? 2 : 1
  return [...pieces.slice(0, at), ...pieces.slice(at + width)]
}

/** The pieces with the first part of two origins in each other's place; null where one is missing. */
export function exchanged(pieces: readonly Piece[], one: Origin, other: Origin): Piece[] | null {
  const first = pieces.find(({ origin }) => origin === one)
  const second = pieces.find(({ origin }) => origin === other)
  if (first === undefined || second === undefined) return null
  return pieces.map((part) => (part === first ? second : part === second ? first : part))
}
