/** What can be done to which part of a signed call: functions from a draft to a draft. Mistakes are made of them, and the key `alter` of a step. */
import { isObject, type JsonObject } from '../json.ts'
import { compact, jsonOf, rewrite, type Style, styleOf, writeJson } from './bodies.ts'
import { fromUtf8, sameBytes, utf8 } from './bytes.ts'
import {
  type Draft,
  joinPieces,
  keyBytesOf,
  type Origin,
  type Piece,
  piece,
  rightEd25519,
  rightMac,
  type Surroundings,
} from './draft.ts'
import { publicKeyOfSeed } from './ed25519.ts'

/** Where in the computation a change happens. */
export type Stage = 'data' | 'key' | 'algorithm' | 'cut' | 'encoding' | 'fields'

export interface DraftChange {
  readonly stage: Stage
  /** Returns the draft with this change; null if it changes nothing or cannot be made. */
  apply(draft: Draft): Draft | null
}

export type WriteText = (text: string) => string
type WriteBytes = (bytes: Uint8Array) => Uint8Array

// ---- the data to sign

/** A change of the data to sign; null from `change`: it cannot be made here. */
export function data(change: (pieces: readonly Piece[], around: Surroundings) => Piece[] | null): DraftChange {
  const apply = (draft: Draft): Draft | null => {
    const pieces = change(draft.pieces, draft.around)
    return pieces === null || sameBytes(joinPieces(pieces), joinPieces(draft.pieces)) ? null : { ...draft, pieces }
  }
  return { stage: 'data', apply }
}

/** Other bytes in every piece of one origin; null from `write`: there are none. */
export function bytesOf(origin: Origin, write: (bytes: Uint8Array) => Uint8Array | null): DraftChange {
  return data((pieces) => {
    const made = pieces.map((one) => (one.origin === origin ? { origin, bytes: write(one.bytes) } : one))
    return made.some(({ bytes }) => bytes === null) ? null : (made as Piece[])
  })
}

/** Another text in every piece of one origin; bytes that are not UTF-8 have none. */
export function textOf(origin: Origin, write: (text: string, around: Surroundings) => string | null): DraftChange {
  return data((pieces, around) => withText(pieces, origin, (text) => write(text, around)))
}

export function withText(
  pieces: readonly Piece[],
  origin: Origin,
  write: (text: string) => string | null,
): Piece[] | null {
  const made = pieces.map((one) => {
    const text = one.origin === origin ? fromUtf8(one.bytes) : undefined
    const written = text === undefined || text === null ? text : write(text)
    return written === undefined ? one : written === null ? null : piece(origin, written)
  })
  return made.includes(null) ? null : (made as Piece[])
}

/** Marks of one kind, separators or line ends, replaced by a text. */
export const marked = (origin: 'separator' | 'line-end', text: string): DraftChange => textOf(origin, () => text)

/** The data without a part and the separator or line end after it. */
export function without(origin: Origin): DraftChange {
  return data((pieces) => {
    const at = pieces.findIndex((part) => part.origin === origin)
    const mark = pieces[at + 1]?.origin
    return at < 0 ? null : pieces.toSpliced(at, mark === 'separator' || mark === 'line-end' ? 2 : 1)
  })
}

/** The first parts of two origins in each other's place. */
export function exchanged(one: Origin, other: Origin): DraftChange {
  return data((pieces) => {
    const first = pieces.find(({ origin }) => origin === one)
    const second = pieces.find(({ origin }) => origin === other)
    if (first === undefined || second === undefined) return null
    return pieces.map((part) => (part === first ? second : part === second ? first : part))
  })
}

/** A text more: at the end, at the beginning, or before the part of an origin. */
export function added(
  text: string,
  where: 'at the end' | 'at the start' | Origin,
  origin: Origin = 'line-end',
): DraftChange {
  return data((pieces) => {
    const at =
      where === 'at the end'
        ? pieces.length
        : where === 'at the start'
          ? 0
          : pieces.findIndex((part) => part.origin === where)
    return at < 0 ? null : pieces.toSpliced(at, 0, piece(origin, text))
  })
}

/** The body parsed, changed and written in its own style, so that the change is the only difference. */
export function bodyValue(change: (value: JsonObject) => unknown): DraftChange {
  return bytesOf('body', (raw) => {
    const value = jsonOf(raw)
    return isObject(value) ? utf8(writeJson(change(value), styleOf(raw))) : null
  })
}

/** The body parsed and written again in the first style that changes it; styles say how they differ from `compact`. */
export function bodyStyle(...styles: readonly Partial<Style>[]): DraftChange {
  return bytesOf('body', (body) => {
    const written = styles.map((style) => rewrite(body, { ...compact, ...style }))
    return written.find((bytes) => bytes !== null && !sameBytes(bytes, body)) ?? null
  })
}

// ---- the key

