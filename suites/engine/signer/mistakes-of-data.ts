/** Known mistakes in timestamp and nonce as signed, and in how the data to sign are put together. */
import { fromBase64Loose, fromUtf8, toHex, utf8 } from './bytes.ts'
import { mapText, piece, replace, without } from './data-to-sign.ts'
import { dataMistake, type KnownMistake } from './mistake.ts'

const method = 'signatures/request-method'
const timestamp = 'signatures/timestamp'
const nonce = 'signatures/nonce'
const order = 'signatures/data-to-sign'

export const dataMistakes: readonly KnownMistake[] = [
  dataMistake(
    {
      id: 'data/with-timestamp-in-seconds',
      title: 'The timestamp is signed in seconds',
      requirement: timestamp,
      fix: 'Use milliseconds (13 digits), in the data and in the header alike',
      when: 'the timestamp is signed in seconds',
    },
    (pieces) => mapText(pieces, 'timestamp', (text) => (/^\d{13}$/.test(text) ? text.slice(0, 10) : text)),
  ),
  dataMistake(
    {
      id: 'data/with-timestamp-in-microseconds',
      title: 'The timestamp is signed in microseconds',
      requirement: timestamp,
      fix: 'Use milliseconds (13 digits), in the data and in the header alike',
      when: 'the timestamp is signed in microseconds',
    },
    (pieces) => mapText(pieces, 'timestamp', (text) => (/^\d{13}$/.test(text) ? `${text}000` : text)),
  ),
  dataMistake(
    {
      id: 'data/with-timestamp-in-milliseconds',
      title: 'The timestamp is signed in milliseconds and sent in another unit',
      requirement: timestamp,
      fix: 'Send the very timestamp that was signed, 13 digits',
      when: 'the timestamp is signed in milliseconds though sent in another unit',
    },
    (pieces) =>
      mapText(pieces, 'timestamp', (text) => {
        if (/^\d{10}$/.test(text)) return `${text}000`
        return /^\d{16}$/.test(text) ? text.slice(0, 13) : text
      }),
  ),
  dataMistake(
    {
      id: 'data/with-iso-timestamp',
      title: 'The timestamp is signed as an ISO 8601 text',
      requirement: timestamp,
      fix: 'Sign the timestamp as the integer that the header carries',
      when: 'the timestamp is signed as an ISO 8601 text',
    },
    (pieces) =>
      mapText(pieces, 'timestamp', (text) => (/^\d{13}$/.test(text) ? new Date(Number(text)).toISOString() : text)),
  ),
  dataMistake(
    {
      id: 'data/without-timestamp',
      title: 'The timestamp is left out of the data to sign',
      requirement: order,
      fix: 'Begin the data with the timestamp and a semicolon',
      when: 'the timestamp is left out of the signed data',
    },
    (pieces) => without(pieces, 'timestamp'),
  ),
  dataMistake(
    {
      id: 'data/with-nonce-without-padding',
      title: 'The nonce is signed without the = padding that the header carries',
      requirement: nonce,
      fix: 'Sign the nonce exactly as the header carries it',
      when: 'the nonce is signed without its = padding',
    },
    (pieces) => mapText(pieces, 'nonce', (text) => text.replace(/=+$/, '')),
  ),
  dataMistake(
    {
      id: 'data/with-padded-nonce',
      title: 'The nonce is signed with = padding that the header lacks',
      requirement: nonce,
      fix: 'Send the nonce exactly as it was signed',
      when: 'the nonce is signed with = padding that the header lacks',
    },
    (pieces) => mapText(pieces, 'nonce', (text) => text.padEnd(Math.ceil(text.length / 4) * 4, '=')),
  ),
  dataMistake(
    {
      id: 'data/with-decoded-nonce',
      title: 'The bytes that the nonce encodes in base64 are signed',
      requirement: nonce,
      fix: 'Treat the nonce as text: sign its characters',
      when: 'the nonce is base64-decoded before it is signed',
    },
    (pieces) => replace(pieces, 'nonce', (bytes) => fromBase64Loose(fromUtf8(bytes) ?? '') ?? bytes),
  ),
  dataMistake(
    {
      id: 'data/with-nonce-in-hex',
      title: 'The nonce is signed in hex',
      requirement: nonce,
      fix: 'Sign the nonce exactly as the header carries it',
      when: 'the nonce is signed in hex',
    },
    (pieces) => replace(pieces, 'nonce', (bytes) => utf8(toHex(fromBase64Loose(fromUtf8(bytes) ?? '') ?? bytes))),
  ),
  dataMistake(
    {
      id: 'data/with-base64url-nonce',
      title: 'The nonce is signed with - and _ where the header has + and /',
      requirement: nonce,
      fix: 'Sign the nonce exactly as the header carries it',
      when: 'the nonce is signed with the base64url alphabet',
    },
    (pieces) => mapText(pieces, 'nonce', (text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ),
  dataMistake(
    {
      id: 'data/with-percent-encoded-nonce',
      title: 'The nonce is signed percent-encoded',
      requirement: nonce,
      fix: 'Sign the nonce exactly as the header carries it',
      when: 'the nonce is signed percent-encoded',
    },
    (pieces) => mapText(pieces, 'nonce', (text) => encodeURIComponent(text)),
  ),
  dataMistake(
    {
      id: 'data/without-nonce',
      title: 'The nonce is left out of the data to sign',
      requirement: order,
      fix: 'Put the nonce and a semicolon after the timestamp',
      when: 'the nonce is left out of the signed data',
    },
    (pieces) => without(pieces, 'nonce'),
  ),
  dataMistake(
    {
      id: 'data/with-nonce-first',
      title: 'The nonce is signed before the timestamp',
      requirement: order,
      fix: 'Sign timestamp, nonce and request data in this order',
      when: 'the nonce is signed before the timestamp',
    },
    (pieces) => {
      const time = pieces.find(({ origin }) => origin === 'timestamp')
      const once = pieces.find(({ origin }) => origin === 'nonce')
      if (time === undefined || once === undefined) return null
      return pieces.map((at) => (at === time ? once : at === once ? time : at))
    },
  ),
  dataMistake(
    {
      id: 'data/with-request-first',
      title: 'The request data is signed before timestamp and nonce',
      requirement: order,
      fix: 'Sign timestamp, nonce and request data in this order',
      when: 'the request data is signed before timestamp and nonce',
    },
    (pieces) => {
      const start = pieces.findIndex(({ origin }) => origin === 'method' || origin === 'uri' || origin === 'body')
      const front = pieces.slice(0, start)
      if (front.at(-1)?.origin !== 'separator') return null
      return [...pieces.slice(start), ...front.slice(-1), ...front.slice(0, -1)]
    },
  ),
  dataMistake(
    {
      id: 'data/with-uri-first',
      title: 'The URI is signed before the method',
      requirement: method,
      fix: 'Sign method, URI and body in this order',
      when: 'the URI is signed before the method',
    },
    (pieces) => {
      const verb = pieces.find(({ origin }) => origin === 'method')
      const path = pieces.find(({ origin }) => origin === 'uri')
      if (verb === undefined || path === undefined) return null
      return pieces.map((at) => (at === verb ? path : at === path ? verb : at))
    },
  ),
  dataMistake(
    {
      id: 'data/with-key-id',
      title: 'The key id is signed in front of the timestamp',
      requirement: order,
      fix: 'Begin the data with the timestamp',
      when: 'the key id is signed in front of the timestamp',
    },
    (pieces, { around }) => [piece('other', `${around.keyId};`), ...pieces],
  ),
  dataMistake(
    {
      id: 'data/with-version',
      title: 'The 1 of the header is signed in front of the timestamp',
      requirement: order,
      fix: 'Begin the data with the timestamp',
      when: 'the 1 of the header is signed in front of the timestamp',
    },
    (pieces) => [piece('other', '1;'), ...pieces],
  ),
  dataMistake(
    {
      id: 'data/with-key-id-and-version',
      title: 'The first two header fields are signed in front of the timestamp',
      requirement: order,
      fix: 'Begin the data with the timestamp',
      when: 'the first two header fields are signed in front of the timestamp',
    },
    (pieces, { around }) => [piece('other', `${around.keyId};1;`), ...pieces],
  ),
  ...[
    { id: 'data/with-commas', name: 'commas', text: ',' },
    { id: 'data/with-colons', name: 'colons', text: ':' },
    { id: 'data/with-newlines-for-semicolons', name: 'line feeds', text: '\n' },
    { id: 'data/with-dots', name: 'dots', text: '.' },
    { id: 'data/with-spaces', name: 'spaces', text: ' ' },
    { id: 'data/with-spaced-semicolons', name: 'semicolons and spaces', text: '; ' },
  ].map(({ id, name, text }) =>
    dataMistake(
      {
        id,
        title: `Timestamp, nonce and request data are joined with ${name}`,
        requirement: order,
        fix: 'Join timestamp, nonce and request data with semicolons',
        when: `timestamp, nonce and request data are joined with ${name}`,
      },
      (pieces) => replace(pieces, 'separator', () => utf8(text)),
    ),
  ),
  dataMistake(
    {
      id: 'data/without-separators',
      title: 'Timestamp, nonce and request data are joined with nothing between',
      requirement: order,
      fix: 'Join timestamp, nonce and request data with semicolons',
      when: 'timestamp, nonce and request data are joined with nothing between',
    },
    (pieces) => pieces.filter(({ origin }) => origin !== 'separator'),
  ),
  dataMistake(
    {
      id: 'data/with-newline-before-method',
      title: 'A line feed follows the semicolon before the method',
      requirement: order,
      fix: 'Put the method right behind the second semicolon',
      when: 'a line feed follows the semicolon before the method',
    },
    (pieces) => {
      const at = pieces.findIndex(({ origin }) => origin === 'method')
      return at < 0 ? null : [...pieces.slice(0, at), piece('line-end', '\n'), ...pieces.slice(at)]
    },
  ),
]
