/** What can be done to which part of a signed call: functions from a draft to a draft. Mistakes are made of them, and the key `alter` of a step. */
import { isObject, type JsonObject } from '../json.ts'
import { jsonOf, writtenLike } from './bodies.ts'
import { fromUtf8, sameBytes } from './bytes.ts'
import { type Draft, joinPieces, type Origin, type Piece, piece } from './draft.ts'

interface DraftChange {
  /** Where in the computation it happens. */
  readonly stage: 'data' | 'key' | 'algorithm' | 'cut' | 'encoding' | 'fields'
  /** Returns the draft with this change; null if it changes nothing or cannot be made. */
  apply(draft: Draft): Draft | null
}

/** A change of the data to sign; null from `change`: it cannot be made here. */
export function ofData(
  change: (pieces: readonly Piece[], around: Draft['around']) => readonly Piece[] | null,
): DraftChange {
  const apply = (draft: Draft): Draft | null => {
    const pieces = change(draft.pieces, draft.around)
    return pieces === null || sameBytes(joinPieces(pieces), joinPieces(draft.pieces)) ? null : { ...draft, pieces }
  }
  return { stage: 'data', apply }
}

/** Other bytes in every piece of one origin; null from `write`: it cannot be made here. */
export function ofBytes(origin: Origin, write: (bytes: Uint8Array) => Uint8Array | null): DraftChange {
  return ofData((pieces) => {
    const made = pieces.map((one) => (one.origin === origin ? write(one.bytes) : one.bytes))
    return made.includes(null) ? null : pieces.map((one, at) => withBytes(one, made[at] ?? one.bytes))
  })
}

/** Other texts in the pieces of one origin; bytes that are not UTF-8 have none. */
export function ofText(origin: Origin, write: (text: string, around: Draft['around']) => string): DraftChange {
  return ofData((pieces, around) => withText(pieces, origin, (text) => write(text, around)))
}

export function withText(pieces: readonly Piece[], origin: Origin, write: (text: string) => string): Piece[] {
  return pieces.map((one) => {
    const text = one.origin === origin ? fromUtf8(one.bytes) : null
    return text === null ? one : piece(origin, write(text))
  })
}

/** A piece that stays the same is kept, because the search sees by it what a mistake has changed. */
const withBytes = (one: Piece, bytes: Uint8Array): Piece => (bytes === one.bytes ? one : { origin: one.origin, bytes })

/** The body parsed, changed and written in its own style, so that the change is the only difference. */
export function ofBodyValue(change: (value: JsonObject) => unknown): DraftChange {
  return ofBytes('body', (raw) => {
    const value = jsonOf(raw)
    const made = isObject(value) ? change(value) : undefined
    return made === undefined ? null : writtenLike(raw, made)
  })
}

/** Other bytes as the key; null from `change`: it cannot be made here. */
export function ofKey(change: (draft: Draft) => Uint8Array | null): DraftChange {
  const apply = (draft: Draft): Draft | null => {
    const bytes = change(draft)
    return bytes === null || sameBytes(bytes, draft.key) ? null : { ...draft, key: bytes }
  }
  return { stage: 'key', apply }
}
