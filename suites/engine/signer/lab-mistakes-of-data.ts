/** Mistakes in the data to sign that only the diagnosis of a signature looks for. */
import { fromBase64Loose, fromHex, fromLatin1, fromUtf8, toBase64, toHex, utf8 } from './bytes.ts'
import { exchanged, mapText, type Piece, piece, replace, requestDataOf } from './data-to-sign.ts'
import { sha256 } from './hmac.ts'
import { isObject, parseJson } from './json-styles.ts'
import { type KnownMistake, ofData } from './mistake.ts'
import { ofNonce, ofTimestamp } from './mistakes-of-data.ts'
import { ofUri, ofUrl } from './mistakes-of-request.ts'
import { pythonBytes } from './printed-values.ts'

const method = 'signatures/request-method'
const lineFeeds = 'signatures/request-line-feeds'
const order = 'signatures/data-to-sign'
const uri = 'signatures/request-uri'

type Write = (text: string) => string

const iso = (text: string) => new Date(Number(text)).toISOString()

const timestamps: readonly [word: string, how: string, write: Write][] = [
  ['with-timestamp-as-float', 'with .0 after it', (text) => `${text}.0`],
  ['with-timestamp-in-float-seconds', 'in seconds with a fraction', (text) => `${Number(text) / 1000}`],
  [
    'with-timestamp-in-java-exponents',
    'as Java prints a double',
    (text) => `${text[0]}.${text.slice(1).replace(/0+$/, '')}E${text.length - 1}`,
  ],
  [
    'with-timestamp-in-go-exponents',
    'as Go prints a float64',
    (text) => `${text[0]}.${text.slice(1).replace(/0+$/, '')}e+${text.length - 1}`,
  ],
  ['with-timestamp-of-whole-seconds', 'in milliseconds that end in 000', (text) => `${text.slice(0, -3)}000`],
  ['with-timestamp-in-rounded-seconds', 'in seconds, rounded up', (text) => `${Math.ceil(Number(text) / 1000)}`],
  ['with-timestamp-in-nanoseconds', 'in nanoseconds', (text) => `${text}000000`],
  ['with-grouped-timestamp', 'with commas between thousands', (text) => Number(text).toLocaleString('en-US')],
  ['with-timestamp-in-hex', 'in hex', (text) => Number(text).toString(16)],
  ['with-http-date', 'as an HTTP date', (text) => new Date(Number(text)).toUTCString()],
  [
    'with-iso-timestamp-and-offset',
    'as an ISO 8601 text with +00:00, as Python prints it',
    (text) => iso(text).replace('Z', '+00:00'),
  ],
  [
    'with-iso-timestamp-in-microseconds',
    'as an ISO 8601 text with microseconds',
    (text) => iso(text).replace('Z', '000+00:00'),
  ],
  ['with-iso-timestamp-without-zone', 'as an ISO 8601 text without a zone', (text) => iso(text).slice(0, -1)],
  ['with-iso-timestamp-in-seconds', 'as an ISO 8601 text without a fraction', (text) => iso(text).replace(/\.\d+/, '')],
]

const nonces: readonly [word: string, how: string, write: Write][] = [
  ['with-nonce-as-python-bytes', "as Python prints bytes, b'…'", (text) => pythonBytes(utf8(text))],
  ['with-nonce-and-newline', 'with a line feed after it, as base64 tools print it', (text) => `${text}\n`],
  ['with-nonce-lower-case', 'in lower case', (text) => text.toLowerCase()],
  ['with-nonce-upper-case', 'in upper case', (text) => text.toUpperCase()],
  ['with-nonce-without-hyphens', 'without its hyphens', (text) => text.replaceAll('-', '')],
  ['with-quoted-nonce', 'in quotation marks', (text) => `"${text}"`],
  ['with-nonce-in-base64', 'in BASE64, and sent as it was before', (text) => toBase64(utf8(text))],
  ['with-nonce-text-in-hex', 'as the hex of its characters', (text) => toHex(utf8(text))],
  [
    'with-plain-base64-nonce',
    'with + and / where the header has - and _',
    (text) => text.replaceAll('-', '+').replaceAll('_', '/'),
  ],
  ['with-nonce-as-numbers', 'as a list of its bytes', (text) => `${fromBase64Loose(text) ?? utf8(text)}`],
  [
    'with-nonce-printed-by-go',
    'as Go prints its bytes',
    (text) => `[${(fromBase64Loose(text) ?? utf8(text)).join(' ')}]`,
  ],
  [
    'with-nonce-decoded-as-utf8',
    'decoded, as text in UTF-8',
    (text) => new TextDecoder().decode(fromBase64Loose(text) ?? utf8(text)),
  ],
  [
    'with-nonce-decoded-as-latin-1',
    'decoded, as text in ISO 8859-1',
    (text) => fromLatin1(fromBase64Loose(text) ?? utf8(text)),
  ],
  ['with-empty-nonce', 'empty', () => ''],
  ['with-nonce-undefined', 'as the text undefined', () => 'undefined'],
  ['with-nonce-none', 'as the text None', () => 'None'],
  ['with-nonce-null', 'as the text null', () => 'null'],
]

