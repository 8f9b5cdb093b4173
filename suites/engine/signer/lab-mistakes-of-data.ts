/** Mistakes in the data to sign that only the diagnosis of a signature looks for. */
import { fromBase64Loose, fromHex, fromLatin1, fromUtf8, toBase64, toHex, utf8 } from './bytes.ts'
import { mapText, type Piece, piece, replace, requestDataOf } from './data-to-sign.ts'
import { sha256 } from './hmac.ts'
import { isObject, parseJson } from './json-styles.ts'
import { dataMistake, type KnownMistake } from './mistake.ts'
import { pythonBytes } from './printed-values.ts'

const timestamp = 'signatures/timestamp'
const nonce = 'signatures/nonce'
const lineFeeds = 'signatures/request-line-feeds'
const order = 'signatures/data-to-sign'
const uri = 'signatures/request-uri'

const fixes: { [requirement: string]: string } = {
  [timestamp]: 'Write the timestamp once, as 13 digits, and use this text in the data and in the header',
  [nonce]: 'Sign the nonce exactly as the header carries it',
  [lineFeeds]: 'End method, URI and body with exactly one LF each',
  [order]: 'Sign <timestamp>;<nonce>;<METHOD> LF <URI> LF <body> LF and nothing else',
  [uri]: 'Sign the URI /api alone',
  'signatures/request-method': 'Sign the HTTP method of the request, POST',
}

type Change = (pieces: readonly Piece[], around: { keyId: string; url?: string | undefined }) => Piece[] | null

/** @param what as in `the nonce is signed in upper case` */
function mistake(word: string, requirement: string, what: string, change: Change): KnownMistake {
  const title = what.charAt(0).toUpperCase() + what.slice(1)
  const said = { id: `data/${word}`, title, requirement, fix: fixes[requirement] ?? '', when: what }
  return dataMistake(said, (pieces, draft) => change(pieces, draft.around))
}

const iso = (text: string) => new Date(Number(text)).toISOString()
const isMs = (text: string) => /^\d{13}$/.test(text)

const ofTimestamp: readonly KnownMistake[] = (
  [
    ['with-timestamp-as-float', 'with .0 behind it', (text: string) => `${text}.0`],
    ['with-timestamp-in-float-seconds', 'in seconds with a fraction', (text: string) => `${Number(text) / 1000}`],
    [
      'with-timestamp-in-java-exponents',
      'as Java prints a double',
      (text: string) => `${text[0]}.${text.slice(1).replace(/0+$/, '')}E${text.length - 1}`,
    ],
    [
      'with-timestamp-in-go-exponents',
      'as Go prints a float64',
      (text: string) => `${text[0]}.${text.slice(1).replace(/0+$/, '')}e+${text.length - 1}`,
    ],
    ['with-timestamp-of-whole-seconds', 'in milliseconds that end in 000', (text: string) => `${text.slice(0, -3)}000`],
    [
      'with-timestamp-in-rounded-seconds',
      'in seconds, rounded up',
      (text: string) => `${Math.ceil(Number(text) / 1000)}`,
    ],
    ['with-timestamp-in-nanoseconds', 'in nanoseconds', (text: string) => `${text}000000`],
    ['with-grouped-timestamp', 'with commas between thousands', (text: string) => Number(text).toLocaleString('en-US')],
    ['with-timestamp-in-hex', 'in hex', (text: string) => Number(text).toString(16)],
    ['with-http-date', 'as an HTTP date', (text: string) => new Date(Number(text)).toUTCString()],
    [
      'with-iso-timestamp-and-offset',
      'as an ISO 8601 text with +00:00, as Python prints it',
      (text: string) => iso(text).replace('Z', '+00:00'),
    ],
    [
      'with-iso-timestamp-in-microseconds',
      'as an ISO 8601 text with microseconds',
      (text: string) => iso(text).replace('Z', '000+00:00'),
    ],
    ['with-iso-timestamp-without-zone', 'as an ISO 8601 text without a zone', (text: string) => iso(text).slice(0, -1)],
    [
      'with-iso-timestamp-in-seconds',
      'as an ISO 8601 text without a fraction',
      (text: string) => iso(text).replace(/\.\d+/, ''),
    ],
  ] as const
).map(([word, how, write]) =>
  mistake(word, timestamp, `the timestamp is signed ${how}`, (pieces) =>
    mapText(pieces, 'timestamp', (text) => (isMs(text) ? write(text) : text)),
  ),
)

