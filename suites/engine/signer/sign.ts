/** Signs a request, rightly or with one deliberate mistake. Pure: time and nonces come in. */

import { SuiteError } from '../errors.ts'
import { utf8 } from './bytes.ts'
import { type Draft, draftOf, type Signed, type SignInput, signDraft } from './draft.ts'
import { changePart } from './draft-changes.ts'
import { sha256 } from './hmac.ts'
import { mistakeById, mistakes } from './mistakes.ts'

export { draftOf, type Signed, type SignInput, type SigningKey } from './draft.ts'

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

/**
 * Every stage of the signature of a request (signatures/data-to-sign, signatures/hmac, signatures/ecc).
 * With `mistake` that one thing is wrong and everything else is right.
 * Throws a SuiteError where a word of the mistake is unknown, cannot be made with this key or changes nothing here.
 */
export function sign(input: SignInput, mistake: Mistake = {}): Signed {
  let draft = substituted(draftOf(input), mistake)
  for (const group of ['data', 'signature', 'fields'] as const) {
    const word = mistake[group]
    if (word !== undefined) draft = demandChange(draft, known(group, word).apply(draft), `${group}: ${word}`)
  }
  const { cut, appended, prepended } = mistake
  if (cut !== undefined || appended !== undefined || prepended !== undefined)
    draft = demandChange(draft, cutAndLengthened(draft, mistake), JSON.stringify({ cut, appended, prepended }))
  return signDraft(draft)
}

/** The draft with other values than the true ones, as the mistake gives them. */
function substituted(right: Draft, { secret, signed = {}, ...mistake }: Mistake): Draft {
  const values: { readonly [part: string]: string | number | undefined } = {
    'key-id': mistake['key-id'],
    version: mistake.version,
    timestamp: mistake.timestamp,
    nonce: mistake.nonce,
    'signed-timestamp': signed.timestamp ?? mistake.timestamp,
    'signed-nonce': signed.nonce ?? mistake.nonce,
    'signed-method': signed.method,
    'signed-uri': signed.path,
    'signed-body-text': signed.body,
  }
  const draft = Object.entries(values).reduce(
    (made, [part, value]) => (value === undefined ? made : withText(made, part, () => String(value))),
    right,
  )
  if (secret === undefined) return draft
  // For an Ed25519 key a seed derived from that secret, so another private key.
  return { ...draft, key: right.algorithm.kind === 'mac' ? utf8(secret) : sha256(utf8(secret)) }
}

/** With a part of the signature alone, and with texts added around the signed fields. */
function cutAndLengthened(draft: Draft, { cut, appended = {}, prepended = {} }: Mistake): Draft {
  let made = draft
  if (cut !== undefined && 'bytes' in cut)
    made = { ...draft, cut: (whole) => draft.cut(whole).slice(0, Number(cut.bytes)) }
  else if (cut !== undefined) made = withText(made, 'signature', (text) => text.slice(0, Number(cut.characters)))
  made = withText(made, 'timestamp', (text) => `${prepended.timestamp ?? ''}${text}${appended.timestamp ?? ''}`)
  made = withText(made, 'nonce', (text) => `${text}${appended.nonce ?? ''}`)
  return withText(made, 'signature', (text) => `${text}${appended.signature ?? ''}`)
}

function withText(draft: Draft, part: string, text: (text: string) => string): Draft {
  return changePart(draft, part, { text, bytes: (bytes) => bytes }) ?? draft
}

/** @throws SuiteError where a mistake cannot be made, or changes nothing in the header */
function demandChange(draft: Draft, next: Draft | null, words: string): Draft {
  if (next === null || signDraft(next).header === signDraft(draft).header)
    throw new SuiteError('fixture', `Cannot make the mistake "${words}": it changes nothing in this request`)
  return next
}

function known(group: 'data' | 'signature' | 'fields', word: string) {
  const found = mistakeById(`${group}/${word}`)
  if (found?.made === true) return found
  const words = mistakes.flatMap(({ id, made }) =>
    made && id.startsWith(`${group}/`) ? id.slice(group.length + 1) : [],
  )
  throw new SuiteError('fixture', `Unknown mistake "${group}: ${word}", known are ${words.join(', ')}`)
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
