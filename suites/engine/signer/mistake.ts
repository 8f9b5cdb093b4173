/** The type of known mistakes, and builders for their common forms. */
import { sameBytes } from './bytes.ts'
import { joinPieces, type Piece, replace } from './data-to-sign.ts'
import type { Draft } from './draft.ts'

export interface KnownMistake {
  /** `data/…`, `key/…`, `signature/…` or `fields/…`; behind the slash is the word that fixtures use. */
  readonly id: string
  /** What the client did, as a claim. */
  readonly title: string
  /** Id in spec/requirements.yaml: the sentence it breaks. */
  readonly requirement: string
  /** What the author of a client should do instead; server-mistakes.ts speaks to the author of a server. */
  readonly fix: string
  /** Completes "The server accepts this call when …". */
  readonly when: string
  /** Where in the computation it happens. */
  readonly stage: 'data' | 'key' | 'algorithm' | 'cut' | 'encoding' | 'fields'
  /** Whether the diagnosis looks for it by computing the signature with it; others are read off the header, or only made. */
  readonly found: boolean
  /** Returns the draft with this mistake; null if it changes nothing or cannot be made. */
  apply(draft: Draft): Draft | null
}

/** The parts of a mistake that are written by hand. */
export type Said = Pick<KnownMistake, 'id' | 'title' | 'requirement' | 'fix' | 'when'> & { found?: boolean }

/** A mistake in the data to sign. Null from `change`: cannot be made here. */
export function dataMistake(
  said: Said,
  change: (pieces: readonly Piece[], draft: Draft) => Piece[] | null,
): KnownMistake {
  return known(said, 'data', (draft) => {
    const pieces = change(draft.pieces, draft)
    if (pieces === null || sameBytes(joinPieces(pieces), joinPieces(draft.pieces))) return null
    return { ...draft, pieces }
  })
}

/** A mistake in the body that is signed; the body on the wire stays. */
export function bodyMistake(said: Said, change: (body: Uint8Array) => Uint8Array | null): KnownMistake {
  return dataMistake(said, (pieces) => {
    const before = pieces.find(({ origin }) => origin === 'body')
    const bytes = before === undefined ? null : change(before.bytes)
    return bytes === null ? null : replace(pieces, 'body', () => bytes)
  })
}

/** A mistake in which bytes are the key. */
export function keyMistake(said: Said, change: (draft: Draft) => Uint8Array | null): KnownMistake {
  return known(said, 'key', (draft) => {
    const key = change(draft)
    return key === null || sameBytes(key, draft.key) ? null : { ...draft, key }
  })
}

/** A mistake in how the data become bytes of a signature. */
export function algorithmMistake(said: Said, change: (draft: Draft) => Draft | null): KnownMistake {
  return known(said, 'algorithm', change)
}

/** A mistake in which of the computed bytes are sent. `change` gets what the right cut would send, and everything. */
export function cutMistake(
  said: Said,
  change: (right: Uint8Array, whole: Uint8Array) => Uint8Array,
  only: 'mac' | 'ed25519' | 'both' = 'both',
): KnownMistake {
  return known(said, 'cut', (draft) =>
    only !== 'both' && draft.algorithm.kind !== only
      ? null
      : { ...draft, cut: (whole) => change(draft.cut(whole), whole) },
  )
}

/** A mistake in how the bytes of the signature become text. `change` gets the bytes and the right text. */
export function encodingMistake(said: Said, change: (bytes: Uint8Array, text: string) => string): KnownMistake {
  return known(said, 'encoding', (draft) => ({ ...draft, encode: (bytes) => change(bytes, draft.encode(bytes)) }))
}

/** A mistake in the list of fields of the header. */
export function fieldsMistake(said: Said, change: (inOrder: string[]) => string[]): KnownMistake {
  return known({ ...said, found: false }, 'fields', (draft) => ({
    ...draft,
    fields: (inOrder) => change(draft.fields(inOrder)),
  }))
}

/** A mistake that is recognised by its form and never made here. */
export function recognised(said: Said): KnownMistake {
  return known({ ...said, found: false }, 'encoding', () => null)
}

/** A mistake that changes both what is signed and what the header carries. */
export function headerMistake(said: Said, change: (draft: Draft) => Draft | null): KnownMistake {
  return known({ ...said, found: false }, 'fields', change)
}

function known(said: Said, stage: KnownMistake['stage'], apply: KnownMistake['apply']): KnownMistake {
  return { found: true, ...said, stage, apply }
}