const ofNonce: readonly KnownMistake[] = (
  [
    ['with-nonce-as-python-bytes', "as Python prints bytes, b'…'", (text: string) => pythonBytes(utf8(text))],
    ['with-nonce-and-newline', 'with a line feed behind it, as base64 tools print it', (text: string) => `${text}\n`],
    ['with-nonce-lower-case', 'in lower case', (text: string) => text.toLowerCase()],
    ['with-nonce-upper-case', 'in upper case', (text: string) => text.toUpperCase()],
    ['with-nonce-without-hyphens', 'without its hyphens', (text: string) => text.replaceAll('-', '')],
    ['with-quoted-nonce', 'in quotation marks', (text: string) => `"${text}"`],
    ['with-nonce-in-base64', 'in BASE64, and sent as it was before', (text: string) => toBase64(utf8(text))],
    ['with-nonce-text-in-hex', 'as the hex of its characters', (text: string) => toHex(utf8(text))],
    [
      'with-plain-base64-nonce',
      'with + and / where the header has - and _',
      (text: string) => text.replaceAll('-', '+').replaceAll('_', '/'),
    ],
    ['with-nonce-as-numbers', 'as a list of its bytes', (text: string) => `${fromBase64Loose(text) ?? utf8(text)}`],
    [
      'with-nonce-printed-by-go',
      'as Go prints its bytes',
      (text: string) => `[${(fromBase64Loose(text) ?? utf8(text)).join(' ')}]`,
    ],
    [
      'with-nonce-decoded-as-utf8',
      'decoded, as text in UTF-8',
      (text: string) => new TextDecoder().decode(fromBase64Loose(text) ?? utf8(text)),
    ],
    [
      'with-nonce-decoded-as-latin-1',
      'decoded, as text in ISO 8859-1',
      (text: string) => fromLatin1(fromBase64Loose(text) ?? utf8(text)),
    ],
    ['with-empty-nonce', 'empty', () => ''],
    ['with-nonce-undefined', 'as the text undefined', () => 'undefined'],
    ['with-nonce-none', 'as the text None', () => 'None'],
    ['with-nonce-null', 'as the text null', () => 'null'],
  ] as const
).map(([word, how, write]) =>
  mistake(word, nonce, `the nonce is signed ${how}`, (pieces) => mapText(pieces, 'nonce', write)),
)

const ofLineFeeds: readonly KnownMistake[] = [
  mistake('with-tripled-newline', lineFeeds, 'the data to sign ends with three line feeds', (pieces) => [
    ...pieces,
    piece('line-end', '\n\n'),
  ]),
  mistake('with-blank-line', lineFeeds, 'an empty line stands before the body, as in HTTP', (pieces) =>
    before(pieces, 'body', piece('line-end', '\n')),
  ),
  mistake('with-line-feeds-before', lineFeeds, 'the line feeds stand before method, URI and body', (pieces) => {
    const rest = pieces.at(-1)?.origin === 'line-end' ? pieces.slice(0, -1) : pieces
    return before(rest, 'method', piece('line-end', '\n'))
  }),
  mistake('without-newline-after-method', lineFeeds, 'the line feed after the method is left out', (pieces) =>
    withoutNext(pieces, 'method'),
  ),
  mistake('without-newline-after-uri', lineFeeds, 'the line feed after the URI is left out', (pieces) =>
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
    mistake(
      `with-${name.replace(' ', '-')}-for-line-feeds`,
      lineFeeds,
      `method, URI and body are signed with ${name} for line feeds`,
      (pieces) => replace(pieces, 'line-end', () => utf8(mark)),
    ),
  ),
  mistake('with-final-semicolon', order, 'the data to sign ends with a semicolon', (pieces) => [
    ...pieces,
    piece('separator', ';'),
  ]),
]

