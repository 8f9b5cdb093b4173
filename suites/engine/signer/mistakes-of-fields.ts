/** Known mistakes in the header around the signature. They are read off the header, not searched for. */
import { utf8 } from './bytes.ts'
import { replace } from './data-to-sign.ts'
import type { Draft } from './draft.ts'
import { headerMistake, type KnownMistake } from './mistake.ts'
import { milliseconds } from './mistakes-of-data.ts'

/** By name, for the reader of headers. */
export const headerMistakes = {
  tooFew: ofFields('one-too-few', 'the header has too few fields', (fields) => fields.filter((_, at) => at !== 1)),
  tooMany: ofFields('one-too-many', 'the header has too many fields', (fields) => [...fields, 'extra']),
  commas: ofFields('with-commas', 'the fields of the header are joined with commas', (fields) => [fields.join(',')]),
  colons: ofFields('with-colons', 'the fields of the header are joined with colons', (fields) => [fields.join(':')]),
  spaces: ofFields('with-spaces', 'there are spaces around the fields of the header', (fields) => [fields.join('; ')]),
  order: ofFields(
    'in-another-order',
    'the fields of the header are in another order',
    ([keyId = '', version = '', timestamp = '', nonce = '', signature = '']) => [
      keyId,
      version,
      nonce,
      timestamp,
      signature,
    ],
  ),
  otherVersion: ofHeader('other-version', 'signatures/version', 'the second field of the header is not 1', (draft) => ({
    ...draft,
    sent: { ...draft.sent, version: '2' },
  })),
  otherKeyId: ofHeader(
    'other-key-id',
    'signatures/key-id',
    'the header names another key than the one whose secret or private key is given',
    (draft) => ({ ...draft, sent: { ...draft.sent, keyId: 'another-key' } }),
  ),
  noScheme: ofHeader('without-scheme', 'signatures/scheme', 'the header has no scheme word', (draft) => ({
    ...draft,
    scheme: '',
  })),
  seconds: ofTimestamp('timestamp-in-seconds', 'the timestamp is in seconds', (text) => text.slice(0, 10)),
  microseconds: ofTimestamp('timestamp-in-microseconds', 'the timestamp is in microseconds', (text) => `${text}000`),
  noInteger: ofTimestamp('timestamp-no-integer', 'the timestamp is not an integer', (text) =>
    new Date(Number(text)).toISOString(),
  ),
  emptyNonce: {
    ...ofHeader('empty-nonce', 'signatures/nonce', 'the nonce is empty', (draft) => withField(draft, 'nonce', '')),
    fix: 'Choose a fresh nonce for every request',
  },
} as const

export const fieldsMistakes: readonly KnownMistake[] = Object.values(headerMistakes)

function ofHeader(
  word: string,
  requirement: string,
  when: string,
  change: (draft: Draft) => Draft | null,
): KnownMistake {
  return headerMistake({ id: `fields/${word}`, requirement, when }, change)
}

function ofFields(word: string, when: string, change: (inOrder: string[]) => string[]): KnownMistake {
  return ofHeader(word, 'signatures/header-fields', when, (draft) => ({
    ...draft,
    fields: (inOrder) => change(draft.fields(inOrder)),
  }))
}

function ofTimestamp(word: string, when: string, write: (text: string) => string): KnownMistake {
  const mistake = ofHeader(word, 'signatures/timestamp', when, (draft) => {
    const { timestamp } = draft.sent
    return /^\d{13}$/.test(timestamp) ? withField(draft, 'timestamp', write(timestamp)) : null
  })
  return { ...mistake, fix: milliseconds }
}

/** A field both signed and sent. */
function withField(draft: Draft, field: 'timestamp' | 'nonce', text: string): Draft {
  return {
    ...draft,
    sent: { ...draft.sent, [field]: text },
    pieces: replace(draft.pieces, field, () => utf8(text)),
  }
}
