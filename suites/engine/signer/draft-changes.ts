/** What can be done to which part of a signed call: functions from a draft to a draft. Mistakes are made of them, and the key `alter` of a step. */
import { isObject, type JsonObject } from '../json.ts'
import { jsonOf, styleOf, writeJson } from './bodies.ts'
import { fromUtf8, sameBytes, utf8 } from './bytes.ts'
import { type Draft, joinPieces, type Origin, type Piece, piece } from './draft.ts'
import { sha256 } from './hmac.ts'

export interface DraftChange {
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
    return made === undefined ? null : utf8(writeJson(made, styleOf(raw)))
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

/** Another text or other bytes in the place of a part. */
interface Write {
  text: (text: string) => string
  bytes: (bytes: Uint8Array) => Uint8Array
}

/** A text that is sent; the right one is signed. */
const sent =
  (name: keyof Draft['sent']) =>
  (draft: Draft, { text }: Write): Draft => ({
    ...draft,
    sent: { ...draft.sent, [name]: text(draft.sent[name]) },
  })

/** A text that is signed; the right one is sent. */
const signed =
  (origin: Origin) =>
  (draft: Draft, { text }: Write): Draft => ({
    ...draft,
    pieces: draft.pieces.map((one) => (one.origin === origin ? piece(origin, text(fromUtf8(one.bytes) ?? '')) : one)),
  })

/** In the order in which they are made: what is signed before the data as a whole. */
const partsOfDraft: { readonly [part: string]: (draft: Draft, write: Write) => Draft | null } = {
  scheme: (draft, { text }) => ({ ...draft, scheme: text(draft.scheme) }),
  gap: (draft, { text }) => ({ ...draft, gap: text(draft.gap) }),
  fields: (draft, { text }) => ({ ...draft, fields: (inOrder) => [text(draft.fields(inOrder).join(';'))] }),
  'key-id': sent('keyId'),
  version: sent('version'),
  timestamp: sent('timestamp'),
  nonce: sent('nonce'),
  signature: (draft, { text }) => ({ ...draft, encode: (bytes) => text(draft.encode(bytes)) }),
  'signed-timestamp': signed('timestamp'),
  'signed-nonce': signed('nonce'),
  'signed-method': signed('method'),
  'signed-uri': signed('uri'),
  'signed-body-text': signed('body'),
  data: (draft, { text }) => ({ ...draft, pieces: [piece('other', text(fromUtf8(joinPieces(draft.pieces)) ?? ''))] }),
  // For an Ed25519 key a seed derived from that secret, so another private key.
  secret: (draft, { text }) =>
    draft.algorithm.kind === 'mac'
      ? { ...draft, key: utf8(text(fromUtf8(draft.key) ?? '')) }
      : { ...draft, key: sha256(utf8(text(''))) },
  mac: (draft, { bytes }) => {
    const { algorithm: right } = draft
    if (right.kind !== 'mac') return null
    return { ...draft, algorithm: { kind: 'mac', compute: (by, over) => bytes(right.compute(by, over)) } }
  },
  seed: (draft, { bytes }) => (draft.algorithm.kind === 'ed25519' ? { ...draft, key: bytes(draft.key) } : null),
  'signature-bytes': (draft, { bytes }) => ({ ...draft, cut: (whole) => bytes(draft.cut(whole)) }),
}

/** A draft with one part changed, by the name that fixtures use; null where this call has no such part. */
export function changePart(draft: Draft, part: string, write: Write): Draft | null {
  return partsOfDraft[part]?.(draft, write) ?? null
}

/** The parts of a signed call, in the order in which to change them. */
export const draftParts: readonly string[] = Object.keys(partsOfDraft)
