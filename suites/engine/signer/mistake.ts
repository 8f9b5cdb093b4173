/** The type of known mistakes, and builders for their common forms. */
import { sameBytes } from './bytes.ts'
import { joinPieces, type Piece, replace } from './data-to-sign.ts'
import type { Draft, Surroundings } from './draft.ts'

export interface KnownMistake {
  /** `data/…`, `key/…`, `signature/…` or `fields/…`; after the slash is the word that fixtures use. */
  readonly id: string
  /** What the client did, as a claim; completes "The server accepts this call when …". */
  readonly when: string
  /** The same with a capital letter. */
  readonly title: string
  /** Id in spec/requirements.yaml: the sentence it breaks. */
  readonly requirement: string
  /** What the author of a client should do instead; server-mistakes.ts speaks to the author of a server. */
  readonly fix: string
  /** Where in the computation it happens. */
  readonly stage: 'data' | 'key' | 'algorithm' | 'cut' | 'encoding' | 'fields'
  /** Whether the diagnosis looks for it by computing the signature with it; others are read off the header, or only made. */
  readonly found: boolean
  /** Returns the draft with this mistake; null if it changes nothing or cannot be made. */
  apply(draft: Draft): Draft | null
}

/** The parts of a mistake that are written by hand. Without `fix` the one of its requirement applies. */
type MistakeText = Pick<KnownMistake, 'id' | 'requirement' | 'when'> & { fix?: string; found?: boolean }

/** What a client should do to keep a requirement. */
const fixes: { readonly [requirement: string]: string } = {
  'signatures/data-to-sign': 'Sign <timestamp>;<nonce>;<METHOD> LF <URI> LF <body> LF and nothing else',
  'signatures/timestamp': 'Write the timestamp once, as 13 digits, and use this text in the data and in the header',
  'signatures/nonce': 'Sign the nonce exactly as the header carries it',
  'signatures/request-line-feeds': 'End method, URI and body with exactly one LF each',
  'signatures/request-method': 'Begin the request data with the HTTP method of the request, POST, in upper case',
  'signatures/request-uri': 'Sign the URI /api alone, without scheme, host, base path or query',
  'signatures/request-body': 'Sign the body exactly as sent: serialise once, sign these bytes and send these bytes',
  'signatures/hmac': 'Compute HMAC-SHA256 with the secret as the key over the data to sign',
  'signatures/hmac-length': 'Send the first 20 bytes of the 32 of the MAC, no more and no less',
  'signatures/hmac-encoding': 'Encode the bytes of the signature in BASE64 with + and / and with = padding',
  'signatures/ecc': 'Sign the data to sign themselves with plain ED25519',
  'signatures/public-key-refuses-hmac': 'A key with a public key takes only ED25519 signatures by its private key',
  'signatures/secret-key-refuses-ecc': 'A key without a public key takes only HMAC signatures with its secret',
  'signatures/header-fields': 'Send key id, 1, timestamp, nonce and signature, joined with semicolons and nothing else',
  'signatures/version': 'Send the literal 1 as the second field',
  'signatures/key-id': 'Send the id of the key that signs, and sign with its secret or private key',
  'signatures/scheme': 'Begin the header with the scheme word of the target and one space',
}

type ChangeOfPieces = (pieces: readonly Piece[], around: Surroundings) => Piece[] | null

/** A mistake in the data to sign. Null from `change`: cannot be made here. */
export function dataMistake(text: MistakeText, change: ChangeOfPieces): KnownMistake {
  return known(text, 'data', (draft) => {
    const pieces = change(draft.pieces, draft.around)
    if (pieces === null || sameBytes(joinPieces(pieces), joinPieces(draft.pieces))) return null
    return { ...draft, pieces }
  })
}

/** The same, with the fix of its requirement. */
export function ofData(word: string, requirement: string, when: string, change: ChangeOfPieces): KnownMistake {
  return dataMistake({ id: `data/${word}`, requirement, when }, change)
}

/** A mistake in the body that is signed; the body on the wire stays. */
export function ofBody(word: string, when: string, change: (body: Uint8Array) => Uint8Array | null): KnownMistake {
  return ofData(word, 'signatures/request-body', when, (pieces) => {
    const before = pieces.find(({ origin }) => origin === 'body')
    const bytes = before === undefined ? null : change(before.bytes)
    return bytes === null ? null : replace(pieces, 'body', () => bytes)
  })
}

/** A mistake in which bytes are the key. */
export function keyMistake(text: MistakeText, change: (draft: Draft) => Uint8Array | null): KnownMistake {
  return known(text, 'key', (draft) => {
    const key = change(draft)
    return key === null || sameBytes(key, draft.key) ? null : { ...draft, key }
  })
}

/** A mistake in how the data become bytes of a signature. */
export function algorithmMistake(text: MistakeText, change: (draft: Draft) => Draft | null): KnownMistake {
  return known(text, 'algorithm', change)
}

/** A mistake in which of the computed bytes are sent. `change` gets what the right cut would send, and everything. */
export function cutMistake(
  text: MistakeText,
  change: (right: Uint8Array, whole: Uint8Array) => Uint8Array,
  only: 'mac' | 'ed25519' | 'both' = 'both',
): KnownMistake {
  return known(text, 'cut', (draft) =>
    only !== 'both' && draft.algorithm.kind !== only
      ? null
      : { ...draft, cut: (whole) => change(draft.cut(whole), whole) },
  )
}

/** A mistake in how the bytes of the signature become text. `change` gets the bytes and the right text. */
export function encodingMistake(text: MistakeText, change: (bytes: Uint8Array, text: string) => string): KnownMistake {
  return known(text, 'encoding', (draft) => ({ ...draft, encode: (bytes) => change(bytes, draft.encode(bytes)) }))
}

/** A mistake that is recognised by its form and never made here. */
export function recognised(text: MistakeText): KnownMistake {
  return known({ ...text, found: false }, 'encoding', () => null)
}

/** A mistake in the header, or in both the header and what is signed. */
export function headerMistake(text: MistakeText, change: (draft: Draft) => Draft | null): KnownMistake {
  return known({ ...text, found: false }, 'fields', change)
}

function known(text: MistakeText, stage: KnownMistake['stage'], apply: KnownMistake['apply']): KnownMistake {
  const title = text.when.charAt(0).toUpperCase() + text.when.slice(1)
  return { found: true, fix: fixes[text.requirement] ?? '', ...text, title, stage, apply }
}