const lineEnds: readonly KnownMistake[] = [
  ofData('with-tripled-newline', lineFeeds, 'the data to sign ends with three line feeds', (pieces) => [
    ...pieces,
    piece('line-end', '\n\n'),
  ]),
  ofData('with-blank-line', lineFeeds, 'an empty line stands before the body, as in HTTP', (pieces) =>
    before(pieces, 'body', piece('line-end', '\n')),
  ),
  ofData('with-line-feeds-before', lineFeeds, 'the line feeds stand before method, URI and body', (pieces) => {
    const rest = pieces.at(-1)?.origin === 'line-end' ? pieces.slice(0, -1) : pieces
    return before(rest, 'method', piece('line-end', '\n'))
  }),
  ofData('without-newline-after-method', lineFeeds, 'the line feed after the method is left out', (pieces) =>
    withoutNext(pieces, 'method'),
  ),
  ofData('without-newline-after-uri', lineFeeds, 'the line feed after the URI is left out', (pieces) =>
    withoutNext(pieces, 'uri'),
  ),
  ...(
    [
      ['spaces', ' '],
      ['semicolons', ';'],
      ['carriage returns', '\r'],
      ['colons', ':'],
      ['bars', '|'],
    ] as const
  ).map(([name, mark]) =>
    ofData(
      `with-${name.replace(' ', '-')}-for-line-feeds`,
      lineFeeds,
      `method, URI and body are signed with ${name} for line feeds`,
      (pieces) => replace(pieces, 'line-end', () => utf8(mark)),
    ),
  ),
  ofData('with-final-semicolon', order, 'the data to sign ends with a semicolon', (pieces) => [
    ...pieces,
    piece('separator', ';'),
  ]),
]

const orders: readonly KnownMistake[] = [
  ofData('with-bars', order, 'timestamp, nonce and request data are joined with bars', (pieces) =>
    replace(pieces, 'separator', () => utf8('|')),
  ),
  ofData('with-body-before-uri', order, 'the body is signed before the URI', (pieces) =>
    exchanged(pieces, 'uri', 'body'),
  ),
  ofData('with-upper-case-request', method, 'method, URI and body are signed in upper case', (pieces) =>
    ['uri', 'body'].reduce<Piece[]>(
      (changed, origin) => mapText(changed, origin as Piece['origin'], (text) => text.toUpperCase()),
      [...pieces],
    ),
  ),
  ofData('with-request-hash', order, 'the hex of the SHA-256 of the request data is signed in its place', (pieces) => {
    const start = pieces.findIndex(({ origin }) => origin === 'method')
    return start < 0 ? null : [...pieces.slice(0, start), piece('other', toHex(sha256(requestDataOf(pieces))))]
  }),
]

const uris: readonly KnownMistake[] = [
  ofUri('with-encoded-uri', 'the URI is signed percent-encoded', (text) => encodeURIComponent(text)),
  ofUri('with-double-slash', 'the URI is signed with two leading slashes', (text) => `/${text}`),
  ofUrl('with-base-url', 'the base URL is signed instead of the URI', (url) => url.replace(/\/api.*$/, '')),
  ofData('with-rpc-method', method, 'the JSON-RPC method is signed as the HTTP method', (pieces) =>
    withRpcMethod(pieces, 'method', (_, name) => name),
  ),
  ofData(
    'with-upper-case-rpc-method',
    method,
    'the JSON-RPC method is signed in upper case as the HTTP method',
    (pieces) => withRpcMethod(pieces, 'method', (_, name) => name.toUpperCase()),
  ),
  ofData('with-rpc-method-as-uri', uri, 'the JSON-RPC method is signed as the URI', (pieces) =>
    withRpcMethod(pieces, 'uri', (_, name) => name),
  ),
  ofData('with-rpc-method-after-uri', uri, 'the JSON-RPC method is signed after the URI', (pieces) =>
    withRpcMethod(pieces, 'uri', (path, name) => `${path}/${name}`),
  ),
]

export const labMistakesOfData: readonly KnownMistake[] = [
  ...timestamps.map(([word, how, write]) => ofTimestamp(word, `the timestamp is signed ${how}`, write)),
  ...nonces.map(([word, how, write]) => ofNonce(word, `the nonce is signed ${how}`, write)),
  ...lineEnds,
  ...orders,
  ...uris,
  ofData('with-hex-decoded-nonce', 'signatures/nonce', 'the bytes that the nonce encodes in hex are signed', (pieces) =>
    replace(pieces, 'nonce', (bytes) => fromHex(fromUtf8(bytes) ?? '') ?? bytes),
  ),
  ofData(
    'with-timestamp-without-fraction',
    'signatures/timestamp',
    'the timestamp is signed without the fraction that is sent',
    (pieces) => mapText(pieces, 'timestamp', (text) => text.replace(/\.\d+$/, '')),
  ),
]

function before(pieces: readonly Piece[], origin: Piece['origin'], extra: Piece): Piece[] | null {
  const at = pieces.findIndex((part) => part.origin === origin)
  return at < 0 ? null : [...pieces.slice(0, at), extra, ...pieces.slice(at)]
}

function withoutNext(pieces: readonly Piece[], origin: Piece['origin']): Piece[] | null {
  const at = pieces.findIndex((part) => part.origin === origin) + 1
  return at < 1 || pieces[at]?.origin !== 'line-end' ? null : [...pieces.slice(0, at), ...pieces.slice(at + 1)]
}

function withRpcMethod(
  pieces: readonly Piece[],
  origin: 'method' | 'uri',
  change: (text: string, name: string) => string,
): Piece[] | null {
  const call = parseJson(pieces.find((part) => part.origin === 'body')?.bytes ?? utf8(''))
  if (!isObject(call) || typeof call.method !== 'string') return null
  const name = call.method
  return mapText(pieces, origin, (text) => change(text, name))
}
