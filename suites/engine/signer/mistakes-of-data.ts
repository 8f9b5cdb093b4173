/** Known mistakes in timestamp and nonce as signed, and in how the data to sign are put together. */
import { fromBase64Loose, fromUtf8, toHex, utf8 } from './bytes.ts'
import { exchanged, mapText, piece, replace, without } from './data-to-sign.ts'
import { type KnownMistake, ofData } from './mistake.ts'

const timestamp = 'signatures/timestamp'
const nonce = 'signatures/nonce'
const order = 'signatures/data-to-sign'

export const milliseconds = 'Use milliseconds (13 digits), in the data and in the header alike'

export const dataMistakes: readonly KnownMistake[] = [
  {
    ...ofTimestamp('with-timestamp-in-seconds', 'the timestamp is signed in seconds', (text) => text.slice(0, 10)),
    fix: milliseconds,
  },
  {
    ...ofTimestamp('with-timestamp-in-microseconds', 'the timestamp is signed in microseconds', (text) => `${text}000`),
    fix: milliseconds,
  },
  ofData(
    'with-timestamp-in-milliseconds',
    timestamp,
    'the timestamp is signed in milliseconds and sent in another unit',
    (pieces) =>
      mapText(pieces, 'timestamp', (text) => {
        if (/^\d{10}$/.test(text)) return `${text}000`
        return /^\d{16}$/.test(text) ? text.slice(0, 13) : text
      }),
  ),
  ofTimestamp('with-iso-timestamp', 'the timestamp is signed as an ISO 8601 text', (text) =>
    new Date(Number(text)).toISOString(),
  ),
  ofData('without-timestamp', order, 'the timestamp is left out of the signed data', (pieces) =>
    without(pieces, 'timestamp'),
  ),
  ofNonce('with-nonce-without-padding', 'the nonce is signed without the = padding that the header carries', (text) =>
    text.replace(/=+$/, ''),
  ),
  ofNonce('with-padded-nonce', 'the nonce is signed with = padding that the header lacks', (text) =>
    text.padEnd(Math.ceil(text.length / 4) * 4, '='),
  ),
  ofData('with-decoded-nonce', nonce, 'the bytes that the nonce encodes in base64 are signed', (pieces) =>
    replace(pieces, 'nonce', (bytes) => fromBase64Loose(fromUtf8(bytes) ?? '') ?? bytes),
  ),
  ofData('with-nonce-in-hex', nonce, 'the nonce is signed in hex', (pieces) =>
    replace(pieces, 'nonce', (bytes) => utf8(toHex(fromBase64Loose(fromUtf8(bytes) ?? '') ?? bytes))),
  ),
  ofNonce('with-base64url-nonce', 'the nonce is signed with - and _ where the header has + and /', (text) =>
    text.replaceAll('+', '-').replaceAll('/', '_'),
  ),
  ofNonce('with-percent-encoded-nonce', 'the nonce is signed percent-encoded', (text) => encodeURIComponent(text)),
  ofData('without-nonce', order, 'the nonce is left out of the signed data', (pieces) => without(pieces, 'nonce')),
  ofData('with-nonce-first', order, 'the nonce is signed before the timestamp', (pieces) =>
    exchanged(pieces, 'timestamp', 'nonce'),
  ),
  ofData('with-request-first', order, 'the request data is signed before timestamp and nonce', (pieces) => {
    const start = pieces.findIndex(({ origin }) => origin === 'method' || origin === 'uri' || origin === 'body')
    const front = pieces.slice(0, start)
    if (front.at(-1)?.origin !== 'separator') return null
    return [...pieces.slice(start), ...front.slice(-1), ...front.slice(0, -1)]
  }),
  ofData('with-uri-first', 'signatures/request-method', 'the URI is signed before the method', (pieces) =>
    exchanged(pieces, 'method', 'uri'),
  ),
  ofData('with-key-id', order, 'the key id is signed in front of the timestamp', (pieces, { keyId }) => [
    piece('other', `${keyId};`),
    ...pieces,
  ]),
  ofData('with-version', order, 'the 1 of the header is signed in front of the timestamp', (pieces) => [
    piece('other', '1;'),
    ...pieces,
  ]),
  ofData(
    'with-key-id-and-version',
    order,
    'the first two header fields are signed in front of the timestamp',
    (pieces, { keyId }) => [piece('other', `${keyId};1;`), ...pieces],
  ),
  ...(
    [
      ['with-commas', 'commas', ','],
      ['with-colons', 'colons', ':'],
      ['with-newlines-for-semicolons', 'line feeds', '\n'],
      ['with-dots', 'dots', '.'],
      ['with-spaces', 'spaces', ' '],
      ['with-spaced-semicolons', 'semicolons and spaces', '; '],
    ] as const
  ).map(([word, name, text]) =>
    ofData(word, order, `timestamp, nonce and request data are joined with ${name}`, (pieces) =>
      replace(pieces, 'separator', () => utf8(text)),
    ),
  ),
  ofData('without-separators', order, 'timestamp, nonce and request data are joined with nothing between', (pieces) =>
    pieces.filter(({ origin }) => origin !== 'separator'),
  ),
  ofData('with-newline-before-method', order, 'a line feed follows the semicolon before the method', (pieces) => {
    const at = pieces.findIndex(({ origin }) => origin === 'method')
    return at < 0 ? null : [...pieces.slice(0, at), piece('line-end', '\n'), ...pieces.slice(at)]
  }),
]

/** A mistake in a timestamp of 13 digits. */
export function ofTimestamp(word: string, when: string, write: (text: string) => string): KnownMistake {
  return ofData(word, timestamp, when, (pieces) =>
    mapText(pieces, 'timestamp', (text) => (/^\d{13}$/.test(text) ? write(text) : text)),
  )
}

/** A mistake in the text of the nonce. */
export function ofNonce(word: string, when: string, write: (text: string) => string): KnownMistake {
  return ofData(word, nonce, when, (pieces) => mapText(pieces, 'nonce', write))
}