const ofOrder: readonly KnownMistake[] = [
  mistake('with-bars', order, 'timestamp, nonce and request data are joined with bars', (pieces) =>
    replace(pieces, 'separator', () => utf8('|')),
  ),
  mistake('with-body-before-uri', order, 'the body is signed before the URI', (pieces) =>
    exchanged(pieces, 'uri', 'body'),
  ),
  mistake(
    'with-upper-case-request',
    'signatures/request-method',
    'method, URI and body are signed in upper case',
    (pieces) =>
      ['uri', 'body'].reduce<Piece[]>(
        (changed, origin) => mapText(changed, origin as Piece['origin'], (text) => text.toUpperCase()),
        [...pieces],
      ),
  ),
  mistake('with-request-hash', order, 'the hex of the SHA-256 of the request data is signed in its place', (pieces) => {
    const start = pieces.findIndex(({ origin }) => origin === 'method')
    return start < 0 ? null : [...pieces.slice(0, start), piece('other', toHex(sha256(requestDataOf(pieces))))]
  }),
]

const ofUri: readonly KnownMistake[] = [
  mistake('with-encoded-uri', uri, 'the URI is signed percent-encoded', (pieces) =>
    mapText(pieces, 'uri', (text) => encodeURIComponent(text)),
  ),
  mistake('with-double-slash', uri, 'the URI is signed with two leading slashes', (pieces) =>
    mapText(pieces, 'uri', (text) => `/${text}`),
  ),
  mistake('with-base-url', uri, 'the base URL is signed instead of the URI', (pieces, { url }) =>
    url === undefined ? null : mapText(pieces, 'uri', () => url.replace(/\/api.*$/, '')),
  ),
  mistake(
    'with-rpc-method',
    'signatures/request-method',
    'the JSON-RPC method is signed as the HTTP method',
    (pieces) => withRpcMethod(pieces, 'method', (_, name) => name),
  ),
  mistake(
    'with-upper-case-rpc-method',
    'signatures/request-method',
    'the JSON-RPC method is signed in upper case as the HTTP method',
    (pieces) => withRpcMethod(pieces, 'method', (_, name) => name.toUpperCase()),
  ),
  mistake('with-rpc-method-as-uri', uri, 'the JSON-RPC method is signed as the URI', (pieces) =>
    withRpcMethod(pieces, 'uri', (_, name) => name),
  ),
  mistake('with-rpc-method-behind-uri', uri, 'the JSON-RPC method is signed behind the URI', (pieces) =>
    withRpcMethod(pieces, 'uri', (path, name) => `${path}/${name}`),
  ),
]

export const labMistakesOfData: readonly KnownMistake[] = [
  ...ofTimestamp,
  ...ofNonce,
  ...ofLineFeeds,
  ...ofOrder,
  ...ofUri,
  mistake('with-hex-decoded-nonce', nonce, 'the bytes that the nonce encodes in hex are signed', (pieces) =>
    replace(pieces, 'nonce', (bytes) => fromHex(fromUtf8(bytes) ?? '') ?? bytes),
  ),
  mistake(
    'with-timestamp-without-fraction',
    timestamp,
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

function exchanged(pieces: readonly Piece[], one: Piece['origin'], other: Piece['origin']): Piece[] | null {
  const first = pieces.find(({ origin }) => origin === one)
  const second = pieces.find(({ origin }) => origin === other)
  if (first === undefined || second === undefined) return null
  return pieces.map((part) => (part === first ? second : part === second ? first : part))
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
