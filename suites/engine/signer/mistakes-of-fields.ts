/** Known mistakes in the header around the signature. They are read off the header, not searched for. */
import { utf8 } from './bytes.ts'
import { replace } from './data-to-sign.ts'
import type { Draft } from './draft.ts'
import { fieldsMistake, headerMistake, type KnownMistake, type Said } from './mistake.ts'

const inTheHeader = 'signatures/header-fields'
const five = 'Send key id, 1, timestamp, nonce and signature, joined with semicolons and nothing else'

// biome-ignore lint/complexity/useMaxParams: the calls are the rows of a table
const said = (id: string, title: string, when: string, requirement = inTheHeader, fix = five): Said => ({
  id: `fields/${id}`,
  title,
  requirement,
  fix,
  when,
})

const milliseconds = 'Use milliseconds (13 digits), in the data and in the header alike'

/** By name, for the reader of headers. */
export const headerMistakes = {
  tooFew: fieldsMistake(
    said('one-too-few', 'The header has too few fields', 'the version field is left out'),
    (fields) => fields.filter((_, at) => at !== 1),
  ),
  tooMany: fieldsMistake(said('one-too-many', 'The header has too many fields', 'a sixth field follows'), (fields) => [
    ...fields,
    'extra',
  ]),
  commas: fieldsMistake(
    said('with-commas', 'The fields of the header are joined with commas', 'commas join the fields of the header'),
    (fields) => [fields.join(',')],
  ),
  colons: fieldsMistake(
    said('with-colons', 'The fields of the header are joined with colons', 'colons join the fields of the header'),
    (fields) => [fields.join(':')],
  ),
  spaces: fieldsMistake(
    said(
      'with-spaces',
      'There are spaces around the fields of the header',
      'spaces stand around the fields of the header',
    ),
    (fields) => [fields.join('; ')],
  ),
  order: fieldsMistake(
    said('in-another-order', 'The fields of the header are in another order', 'the nonce stands before the timestamp'),
    ([keyId = '', version = '', timestamp = '', nonce = '', signature = '']) => [
      keyId,
      version,
      nonce,
      timestamp,
      signature,
    ],
  ),
  otherVersion: headerMistake(
    said(
      'other-version',
      'The second field of the header is not 1',
      'the second field is 2',
      'signatures/version',
      'Send the literal 1 as the second field',
    ),
    (draft) => ({ ...draft, sent: { ...draft.sent, version: '2' } }),
  ),
  otherKeyId: headerMistake(
    said(
      'other-key-id',
      'The header names another key than the one whose secret or private key is given',
      'another key id is sent',
      'signatures/key-id',
      'Send the id of the key that signs',
    ),
    (draft) => ({ ...draft, sent: { ...draft.sent, keyId: 'another-key' } }),
  ),
  noScheme: headerMistake(
    said(
      'without-scheme',
      'The header has no scheme word',
      'no scheme word is sent',
      'signatures/scheme',
      'Begin the header with the scheme word and one space',
    ),
    (draft) => ({ ...draft, scheme: '' }),
  ),
  seconds: headerMistake(
    said(
      'timestamp-in-seconds',
      'The timestamp is in seconds',
      'the timestamp is in seconds',
      'signatures/timestamp',
      milliseconds,
    ),
    (draft) => withTimestamp(draft, (text) => text.slice(0, 10)),
  ),
  microseconds: headerMistake(
    said(
      'timestamp-in-microseconds',
      'The timestamp is in microseconds',
      'the timestamp is in microseconds',
      'signatures/timestamp',
      milliseconds,
    ),
    (draft) => withTimestamp(draft, (text) => `${text}000`),
  ),
  noInteger: headerMistake(
    said(
      'timestamp-no-integer',
      'The timestamp is not an integer',
      'the timestamp is not an integer',
      'signatures/timestamp',
      milliseconds,
    ),
    (draft) => withTimestamp(draft, (text) => new Date(Number(text)).toISOString()),
  ),
  emptyNonce: headerMistake(
    said(
      'empty-nonce',
      'The nonce is empty',
      'the nonce is empty',
      'signatures/nonce',
      'Choose a fresh nonce for every request',
    ),
    (draft) => ({
      ...draft,
      sent: { ...draft.sent, nonce: '' },
      pieces: replace(draft.pieces, 'nonce', () => utf8('')),
    }),
  ),
} as const

export const fieldsMistakes: readonly KnownMistake[] = Object.values(headerMistakes)

function withTimestamp(draft: Draft, change: (text: string) => string): Draft | null {
  if (!/^\d{13}$/.test(draft.sent.timestamp)) return null
  const timestamp = change(draft.sent.timestamp)
  return {
    ...draft,
    sent: { ...draft.sent, timestamp },
    pieces: replace(draft.pieces, 'timestamp', () => utf8(timestamp)),
  }
}
