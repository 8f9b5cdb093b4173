/** Signs a request, rightly or with one deliberate mistake. Pure: time and nonces come in. */

import { SuiteError } from '../errors.ts'
import { utf8 } from './bytes.ts'
import type { SignedParts } from './data-to-sign.ts'
import { type Origin, piece } from './data-to-sign.ts'
import { type Draft, rightDraft, type Signed, type SigningKey, signDraft } from './draft.ts'
import { sha256 } from './hmac.ts'
import type { KnownMistake } from './mistake.ts'
import { findMistake, wordsOf } from './mistakes.ts'
import { secretBytes } from './mistakes-of-key.ts'

/** One deliberate mistake in a signed request; everything else is right. The words of `data`, `signature` and `fields` are in mistakes.ts. */
export interface Mistake {
  'key-id'?: string
  secret?: string
  version?: string
  /** Both signed and sent. */
  nonce?: string
  /** Both signed and sent, as written. */
  timestamp?: string | number
  /** These values are signed, and the true ones are sent. */
  signed?: { method?: string; path?: string; body?: string; timestamp?: string | number; nonce?: string }
  /** Only a part of the signature is sent: of its text, or of its bytes before they are encoded. */
  cut?: { characters: number | string } | { bytes: number | string }
  /** Appended to a field of the header; the field is signed without it. */
  appended?: { timestamp?: string; nonce?: string; signature?: string }
  /** Prepended to a field of the header; the field is signed without it. */
  prepended?: { timestamp?: string }
  data?: string
  signature?: string
  fields?: string
}

export type { Signed, SigningKey } from './draft.ts'

export interface SignInput extends SignedParts {
  /** The scheme word of the header. */
  scheme: string
  keyId: string
  key: SigningKey
  /** The whole URL that is called; only mistakes use it. */
  url?: string | undefined
}

/**
 * Every stage of the signature of a request (signatures/data-to-sign, signatures/hmac, signatures/ecc).
 * With `mistake` that one thing is wrong and everything else is right.
 * Throws a SuiteError where a word of the mistake is unknown, cannot be made with this key or changes nothing here.
 */
export function sign(input: SignInput, mistake: Mistake = {}): Signed {
  return signDraft(deliberate(draftOf(input), mistake))
}

/** The right draft of a request, as a base for mistakes. */
export function draftOf(input: SignInput, otherKeys: readonly SigningKey[] = []): Draft {
  const { scheme, keyId, key, url = `http://127.0.0.1${input.uri}` } = input
  return rightDraft(scheme, keyBytesOf(key), { keyId, key, url, otherKeys }, input)
}

/**
 * A nonce whose right signature contains `+` or `/` and so differs between base64 and base64url (42 % of HMACs do not).
 * `nextNonce` makes a new nonce at each call.
 */
export function nonceWithBase64Marks(input: Omit<SignInput, 'nonce'>, nextNonce: () => string): string {
  for (;;) {
    const nonce = nextNonce()
    if (/[+/]/.test(sign({ ...input, nonce }).signature)) return nonce
  }
}

/** Whether the mistake shows only in signatures with `+` or `/`: others would be right by accident. Take the nonce from nonceWithBase64Marks. */
export function needsBase64Marks(mistake: Mistake): boolean {
  return ['base64url', 'percent-encoded', 'spaces-for-plus'].includes(mistake.signature ?? '')
}

function keyBytesOf(key: SigningKey): Uint8Array {
  if (key.kind === 'secret') return secretBytes(key.secret)
  return key.kind === 'ed25519' ? key.seed : new Uint8Array(0)
}

function deliberate(right: Draft, mistake: Mistake): Draft {
  const named: [KnownMistake, string][] = []
  for (const group of ['data', 'signature', 'fields'] as const) {
    const word = mistake[group]
    if (word !== undefined) named.push([known(group, word), `${group}: ${word}`])
  }
  const worded = named.reduce(
    (draft, [entry, words]) => {
      const next = entry.apply(draft)
      if (next === null) throw unmakeable(words)
      return demandChange(draft, next, words)
    },
    substituted(right, mistake),
  )
  const { cut, appended, prepended } = mistake
  if (cut === undefined && appended === undefined && prepended === undefined) return worded
  const next = inHeader(withCut(worded, cut), mistake)
  return demandChange(worded, next, JSON.stringify({ cut, appended, prepended }))
}

/** @throws SuiteError where a mistake changes nothing in the header */
function demandChange(draft: Draft, next: Draft, words: string): Draft {
  if (signDraft(next).header === signDraft(draft).header) throw unmakeable(words)
  return next
}

function withCut(draft: Draft, cut: Mistake['cut']): Draft {
  if (cut === undefined) return draft
  return 'bytes' in cut
    ? { ...draft, cut: (whole) => draft.cut(whole).slice(0, Number(cut.bytes)) }
    : { ...draft, encode: (bytes) => draft.encode(bytes).slice(0, Number(cut.characters)) }
}

/** The header with texts added around the signed fields. */
function inHeader(draft: Draft, { appended = {}, prepended = {} }: Mistake): Draft {
  const { timestamp, nonce } = draft.sent
  return {
    ...draft,
    sent: {
      ...draft.sent,
      timestamp: `${prepended.timestamp ?? ''}${timestamp}${appended.timestamp ?? ''}`,
      nonce: `${nonce}${appended.nonce ?? ''}`,
    },
    encode: (bytes) => `${draft.encode(bytes)}${appended.signature ?? ''}`,
  }
}

/** The draft with other values than the true ones, as the mistake gives them. */
function substituted(right: Draft, mistake: Mistake): Draft {
  const sent = {
    keyId: mistake['key-id'] ?? right.sent.keyId,
    version: mistake.version ?? right.sent.version,
    timestamp: String(mistake.timestamp ?? right.sent.timestamp),
    nonce: mistake.nonce ?? right.sent.nonce,
  }
  const { method, path, body, timestamp, nonce } = mistake.signed ?? {}
  const signed: { [origin in Origin]?: string | number | undefined } = {
    timestamp: timestamp ?? sent.timestamp,
    nonce: nonce ?? sent.nonce,
    method,
    uri: path,
    body,
  }
  const pieces = right.pieces.map((part) => {
    const value = signed[part.origin]
    return value === undefined ? part : piece(part.origin, String(value))
  })
  return { ...right, sent, pieces, key: otherKey(right, mistake.secret) }
}

/** The key bytes with another secret; for an Ed25519 key a seed derived from that secret, so another private key. */
function otherKey(right: Draft, secret: string | undefined): Uint8Array {
  if (secret === undefined) return right.key
  return right.algorithm.kind === 'mac' ? utf8(secret) : sha256(utf8(secret))
}

function known(group: 'data' | 'signature' | 'fields', word: string): KnownMistake {
  const found = findMistake(group, word)
  if (found !== undefined) return found
  throw new SuiteError('fixture', `Unknown mistake "${group}: ${word}", known are ${wordsOf(group).join(', ')}`)
}

function unmakeable(words: string): SuiteError {
  return new SuiteError('fixture', `Cannot make the mistake "${words}": it changes nothing in this request`)
}