/** Other bytes as the key; null from `change`: it cannot be made here. */
export function key(change: (draft: Draft) => Uint8Array | null): DraftChange {
  const apply = (draft: Draft): Draft | null => {
    const bytes = change(draft)
    return bytes === null || sameBytes(bytes, draft.key) ? null : { ...draft, key: bytes }
  }
  return { stage: 'key', apply }
}

/** Another key of a secret that is a text. */
export function secret(write: (text: string, keyId: string) => Uint8Array | string | null): DraftChange {
  return key(({ around, algorithm }) => {
    const text = around.key.kind === 'secret' && algorithm.kind === 'mac' ? fromUtf8(keyBytesOf(around.key)) : null
    const made = text === null ? null : write(text, around.keyId)
    return typeof made === 'string' ? utf8(made) : made
  })
}

/** Another private key. It is made with the seed, and can be found with the public key alone. */
export function seed(write: WriteBytes): DraftChange {
  return key((draft) => (draft.algorithm.kind === 'ed25519' && draft.key.length === 32 ? write(draft.key) : null))
}

// ---- the algorithm

/** Another way to compute the bytes of a signature. */
export const algorithm = (apply: DraftChange['apply']): DraftChange => ({ stage: 'algorithm', apply })

/** Another computation of a MAC. */
export function mac(compute: (key: Uint8Array, data: Uint8Array) => Uint8Array): DraftChange {
  return algorithm((draft) =>
    draft.algorithm.kind === 'mac' ? { ...draft, algorithm: { kind: 'mac', compute } } : null,
  )
}

/** An Ed25519 signature of something else than the data, or with a domain. */
export function ecc(message: WriteBytes, domain?: Uint8Array): DraftChange {
  return algorithm((draft) =>
    draft.algorithm.kind === 'ed25519'
      ? { ...draft, algorithm: { ...draft.algorithm, message, ...(domain === undefined ? {} : { domain }) } }
      : null,
  )
}

/** An HMAC where an Ed25519 signature is due. */
export function macForEcc(keyOf: (draft: Draft) => Uint8Array | null): DraftChange {
  return algorithm((draft) => {
    const bytes = draft.algorithm.kind === 'ed25519' ? keyOf(draft) : null
    return bytes === null || bytes.length === 0 ? null : { ...draft, ...rightMac, key: bytes }
  })
}

/** An Ed25519 signature where an HMAC is due. */
export function eccForMac(seedOf: WriteBytes): DraftChange {
  return algorithm((draft) => {
    const bytes = draft.algorithm.kind === 'mac' ? seedOf(draft.key) : new Uint8Array(0)
    return bytes.length === 32 ? { ...draft, ...rightEd25519, key: bytes } : null
  })
}

/** The public key of a draft with an Ed25519 key. */
export function publicKeyOf({ around, key: bytes }: Draft): Uint8Array | null {
  if (around.key.kind === 'ed25519-public') return around.key.publicKey
  return around.key.kind === 'ed25519' ? publicKeyOfSeed(bytes) : null
}

// ---- what is sent

/** Other bytes of the signature. `change` gets what the right cut would send, and everything. */
export function cut(
  change: (right: Uint8Array, whole: Uint8Array) => Uint8Array,
  only?: 'mac' | 'ed25519',
): DraftChange {
  const apply = (draft: Draft): Draft | null =>
    only !== undefined && draft.algorithm.kind !== only
      ? null
      : { ...draft, cut: (whole) => change(draft.cut(whole), whole) }
  return { stage: 'cut', apply }
}

/** Another text of the signature. `change` gets the bytes and the right text. */
export function encoded(change: (bytes: Uint8Array, right: string) => string): DraftChange {
  return {
    stage: 'encoding',
    apply: (draft) => ({ ...draft, encode: (bytes) => change(bytes, draft.encode(bytes)) }),
  }
}

/** Another header around the signature, or a value that is both signed and sent. */
export const header = (apply: DraftChange['apply']): DraftChange => ({ stage: 'fields', apply })

/** The fields of the header in another form. */
export const fields = (change: (inOrder: string[]) => string[]): DraftChange =>
  header((draft) => ({ ...draft, fields: (inOrder) => change(draft.fields(inOrder)) }))

/** Another value in a field, both signed and sent. */
export const field = (name: 'timestamp' | 'nonce', write: (text: string) => string | null): DraftChange =>
  header((draft) => {
    const text = write(draft.sent[name])
    if (text === null) return null
    return { ...draft, sent: { ...draft.sent, [name]: text }, pieces: withText(draft.pieces, name, () => text) ?? [] }
  })

/** What nobody makes on purpose: such a mistake is recognised by its form. */
export const recognised: DraftChange = { stage: 'encoding', apply: () => null }

// ---- the parts that fixtures name

/** Another text or other bytes in the place of a part. */
export interface Write {
  text: WriteText
  bytes: WriteBytes
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
  secret: (draft, { text }) =>
    draft.algorithm.kind === 'mac' ? { ...draft, key: utf8(text(fromUtf8(draft.key) ?? '')) } : null,
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
