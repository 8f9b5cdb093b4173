/**
 * The table of known mistakes in a signature: for each what was done, which sentence it breaks, how to mend it, and what it does to which
 * part of a signed call. Fixtures make them, a run tries them on a server that refuses a right signature, and the diagnosis of a signature
 * looks for them.
 */
import { defaultScheme } from '../document.ts'
import { isObject } from '../json.ts'
import {
  bodyForms,
  escapes,
  jsonOf,
  prints,
  printValue,
  pythonBytes,
  type Style,
  spaced,
  styleOf,
  writeJson,
} from './bodies.ts'
import {
  concat,
  fromBase64Loose,
  fromHex,
  fromLatin1,
  fromUtf8,
  latin1,
  percentDecoded,
  toBase64,
  toBase64url,
  toHex,
  utf8,
} from './bytes.ts'
import { type Draft, draftOf, joinPieces, keyBytesOf, piece, requestDataOf, rightMac, type SignInput } from './draft.ts'
import {
  added,
  algorithm,
  bodyStyle,
  bodyValue,
  bytesOf,
  cut,
  type DraftChange,
  data,
  ecc,
  eccForMac,
  encoded,
  exchanged,
  field,
  fields,
  header,
  mac,
  macForEcc,
  marked,
  publicKeyOf,
  recognised,
  secret,
  seed,
  textOf,
  type WriteText,
  without,
  withText,
} from './draft-changes.ts'
import { ed25519SignWithNeutralR, prehashDomain, publicKeyOfSeed, withHighS } from './ed25519.ts'
import { hmacSha1, hmacSha256, hmacSha384, hmacSha512, sha256, sha512 } from './hmac.ts'
import { pkcs8Prefix, publicKeyToPem } from './pem.ts'

export interface KnownMistake extends DraftChange {
  /** `data/…`, `key/…`, `signature/…` or `fields/…`; after the slash is the word that fixtures use. */
  readonly id: string
  /** What the client did, as a claim; completes "The server accepts this call when …". */
  readonly when: string
  /** The same with a capital letter. */
  readonly title: string
  /** Id in spec/requirements.yaml: the sentence it breaks. */
  readonly requirement: string
  /** What the author of a client should do instead; `serverHint` speaks to the author of a server. */
  readonly fix: string
  /** Whether fixtures can make it; others are known to the diagnosis alone. */
  readonly made: boolean
  /** Whether the diagnosis looks for it by computing the signature with it; others are read off the header, or only made. */
  readonly found: boolean
}

/** How to keep a requirement: what a client should do, and what a server should, where it can take a signature with the mistake. */
const fixes: { readonly [requirement: string]: readonly [forClients: string, forServers?: string] } = {
  'signatures/data-to-sign': [
    'Sign <timestamp>;<nonce>;<METHOD> LF <URI> LF <body> LF and nothing else',
    'Compute the signature over <timestamp>;<nonce>;<METHOD> LF <URI> LF <body> LF',
  ],
  'signatures/timestamp': [
    'Write the timestamp once, as 13 digits, and use this text in the data and in the header',
    'Take the timestamp into the data exactly as the header has it',
  ],
  'signatures/nonce': [
    'Sign the nonce exactly as the header carries it',
    'Take the nonce into the data as text, as the header has it',
  ],
  'signatures/request-line-feeds': [
    'End method, URI and body with exactly one LF each',
    'End method, URI and body with exactly one LF each when you compute the data',
  ],
  'signatures/request-method': [
    'Begin the request data with the HTTP method of the request, POST, in upper case',
    'Begin the request data with the HTTP method in upper case and LF',
  ],
  'signatures/request-uri': [
    'Sign the URI /api alone, without scheme, host, base path or query',
    'Take the URI /api alone into the data, without scheme, host, base path or query',
  ],
  'signatures/request-body': [
    'Sign the body exactly as sent: serialise once, sign these bytes and send these bytes',
    'Take the bytes of the body as they were received, before they are parsed',
  ],
  'signatures/hmac': [
    'Compute HMAC-SHA256 with the secret as the key over the data to sign',
    'Compute HMAC-SHA256 with the secret as the key over the data',
  ],
  'signatures/hmac-length': [
    'Send the first 20 bytes of the 32 of the MAC, no more and no less',
    'Compare the signature with the first 20 bytes of the MAC, no more and no less',
  ],
  'signatures/hmac-encoding': [
    'Encode the bytes of the signature in BASE64 with + and / and with = padding',
    'Decode the signature as BASE64 with + and / and with = padding, then compare bytes',
  ],
  'signatures/ecc': [
    'Sign the data to sign themselves with plain ED25519',
    'Verify plain ED25519 over the data, with the public key of the API key',
  ],
  'signatures/public-key-refuses-hmac': [
    'A key with a public key takes only ED25519 signatures by its private key',
    'Accept only ED25519 signatures for a key with a public key',
  ],
  'signatures/secret-key-refuses-ecc': ['A key without a public key takes only HMAC signatures with its secret'],
  'signatures/header-fields': [
    'Send key id, 1, timestamp, nonce and signature, joined with semicolons and nothing else',
  ],
  'signatures/version': ['Send the literal 1 as the second field'],
  'signatures/key-id': [
    'Send the id of the key that signs, and sign with its secret or private key',
    'Compute the MAC with the secret of the key, never with its id',
  ],
  'signatures/scheme': ['Begin the header with the scheme word of the target and one space'],
}

/** What a row says besides its id, its claim and its change. Without `fix` the one of its requirement applies. */
export type More = Partial<Pick<KnownMistake, 'requirement' | 'fix' | 'made' | 'found'>>
type Row = readonly [word: string, when: string, change: DraftChange, more?: More]

/** @param more with its requirement */
export function mistakeOf(
  id: string,
  when: string,
  change: DraftChange,
  more: More & { requirement: string },
): KnownMistake {
  const title = when.charAt(0).toUpperCase() + when.slice(1)
  const fix = fixes[more.requirement]?.[0] ?? ''
  // What is wrong in the header around the signature is read off it.
  return { fix, made: true, found: change.stage !== 'fields', ...more, ...change, id, when, title }
}

/** Rows with what is the same in all of them: the group of their ids, the sentence that they break, and more. */
function section(group: string, requirement: string, rows: readonly Row[], same: More = {}): KnownMistake[] {
  return rows.map(([word, when, change, more]) =>
    mistakeOf(`${group}/${word}`, when, change, { requirement, ...same, ...more }),
  )
}

/** Only the diagnosis of a signature looks for these: what clients do by accident and no fixture needs. */
const lab: More = { made: false }

const milliseconds = 'Use milliseconds (13 digits), in the data and in the header alike'
const secretOfKey = 'Use the secret of the key, never its id'
/** For clients that cut the text: they do the two steps in the wrong order. */
const cutThenEncode = 'Cut the bytes of the MAC to the first 20, then encode these bytes in BASE64'

// ---- request data: line ends, HTTP method and URI

const text = (bytes: Uint8Array): string => fromUtf8(bytes) ?? ''
const url = (part: (url: string) => string | null): DraftChange =>
  textOf('uri', (_, around) => (around.url === undefined ? null : part(around.url)))
/** The name of the JSON-RPC method of the call in place of a part, or beside it. */
const rpcMethod = (origin: 'method' | 'uri', write: (name: string, before: string) => string): DraftChange =>
  data((pieces) => {
    const call = jsonOf(pieces.find((part) => part.origin === 'body')?.bytes ?? new Uint8Array(0))
    const name = isObject(call) ? call.method : undefined
    return typeof name === 'string' ? withText(pieces, origin, (before) => write(name, before)) : null
  })
/** Without the line end that follows a part. */
const joined = (origin: 'method' | 'uri'): DraftChange =>
  data((pieces) => {
    const at = pieces.findIndex((part) => part.origin === origin) + 1
    return at > 0 && pieces[at]?.origin === 'line-end' ? pieces.toSpliced(at, 1) : null
  })

const ofRequest: readonly KnownMistake[] = [
  ...section('data', 'signatures/request-line-feeds', [
    [
      'without-final-newline',
      'the data to sign lacks the line feed after the body',
      data((pieces) => (pieces.at(-1)?.origin === 'line-end' ? pieces.slice(0, -1) : null)),
    ],
    [
      'with-doubled-newline',
      'the data to sign ends with two line feeds, or the body is signed with one that is not sent',
      added('\n', 'at the end'),
    ],
    ['with-crlf', 'the lines of the data to sign end with CR LF', marked('line-end', '\r\n')],
    ['without-line-feeds', 'method, URI and body are joined without line feeds', marked('line-end', '')],
    [
      'with-written-line-feeds',
      'a backslash and an n stand where line feeds belong',
      marked('line-end', '\\n'),
      { fix: 'Use the byte 0x0a; in a shell printf writes it, echo and plain quotes do not' },
    ],
  ]),
  ...section('data', 'signatures/request-method', [
    [
      'with-lowercase-method',
      'the HTTP method is signed in lower case',
      textOf('method', (text) => text.toLowerCase()),
    ],
    [
      'with-capitalised-method',
      'the HTTP method is signed with one capital letter',
      textOf('method', (text) => text.slice(0, 1) + text.slice(1).toLowerCase()),
    ],
    ['without-method', 'the line with the HTTP method is left out', without('method')],
    ['with-get-method', 'GET is signed instead of the method that is sent', textOf('method', () => 'GET')],
  ]),
  ...section('data', 'signatures/request-uri', [
    ['without-uri', 'the line with the URI is left out', without('uri')],
    ['with-full-url', 'the full URL is signed instead of the path', url((whole) => whole)],
    [
      'with-host-and-path',
      'host and path are signed instead of the path',
      url((whole) => whole.replace(/^\w+:\/\//, '')),
    ],
    [
      'with-base-path',
      'the path of the base URL is signed as well',
      url((whole) => /^\w+:\/\/[^/?#]*([^?#]*)/.exec(whole)?.[1] || null),
    ],
    [
      'with-query',
      'the query of the URL is signed with the URI',
      textOf('uri', (path, around) =>
        path.includes('?') ? path : path + (/\?[^#]*/.exec(around.url ?? '')?.[0] ?? ''),
      ),
    ],
    [
      'without-query',
      'the query is dropped from the signed URI',
      textOf('uri', (path) => path.replace(/\?.*$/, '')),
      { fix: 'Sign the URI exactly as given' },
    ],
    [
      'with-path-without-slash',
      'the URI is signed without its leading slash',
      textOf('uri', (path) => path.replace(/^\//, '')),
    ],
    [
      'with-trailing-slash',
      'the URI is signed with a trailing slash',
      textOf('uri', (path) => (path.endsWith('/') ? path : `${path}/`)),
    ],
    ['with-root-path', 'the path / is signed instead of the URI', textOf('uri', () => '/')],
    ['with-uppercase-uri', 'the URI is signed in upper case', textOf('uri', (path) => path.toUpperCase())],
  ]),
  ...section(
    'data',
    'signatures/request-line-feeds',
    [
      ['with-tripled-newline', 'the data to sign ends with three line feeds', added('\n\n', 'at the end')],
      ['with-blank-line', 'an empty line stands before the body, as in HTTP', added('\n', 'body')],
      [
        'with-line-feeds-before',
        'the line feeds stand before method, URI and body',
        data((pieces) => {
          const rest = pieces.at(-1)?.origin === 'line-end' ? pieces.slice(0, -1) : pieces
          const at = rest.findIndex(({ origin }) => origin === 'method')
          return at < 0 ? null : rest.toSpliced(at, 0, piece('line-end', '\n'))
        }),
      ],
      ['without-newline-after-method', 'the line feed after the method is left out', joined('method')],
      ['without-newline-after-uri', 'the line feed after the URI is left out', joined('uri')],
      ...Object.entries({ spaces: ' ', semicolons: ';', 'carriage returns': '\r', colons: ':', bars: '|' }).map(
        ([name, mark]): Row => [
          `with-${name.replace(' ', '-')}-for-line-feeds`,
          `method, URI and body are signed with ${name} for line feeds`,
          marked('line-end', mark),
        ],
      ),
    ],
    lab,
  ),
  ...section(
    'data',
    'signatures/request-uri',
    [
      ['with-encoded-uri', 'the URI is signed percent-encoded', textOf('uri', encodeURIComponent)],
      ['with-double-slash', 'the URI is signed with two leading slashes', textOf('uri', (path) => `/${path}`)],
      ['with-base-url', 'the base URL is signed instead of the URI', url((whole) => whole.replace(/\/api.*$/, ''))],
      ['with-rpc-method-as-uri', 'the JSON-RPC method is signed as the URI', rpcMethod('uri', (name) => name)],
      [
        'with-rpc-method-after-uri',
        'the JSON-RPC method is signed after the URI',
        rpcMethod('uri', (name, path) => `${path}/${name}`),
      ],
    ],
    lab,
  ),
  ...section(
    'data',
    'signatures/request-method',
    [
      ['with-rpc-method', 'the JSON-RPC method is signed as the HTTP method', rpcMethod('method', (name) => name)],
      [
        'with-upper-case-rpc-method',
        'the JSON-RPC method is signed in upper case as the HTTP method',
        rpcMethod('method', (name) => name.toUpperCase()),
      ],
      [
        'with-upper-case-request',
        'method, URI and body are signed in upper case',
        data((pieces) => {
          const upper = (text: string) => text.toUpperCase()
          return withText(withText(pieces, 'uri', upper) ?? pieces, 'body', upper)
        }),
      ],
    ],
    lab,
  ),
]

// ---- timestamp and nonce as signed, and how the data to sign are put together

/** A timestamp of 13 digits, written in another way. */
const time = (write: WriteText): DraftChange =>
  textOf('timestamp', (text) => (/^\d{13}$/.test(text) ? write(text) : text))
const nonce = (write: WriteText): DraftChange => textOf('nonce', write)
/** The bytes that a nonce encodes, or those of its text. */
const decoded = (text: string): Uint8Array => fromBase64Loose(text) ?? utf8(text)
const iso = (text: string): string => new Date(Number(text)).toISOString()
const exponents = (text: string, mark: string): string =>
  `${text[0]}.${text.slice(1).replace(/0+$/, '')}${mark}${text.length - 1}`

/** Ways to write a value in the data: by word what follows "is signed", and the way. */
type Ways = { readonly [word: string]: readonly [how: string, write: WriteText] }
const ways = (what: string, change: (write: WriteText) => DraftChange, list: Ways): Row[] =>
  Object.entries(list).map(([word, [how, write]]) => [word, `the ${what} is signed ${how}`, change(write)])

const ofData: readonly KnownMistake[] = [
  ...section('data', 'signatures/timestamp', [
    [
      'with-timestamp-in-seconds',
      'the timestamp is signed in seconds',
      time((text) => text.slice(0, 10)),
      { fix: milliseconds },
    ],
    [
      'with-timestamp-in-microseconds',
      'the timestamp is signed in microseconds',
      time((text) => `${text}000`),
      { fix: milliseconds },
    ],
    [
      'with-timestamp-in-milliseconds',
      'the timestamp is signed in milliseconds and sent in another unit',
      textOf('timestamp', (text) =>
        /^\d{10}$/.test(text) ? `${text}000` : /^\d{16}$/.test(text) ? text.slice(0, 13) : text,
      ),
    ],
    ['with-iso-timestamp', 'the timestamp is signed as an ISO 8601 text', time(iso)],
  ]),
  ...section('data', 'signatures/data-to-sign', [
    ['without-timestamp', 'the timestamp is left out of the signed data', without('timestamp')],
  ]),
  ...section('data', 'signatures/nonce', [
    [
      'with-nonce-without-padding',
      'the nonce is signed without the = padding that the header carries',
      nonce((text) => text.replace(/=+$/, '')),
    ],
    [
      'with-padded-nonce',
      'the nonce is signed with = padding that the header lacks',
      nonce((text) => text.padEnd(Math.ceil(text.length / 4) * 4, '=')),
    ],
    [
      'with-decoded-nonce',
      'the bytes that the nonce encodes in base64 are signed',
      bytesOf('nonce', (bytes) => fromBase64Loose(text(bytes)) ?? bytes),
    ],
    ['with-nonce-in-hex', 'the nonce is signed in hex', nonce((text) => toHex(decoded(text)))],
    [
      'with-base64url-nonce',
      'the nonce is signed with - and _ where the header has + and /',
      nonce((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
    ],
    ['with-percent-encoded-nonce', 'the nonce is signed percent-encoded', nonce(encodeURIComponent)],
  ]),
  ...section('data', 'signatures/data-to-sign', [
    ['without-nonce', 'the nonce is left out of the signed data', without('nonce')],
    ['with-nonce-first', 'the nonce is signed before the timestamp', exchanged('timestamp', 'nonce')],
    [
      'with-request-first',
      'the request data is signed before timestamp and nonce',
      data((pieces) => {
        const start = pieces.findIndex(({ origin }) => origin === 'method' || origin === 'uri' || origin === 'body')
        const front = pieces.slice(0, start)
        if (front.at(-1)?.origin !== 'separator') return null
        return [...pieces.slice(start), ...front.slice(-1), ...front.slice(0, -1)]
      }),
    ],
    [
      'with-uri-first',
      'the URI is signed before the method',
      exchanged('method', 'uri'),
      { requirement: 'signatures/request-method' },
    ],
    [
      'with-key-id',
      'the key id is signed in front of the timestamp',
      data((pieces, { keyId }) => [piece('other', `${keyId};`), ...pieces]),
    ],
    ['with-version', 'the 1 of the header is signed in front of the timestamp', added('1;', 'at the start', 'other')],
    [
      'with-key-id-and-version',
      'the first two header fields are signed in front of the timestamp',
      data((pieces, { keyId }) => [piece('other', `${keyId};1;`), ...pieces]),
    ],
    ...Object.entries({
      'with-commas': ['commas', ','],
      'with-colons': ['colons', ':'],
      'with-newlines-for-semicolons': ['line feeds', '\n'],
      'with-dots': ['dots', '.'],
      'with-spaces': ['spaces', ' '],
      'with-spaced-semicolons': ['semicolons and spaces', '; '],
      'without-separators': ['nothing between', ''],
    } as const).map(
      ([word, [name, mark]]): Row => [
        word,
        `timestamp, nonce and request data are joined with ${name}`,
        marked('separator', mark),
      ],
    ),
    ['with-newline-before-method', 'a line feed follows the semicolon before the method', added('\n', 'method')],
  ]),
  ...section(
    'data',
    'signatures/timestamp',
    [
      ...ways('timestamp', time, {
        'with-timestamp-as-float': ['with .0 after it', (text) => `${text}.0`],
        'with-timestamp-in-float-seconds': ['in seconds with a fraction', (text) => `${Number(text) / 1000}`],
        'with-timestamp-in-java-exponents': ['as Java prints a double', (text) => exponents(text, 'E')],
        'with-timestamp-in-go-exponents': ['as Go prints a float64', (text) => exponents(text, 'e+')],
        'with-timestamp-of-whole-seconds': ['in milliseconds that end in 000', (text) => `${text.slice(0, -3)}000`],
        'with-timestamp-in-rounded-seconds': ['in seconds, rounded up', (text) => `${Math.ceil(Number(text) / 1000)}`],
        'with-timestamp-in-nanoseconds': ['in nanoseconds', (text) => `${text}000000`],
        'with-grouped-timestamp': ['with commas between thousands', (text) => Number(text).toLocaleString('en-US')],
        'with-timestamp-in-hex': ['in hex', (text) => Number(text).toString(16)],
        'with-http-date': ['as an HTTP date', (text) => new Date(Number(text)).toUTCString()],
        'with-iso-timestamp-and-offset': [
          'as an ISO 8601 text with +00:00, as Python prints it',
          (text) => iso(text).replace('Z', '+00:00'),
        ],
        'with-iso-timestamp-in-microseconds': [
          'as an ISO 8601 text with microseconds',
          (text) => iso(text).replace('Z', '000+00:00'),
        ],
        'with-iso-timestamp-without-zone': ['as an ISO 8601 text without a zone', (text) => iso(text).slice(0, -1)],
        'with-iso-timestamp-in-seconds': [
          'as an ISO 8601 text without a fraction',
          (text) => iso(text).replace(/\.\d+/, ''),
        ],
      }),
      [
        'with-timestamp-without-fraction',
        'the timestamp is signed without the fraction that is sent',
        textOf('timestamp', (text) => text.replace(/\.\d+$/, '')),
      ],
    ],
    lab,
  ),
  ...section(
    'data',
    'signatures/nonce',
    [
      ...ways('nonce', nonce, {
        'with-nonce-as-python-bytes': ["as Python prints bytes, b'…'", (text) => pythonBytes(utf8(text))],
        'with-nonce-and-newline': ['with a line feed after it, as base64 tools print it', (text) => `${text}\n`],
        'with-nonce-lower-case': ['in lower case', (text) => text.toLowerCase()],
        'with-nonce-upper-case': ['in upper case', (text) => text.toUpperCase()],
        'with-nonce-without-hyphens': ['without its hyphens', (text) => text.replaceAll('-', '')],
        'with-quoted-nonce': ['in quotation marks', (text) => `"${text}"`],
        'with-nonce-in-base64': ['in BASE64, and sent as it was before', (text) => toBase64(utf8(text))],
        'with-nonce-text-in-hex': ['as the hex of its characters', (text) => toHex(utf8(text))],
        'with-plain-base64-nonce': [
          'with + and / where the header has - and _',
          (text) => text.replaceAll('-', '+').replaceAll('_', '/'),
        ],
        'with-nonce-as-numbers': ['as a list of its bytes', (text) => `${decoded(text)}`],
        'with-nonce-printed-by-go': ['as Go prints its bytes', (text) => `[${decoded(text).join(' ')}]`],
        'with-nonce-decoded-as-utf8': ['decoded, as text in UTF-8', (text) => new TextDecoder().decode(decoded(text))],
        'with-nonce-decoded-as-latin-1': ['decoded, as text in ISO 8859-1', (text) => fromLatin1(decoded(text))],
        'with-empty-nonce': ['empty', () => ''],
        'with-nonce-undefined': ['as the text undefined', () => 'undefined'],
        'with-nonce-none': ['as the text None', () => 'None'],
        'with-nonce-null': ['as the text null', () => 'null'],
      }),
      [
        'with-hex-decoded-nonce',
        'the bytes that the nonce encodes in hex are signed',
        bytesOf('nonce', (bytes) => fromHex(text(bytes)) ?? bytes),
      ],
    ],
    lab,
  ),
  ...section(
    'data',
    'signatures/data-to-sign',
    [
      ['with-final-semicolon', 'the data to sign ends with a semicolon', added(';', 'at the end', 'separator')],
      ['with-bars', 'timestamp, nonce and request data are joined with bars', marked('separator', '|')],
      ['with-body-before-uri', 'the body is signed before the URI', exchanged('uri', 'body')],
      [
        'with-request-hash',
        'the hex of the SHA-256 of the request data is signed in its place',
        data((pieces) => {
          const start = pieces.findIndex(({ origin }) => origin === 'method')
          return start < 0 ? null : [...pieces.slice(0, start), piece('other', toHex(sha256(requestDataOf(pieces))))]
        }),
      ],
    ],
    lab,
  ),
]

// ---- the body that is signed; the body on the wire stays

const body = (write: (text: string) => string): DraftChange => textOf('body', write)
const form = (name: string): DraftChange => body(bodyForms[name] ?? ((text) => text))
const bom = Uint8Array.of(0xef, 0xbb, 0xbf)
/** Little endian, without a byte order mark. */
const utf16 = (text: string): Uint8Array =>
  Uint8Array.from(text.split('').flatMap((unit) => [unit.charCodeAt(0) & 0xff, unit.charCodeAt(0) >> 8]))
const written = (word: string, how: string, ...styles: readonly Partial<Style>[]): Row => [
  word,
  `the body is parsed and written again ${how} before it is signed`,
  bodyStyle(...styles),
]
const printedBy = (print: keyof typeof prints, what: string): Row => [
  `with-body-printed-by-${print}`,
  `the body is signed as the printed form of ${what}`,
  bytesOf('body', (raw) => {
    const value = jsonOf(raw)
    return isObject(value) ? utf8(printValue(value, prints[print])) : null
  }),
]
const membersSorted = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((name) => [name, membersSorted(value[name])]),
      )
    : value
const withoutNulls = (value: unknown): unknown => {
  if (!isObject(value)) return value
  const kept = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(kept.map(([name, member]) => [name, withoutNulls(member)]))
}

const ofBody: readonly KnownMistake[] = [
  ...section('data', 'signatures/request-body', [
    // For fixtures: the first style that changes the bytes. The diagnosis looks for each style under its own name.
    [
      'with-body-reserialised',
      'the body is parsed and written again with other spacing before it is signed',
      bodyStyle(spaced, {}),
      { found: false },
    ],
    written('with-body-compact', 'without white space (as JSON.stringify does)', {}),
    written('with-body-spaced', 'with spaces (as json.dumps of Python does)', spaced),
    written('with-body-python-escapes', 'with spaces and \\u escapes (as json.dumps of Python does)', {
      ...spaced,
      escape: escapes.nonAscii,
    }),
    written('with-body-ascii', 'without white space and with \\u escapes', { escape: escapes.nonAscii }),
    written('with-body-go-escapes', 'with <, > and & escaped (as encoding/json of Go does)', { escape: escapes.go }),
    written('with-body-php-escapes', 'with \\/ and \\u escapes (as json_encode of PHP does)', { escape: escapes.php }),
    written('with-body-sorted', 'with sorted members', { sorted: true }),
    written('with-body-indented', 'with indentation', { colon: ': ', indent: '  ' }),
    written('with-body-indented-by-4', 'with an indentation of 4', { colon: ': ', indent: '    ' }),
    ['with-body-trimmed', 'the body is trimmed before it is signed', form('trimmed')],
    ['with-body-lf', 'CR LF in the body is signed as LF', form('crlf-to-lf')],
    ['with-body-crlf', 'LF in the body is signed as CR LF', form('lf-to-crlf')],
    [
      'with-body-unescaped',
      '\\u escapes of the body are resolved before it is signed',
      body((text) =>
        text.replace(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
      ),
    ],
    ['with-body-as-json-text', 'the body is JSON-encoded twice', body((text) => JSON.stringify(text))],
    [
      'with-params-only',
      'only the params of the body are signed',
      bytesOf('body', (raw) => {
        const whole = jsonOf(raw)
        const params = isObject(whole) ? whole.params : undefined
        return params === undefined ? null : utf8(writeJson(params, styleOf(raw)))
      }),
    ],
    ['with-body-percent-encoded', 'the body is percent-encoded before it is signed', body(encodeURIComponent)],
    ['with-empty-body', 'the body is left out of the signed data', bytesOf('body', () => new Uint8Array(0))],
    ['with-body-latin-1', 'the body is signed in ISO 8859-1', bytesOf('body', (raw) => latin1(text(raw)))],
    [
      'with-body-utf8-twice',
      'the UTF-8 of the body is encoded a second time',
      bytesOf('body', (raw) => utf8(fromLatin1(raw))),
    ],
    [
      'with-body-utf16',
      'the body is signed in UTF-16',
      bytesOf('body', (raw) => (fromUtf8(raw) === null ? null : utf16(text(raw)))),
    ],
    ['with-body-bom', 'the body is signed with a byte order mark', bytesOf('body', (raw) => concat(bom, raw))],
    [
      'without-body-bom',
      'the byte order mark of the body is not signed',
      bytesOf('body', (raw) => (bom.every((byte, at) => raw[at] === byte) ? raw.slice(3) : raw)),
    ],
    [
      'with-body-hash',
      'the SHA-256 of the body is signed in its place',
      bytesOf('body', (raw) => utf8(toHex(sha256(raw)))),
    ],
    [
      'with-body-base64',
      'the BASE64 of the body is signed in its place',
      bytesOf('body', (raw) => utf8(toBase64(raw))),
    ],
  ]),
  ...section(
    'data',
    'signatures/request-body',
    [
      written('with-body-gson-escapes', 'with <, >, &, = and quotes escaped (as Gson of Java does)', {
        escape: escapes.gson,
      }),
      written('with-body-dotnet-escapes', 'with escapes in upper-case hex (as System.Text.Json of .NET does)', {
        escape: escapes.dotNet,
      }),
      written('with-body-jackson-indented', 'with indentation and spaces around colons (as Jackson does)', {
        colon: ' : ',
        indent: '  ',
      }),
      written('with-body-indented-by-tabs', 'with indentation by tabs', { colon: ': ', indent: '\t' }),
      written('with-body-floats', 'with whole numbers as 1.0', {
        number: (value) => (Number.isInteger(value) ? `${value}.0` : JSON.stringify(value)),
      }),
      printedBy('python', "a dict of Python (str(dict) gives {'a': 1})"),
      printedBy('java', 'a Map of Java (toString() gives {a=1})'),
      printedBy('go', 'a map of Go (fmt gives map[a:1])'),
      printedBy('ruby', 'a Hash of Ruby (inspect gives {"a"=>1})'),
      printedBy('ruby-3-4', 'a Hash of Ruby 3.4 (inspect gives {"a" => 1})'),
      ...Object.entries({
        'printed-by-javascript': '[object Object]',
        undefined: 'undefined',
        null: 'null',
        none: 'None',
        nil: 'nil',
        'printed-by-php': 'Array',
        'empty-object': '{}',
      }).map(
        ([word, other]): Row => [
          `with-body-${word}`,
          `the text ${other} is signed in place of the body`,
          body(() => other),
        ],
      ),
      [
        'with-body-python-bytes',
        "the body is signed as Python prints bytes, b'…'",
        bytesOf('body', (raw) => utf8(pythonBytes(raw))),
      ],
      [
        'with-body-without-white-space',
        'all white space is taken out of the body before it is signed',
        form('without-white-space'),
      ],
      ['with-body-lower-case', 'the body is put in lower case before it is signed', form('lower-case')],
      ['with-body-upper-case', 'the body is put in upper case before it is signed', form('upper-case')],
      [
        'with-body-question-marks',
        'the body is signed in ASCII, with a ? for every other character',
        body((text) => text.replace(/[^\0-\x7f]/gu, '?')),
      ],
      ['with-body-composed', 'the body is signed in Unicode form NFC', form('composed')],
      ['with-body-decomposed', 'the body is signed in Unicode form NFD', form('decomposed')],
      [
        'with-body-hash-in-base64',
        'the SHA-256 of the body is signed in its place, in BASE64',
        bytesOf('body', (raw) => utf8(toBase64(sha256(raw)))),
      ],
      [
        'with-id-as-text',
        'the body is signed with its id as a text',
        bodyValue((value) => ({ ...value, id: `${value.id}` })),
      ],
      [
        'with-id-as-number',
        'the body is signed with its id as a number',
        bodyValue((value) => ({ ...value, id: Number(value.id) })),
      ],
      [
        'with-params-as-text',
        'the params are JSON-encoded a second time',
        bodyValue((value) => ({ ...value, params: JSON.stringify(value.params ?? {}) })),
      ],
      ['with-body-members-sorted', 'the body is signed with its members sorted', bodyValue(membersSorted)],
      ['without-nulls', 'the body is signed without its members that are null', bodyValue(withoutNulls)],
    ],
    lab,
  ),
]

// ---- which bytes are the key

const used = (word: string, how: string, write: (text: string, keyId: string) => string): Row => [
  word,
  `the secret is used ${how}`,
  secret(write),
]

const ofKey: readonly KnownMistake[] = [
  ...section(
    'key',
    'signatures/hmac',
    [
      ['hex-decoded', 'the secret is hex-decoded', secret(fromHex)],
      [
        'base64-decoded',
        'the secret is base64-decoded',
        secret((text) => (text === '' ? null : fromBase64Loose(text))),
      ],
      ['base64-encoded', 'the secret is base64-encoded', secret((text) => toBase64(utf8(text)))],
      ['hex-encoded', 'the secret is hex-encoded', secret((text) => toHex(utf8(text)))],
      ['upper-case', 'the secret is put in upper case', secret((text) => text.toUpperCase())],
      ['lower-case', 'the secret is put in lower case', secret((text) => text.toLowerCase())],
      used('with-newline', 'with a line feed at its end', (text) => `${text}\n`),
      ['trimmed', 'white space around the secret is dropped', secret((text) => text.trim())],
      used('quoted', 'with quotation marks around it', (text) => `"${text}"`),
      ['hashed', 'the SHA-256 of the secret is used as the key', secret((text) => sha256(utf8(text)))],
      [
        'hashed-in-hex',
        'the hex of the SHA-256 of the secret is used as the key',
        secret((text) => toHex(sha256(utf8(text)))),
      ],
      ['latin-1', 'the secret is encoded in ISO 8859-1', secret(latin1)],
      ['empty', 'an empty secret is used', secret(() => '')],
      ['basic-pair', 'the pair id:secret is used as the key', secret((text, keyId) => `${keyId}:${text}`)],
      [
        'id-as-secret',
        'the key id is used as the secret',
        secret((_, keyId) => keyId),
        { requirement: 'signatures/key-id', fix: secretOfKey },
      ],
    ],
    { fix: 'Use the UTF-8 bytes of the secret as the key, as the text stands' },
  ),
  ...section(
    'key',
    'signatures/ecc',
    [
      ['seed-hashed', 'the SHA-256 of the seed is used as the seed', seed(sha256)],
      [
        'expanded-as-seed',
        'the first half of the expanded private key is used as the seed',
        seed((bytes) => sha512(bytes).slice(0, 32)),
      ],
      [
        'clamped-as-seed',
        'the clamped scalar is used as the seed',
        seed((bytes) => {
          const scalar = sha512(bytes).slice(0, 32)
          scalar[0] = (scalar[0] ?? 0) & 0xf8
          scalar[31] = ((scalar[31] ?? 0) & 0x7f) | 0x40
          return scalar
        }),
      ],
      ['public-key-as-seed', 'the public key is used as the seed', seed(publicKeyOfSeed)],
      [
        'der-as-seed',
        'the first 32 bytes of the PKCS#8 file are used as the seed',
        seed((bytes) => concat(pkcs8Prefix, bytes).slice(0, 32)),
      ],
      [
        'octet-string-as-seed',
        'the seed is read two bytes too early',
        seed((bytes) => concat(pkcs8Prefix.slice(14), bytes).slice(0, 32)),
      ],
      [
        'hex-as-seed',
        'the first 32 hex digits of the seed are used as the seed',
        seed((bytes) => utf8(toHex(bytes)).slice(0, 32)),
      ],
      [
        'base64-as-seed',
        'the first 32 base64 characters of the seed are used as the seed',
        seed((bytes) => utf8(toBase64(bytes)).slice(0, 32)),
      ],
      ['reversed-seed', 'the seed is used in reversed byte order', seed((bytes) => bytes.toReversed())],
    ],
    { fix: 'Read the 32-byte seed out of the PKCS#8 file; it is its last 32 bytes' },
  ),
  ...section(
    'key',
    'signatures/hmac',
    [
      used('python-bytes', "as Python prints bytes, b'…'", (text) => pythonBytes(utf8(text))),
      used('with-cr-lf', 'with CR LF at its end', (text) => `${text}\r\n`),
      used('with-space', 'with a space at its end', (text) => `${text} `),
      used('single-quoted', 'with single quotation marks around it', (text) => `'${text}'`),
      used('hashed-in-base64', 'as the BASE64 of its SHA-256', (text) => toBase64(sha256(utf8(text)))),
      used('basic-blob', 'as BASE64 of the pair id:secret', (text, id) => toBase64(utf8(`${id}:${text}`))),
      used('id-and-secret', 'with the key id before it', (text, id) => id + text),
      used('percent-decoded', 'percent-decoded', percentDecoded),
      used('percent-encoded', 'percent-encoded', encodeURIComponent),
      used('cut-to-32', 'cut to 32 bytes', (text) => text.slice(0, 32)),
      used('cut-to-16', 'cut to 16 bytes', (text) => text.slice(0, 16)),
      ...['undefined', 'null', 'None', 'nil'].map((word) =>
        used(
          `text-${word.toLowerCase()}`,
          `as the text ${word}, which stands for a secret that is not set`,
          () => word,
        ),
      ),
      ['utf-16', 'the secret is encoded in UTF-16', secret(utf16)],
      [
        'decoded-as-utf8',
        'the secret is base64-decoded into a text',
        secret((text) => new TextDecoder().decode(decoded(text))),
      ],
    ],
    { ...lab, fix: 'Use the UTF-8 bytes of the secret as the key, as the text stands' },
  ),
]

// ---- how data and key become bytes: other algorithms, other inputs, the other kind of key

/** An HMAC over something that is made of the data. */
const over = (message: (data: Uint8Array) => Uint8Array | string): DraftChange =>
  mac((secretBytes, bytes) => {
    const made = message(bytes)
    return hmacSha256(secretBytes, typeof made === 'string' ? utf8(made) : made)
  })
const publicPem = (draft: Draft, end = ''): Uint8Array | null => {
  const bytes = publicKeyOf(draft)
  return bytes === null ? null : utf8(publicKeyToPem(bytes) + end)
}
const forEcc = (word: string, name: string, keyOf: (draft: Draft) => Uint8Array | null): Row => [
  word,
  `an HMAC with ${name} is sent where an ED25519 signature is due`,
  macForEcc(keyOf),
]

const ofAlgorithm: readonly KnownMistake[] = [
  ...section('signature', 'signatures/hmac', [
    ['sha1', 'HMAC-SHA1 is used', mac(hmacSha1)],
    ['sha512', 'HMAC-SHA512 is used', mac(hmacSha512)],
    ['arguments-swapped', 'key and data of the HMAC are swapped', mac((by, bytes) => hmacSha256(bytes, by))],
    ['plain-hash', 'SHA-256 over secret and data is used, not an HMAC', mac((by, bytes) => sha256(concat(by, bytes)))],
    [
      'plain-hash-of-data-and-secret',
      'SHA-256 over data and secret is used, not an HMAC',
      mac((by, bytes) => sha256(concat(bytes, by))),
    ],
    ['hmac-over-hash', 'the HMAC is made over the SHA-256 of the data', over(sha256)],
    ['hmac-over-hex', 'the HMAC is made over the hex of the data', over(toHex)],
    ['hmac-over-base64', 'the HMAC is made over the BASE64 of the data', over(toBase64)],
    [
      'cut-hex',
      'the MAC is put in hex and its first 20 digits are encoded',
      mac((by, bytes) => utf8(toHex(hmacSha256(by, bytes)))),
      { fix: cutThenEncode },
    ],
    [
      'cut-base64',
      'the MAC is put in BASE64 and its first 20 characters are encoded',
      mac((by, bytes) => utf8(toBase64(hmacSha256(by, bytes)))),
      { fix: cutThenEncode },
    ],
    [
      'hmac-with-key-id-as-secret',
      'the HMAC is made with the key id as the secret',
      algorithm((draft) => ({ ...draft, ...rightMac, key: utf8(draft.around.keyId) })),
      // Found as key/id-as-secret.
      { requirement: 'signatures/key-id', fix: secretOfKey, found: false },
    ],
  ]),
  ...section('signature', 'signatures/ecc', [
    ['prehashed', 'Ed25519ph is used instead of Ed25519', ecc(sha512, prehashDomain)],
    ['over-hash', 'the SHA-256 of the data is signed', ecc(sha256)],
    ['over-sha512', 'the SHA-512 of the data is signed', ecc(sha512)],
    ['over-hex-hash', 'the hex of the SHA-256 of the data is signed', ecc((bytes) => utf8(toHex(sha256(bytes))))],
    ['over-base64', 'the BASE64 of the data is signed', ecc((bytes) => utf8(toBase64(bytes)))],
  ]),
  ...section('signature', 'signatures/public-key-refuses-hmac', [
    forEcc('hmac-with-seed', 'the seed of the private key', (draft) => draft.key),
    forEcc('hmac-with-public-pem', 'the PEM of the public key', (draft) => publicPem(draft)),
    forEcc('hmac-with-public-pem-file', 'the PEM of the public key and a line feed, as files have it,', (draft) =>
      publicPem(draft, '\n'),
    ),
    forEcc('hmac-with-public-key', 'the bytes of the public key', publicKeyOf),
    forEcc('hmac-with-secret', 'a secret', ({ around }) => {
      const other = around.otherKeys.find(({ kind }) => kind === 'secret')
      return other === undefined ? null : keyBytesOf(other)
    }),
    forEcc('hmac-with-key-id', 'the key id', ({ around }) => utf8(around.keyId)),
  ]),
  ...section('signature', 'signatures/secret-key-refuses-ecc', [
    [
      'ed25519-with-secret',
      'an ED25519 signature with the first 32 bytes of the secret as the seed is sent where an HMAC is due',
      eccForMac((bytes) => bytes.slice(0, 32)),
    ],
    [
      'ed25519-with-hashed-secret',
      'an ED25519 signature with the SHA-256 of the secret as the seed is sent where an HMAC is due',
      eccForMac(sha256),
    ],
  ]),
  ...section(
    'signature',
    'signatures/hmac',
    [
      ['sha384', 'HMAC-SHA384 is used', mac(hmacSha384)],
      ['hash-without-secret', 'SHA-256 over the data alone is used, not an HMAC', mac((_, bytes) => sha256(bytes))],
      [
        'hmac-over-hex-hash',
        'the HMAC is made over the hex of the SHA-256 of the data',
        over((bytes) => toHex(sha256(bytes))),
      ],
      [
        'hmac-over-base64-hash',
        'the HMAC is made over the BASE64 of the SHA-256 of the data',
        over((bytes) => toBase64(sha256(bytes))),
      ],
      [
        'hmac-over-utf16',
        'the HMAC is made over the data in UTF-16',
        over((bytes) => (fromUtf8(bytes) === null ? bytes : utf16(text(bytes)))),
      ],
      [
        'hmac-twice',
        'the HMAC is made over the HMAC of the data',
        mac((by, bytes) => hmacSha256(by, hmacSha256(by, bytes))),
      ],
      [
        'hmac-over-hex-hmac',
        'the HMAC is made over the hex of the HMAC of the data',
        mac((by, bytes) => hmacSha256(by, utf8(toHex(hmacSha256(by, bytes))))),
      ],
      [
        'derived-key',
        'the HMAC is made with a key derived from secret and timestamp',
        mac((by, bytes) => hmacSha256(hmacSha256(by, bytes.subarray(0, bytes.indexOf(0x3b))), bytes)),
      ],
    ],
    lab,
  ),
]

// ---- which of the computed bytes are sent, and how they become text

const ofMac = (word: string, when: string, part: (whole: Uint8Array) => Uint8Array): Row => [
  word,
  when,
  cut((_, whole) => part(whole), 'mac'),
]
const wholeSignature: More = {
  fix: 'Send the whole signature and nothing more: 20 bytes of an HMAC, 64 of ED25519',
}
const asUtf8 = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const ofSignature: readonly KnownMistake[] = [
  ...section('signature', 'signatures/hmac-length', [
    ofMac('untruncated', 'all 32 bytes of the MAC are sent', (whole) => whole),
    ofMac('last-20-bytes', 'the last 20 bytes of the MAC are sent', (whole) => whole.slice(-20)),
    ...[10, 12, 16, 24, 28].map((count) =>
      ofMac(`first-${count}-bytes`, `the first ${count} bytes of the MAC are sent`, (whole) => whole.slice(0, count)),
    ),
    ['one-byte-short', 'the signature lacks its last byte', cut((right) => right.slice(0, -1)), wholeSignature],
    [
      'one-byte-long',
      'the signature has one byte too many',
      cut((right, whole) =>
        concat(right, whole.length > right.length ? whole.slice(right.length, right.length + 1) : Uint8Array.of(0)),
      ),
      wholeSignature,
    ],
    ofMac('without-first-byte', 'the MAC is cut from byte 1 to 21', (whole) => whole.slice(1, 21)),
  ]),
  ...section('signature', 'signatures/ecc', [
    [
      'reversed',
      'the bytes of the signature are reversed',
      cut((right) => right.toReversed()),
      { fix: 'Send the bytes in the order in which they come' },
    ],
    [
      'high-s',
      'S of the ED25519 signature is not below the group order L',
      cut((right) => (right.length === 64 ? withHighS(right) : right), 'ed25519'),
      { requirement: 'signatures/ecc-malleability', fix: 'Reduce S modulo L' },
    ],
  ]),
  ...section(
    'signature',
    'signatures/hmac',
    Object.entries({ first: 0, middle: 0.5, last: 1 }).map(
      ([word, share]): Row => [
        `one-bit-flipped-${word}`,
        `one bit of the ${word} byte of the signature is flipped`,
        cut((right) => {
          const at = Math.min(Math.floor(right.length * share), right.length - 1)
          return right.map((byte, index) => (index === at ? byte ^ 1 : byte))
        }),
      ],
    ),
    { fix: 'Send the signature as computed', found: false },
  ),
  ...section('signature', 'signatures/hmac-encoding', [
    ['in-hex', 'the signature is sent in hex', encoded(toHex)],
    ['in-upper-case-hex', 'the signature is sent in upper-case hex', encoded((bytes) => toHex(bytes).toUpperCase())],
    ['base64url', 'the signature is sent in base64url', encoded(toBase64url)],
    [
      'unpadded',
      'the signature is sent without = padding',
      encoded((_, right) => right.replace(/=+$/, '')),
      { requirement: 'signatures/hmac', fix: fixes['signatures/hmac-encoding']?.[0] ?? '' },
    ],
    [
      'base64-of-hex',
      'the hex of the signature is encoded in BASE64',
      encoded((bytes) => toBase64(utf8(toHex(bytes)))),
    ],
    ['base64-twice', 'the signature is encoded in BASE64 twice', encoded((_, right) => toBase64(utf8(right)))],
    ['percent-encoded', 'the signature is sent percent-encoded', encoded((_, right) => encodeURIComponent(right))],
    [
      'spaces-for-plus',
      'each + of the signature becomes a space on the way',
      encoded((_, right) => right.replaceAll('+', ' ')),
    ],
    ['quoted', 'the signature is sent in quotation marks', encoded((_, right) => `"${right}"`)],
    ['lower-case', 'the signature is put in lower case', encoded((_, right) => right.toLowerCase())],
    [
      'cut-text',
      'the BASE64 text is cut to 20 characters instead of the MAC to 20 bytes',
      encoded((_, right) => right.slice(0, 20)),
      { fix: cutThenEncode },
    ],
    [
      'cut-hex-text',
      'the first 20 hex digits are sent',
      encoded((bytes) => toHex(bytes).slice(0, 20)),
      { fix: cutThenEncode },
    ],
    ['raw-latin-1', 'the bytes are sent as they are, without an encoding', encoded(text)],
    ['empty', 'the signature is empty', encoded(() => '')],
  ]),
  // Named by the length or the form of a signature that no mistake reproduces.
  ...section(
    'signature',
    'signatures/hmac',
    [
      [
        'ecc-for-hmac',
        'the signature has 64 bytes, the length of ED25519, but this key takes an HMAC',
        recognised,
        {
          requirement: 'signatures/secret-key-refuses-ecc',
          fix: 'Sign with the secret of this key, or use the id of the key that has the public key',
        },
      ],
      [
        'hmac-for-ecc',
        'the signature has the length of an HMAC, or is cut like one, but this key takes an ED25519 signature of 64 bytes',
        recognised,
        {
          requirement: 'signatures/public-key-refuses-hmac',
          fix: 'Sign with the private key that belongs to the public key of this key',
        },
      ],
      [
        'printed-object',
        'the signature field holds the printed form of a value or object, not a signature',
        recognised,
        {
          requirement: 'signatures/hmac-encoding',
          fix: 'Encode the bytes of the signature in BASE64, and wait for them where they come from a promise',
        },
      ],
      [
        'another-kind-of-key',
        'the signature looks like one by an RSA or an ECDSA key',
        recognised,
        {
          requirement: 'signatures/ecc',
          fix: 'Sign with the ED25519 private key whose public key this API key has',
        },
      ],
      [
        'damaged',
        'the signature is the right one but for a few characters, or for a lost beginning or end',
        recognised,
        { fix: 'Copy the signature whole; look for a line break, a shell or a log that alters it' },
      ],
    ],
    { found: false },
  ),
  ...section(
    'signature',
    'signatures/hmac-encoding',
    [
      [
        'ed25519-cut-to-20-bytes',
        'the ED25519 signature is cut to its first 20 bytes, as only an HMAC is',
        cut((_, whole) => whole.slice(0, 20), 'ed25519'),
        { requirement: 'signatures/ecc', fix: 'Send all 64 bytes of the ED25519 signature' },
      ],
      [
        'decoded-as-utf8',
        'the bytes of the MAC are decoded as UTF-8, and the first 20 characters are encoded again',
        cut((_, whole) => utf8(asUtf8(whole).slice(0, 20)), 'mac'),
        { fix: 'Cut the bytes of the MAC to 20, then encode them in BASE64; never make a text of them' },
      ],
      [
        'as-utf8-text',
        'the 20 bytes are decoded as UTF-8 and encoded again',
        encoded((bytes) => toBase64(utf8(asUtf8(bytes)))),
      ],
      [
        'latin-1-as-utf8',
        'the bytes are read as ISO 8859-1 and written in UTF-8',
        encoded((bytes) => toBase64(utf8(fromLatin1(bytes)))),
      ],
      ['python-bytes', "the BASE64 is sent as Python prints bytes, b'…'", encoded((_, right) => `b'${right}'`)],
      ['as-numbers', 'the bytes are sent as a list of numbers', encoded((bytes) => `${bytes}`)],
    ],
    { ...lab, fix: 'Encode the bytes of the signature, not a printed form of them, in BASE64' },
  ),
]

// ---- the header around the signature

const sentTime = (write: WriteText): DraftChange =>
  field('timestamp', (text) => (/^\d{13}$/.test(text) ? write(text) : null))
const scheme = (word: string, name: string, write: (right: string) => string): Row => [
  word,
  `the header begins with ${name} instead of the scheme word`,
  header((draft) => {
    const changed = write(draft.scheme)
    return changed === draft.scheme ? null : { ...draft, scheme: changed }
  }),
]

const ofHeader: readonly KnownMistake[] = [
  ...section('fields', 'signatures/header-fields', [
    ['one-too-few', 'the header has too few fields', fields((all) => all.filter((_, at) => at !== 1))],
    ['one-too-many', 'the header has too many fields', fields((all) => [...all, 'extra'])],
    ['with-commas', 'the fields of the header are joined with commas', fields((all) => [all.join(',')])],
    ['with-colons', 'the fields of the header are joined with colons', fields((all) => [all.join(':')])],
    ['with-spaces', 'there are spaces around the fields of the header', fields((all) => [all.join('; ')])],
    [
      'in-another-order',
      'the fields of the header are in another order',
      fields(([keyId = '', version = '', timestamp = '', nonce = '', signature = '']) => [
        keyId,
        version,
        nonce,
        timestamp,
        signature,
      ]),
    ],
    [
      'other-version',
      'the second field of the header is not 1',
      header((draft) => ({ ...draft, sent: { ...draft.sent, version: '2' } })),
      { requirement: 'signatures/version' },
    ],
    [
      'other-key-id',
      'the header names another key than the one whose secret or private key is given',
      header((draft) => ({ ...draft, sent: { ...draft.sent, keyId: 'another-key' } })),
      { requirement: 'signatures/key-id' },
    ],
    [
      'without-scheme',
      'the header has no scheme word',
      header((draft) => ({ ...draft, scheme: '' })),
      { requirement: 'signatures/scheme' },
    ],
  ]),
  ...section(
    'fields',
    'signatures/timestamp',
    [
      ['timestamp-in-seconds', 'the timestamp is in seconds', sentTime((text) => text.slice(0, 10))],
      ['timestamp-in-microseconds', 'the timestamp is in microseconds', sentTime((text) => `${text}000`)],
      ['timestamp-no-integer', 'the timestamp is not an integer', sentTime(iso)],
    ],
    { fix: milliseconds },
  ),
  ...section('fields', 'signatures/nonce', [
    ['empty-nonce', 'the nonce is empty', field('nonce', () => ''), { fix: 'Choose a fresh nonce for every request' }],
  ]),
  // Nobody makes these by accident: scenarios make them to see whether a server accepts them.
  ...section('fields', 'signatures/scheme', [
    scheme('other-scheme', 'another word', () => 'other-hmac-sha256'),
    scheme('basic-scheme', 'the word Basic', () => 'Basic'),
    scheme('longer-scheme', 'a longer word', (word) => `${word}0`),
    scheme('upper-case-scheme', 'the word in upper case', (word) => word.toUpperCase()),
  ]),
  ...section('signature', 'signatures/ecc', [
    [
      'small-order-r',
      'R of the ED25519 signature is a point of small order',
      algorithm((draft) =>
        draft.algorithm.kind === 'ed25519'
          ? { ...draft, cut: () => ed25519SignWithNeutralR(draft.key, joinPieces(draft.pieces)) }
          : null,
      ),
      { fix: 'Sign as RFC 8032 says, with a new R for every message', found: false },
    ],
  ]),
]

/** Every known mistake, in the order of the computation. */
export const mistakes: readonly KnownMistake[] = [
  ...ofRequest,
  ...ofData,
  ...ofBody,
  ...ofKey,
  ...ofAlgorithm,
  ...ofSignature,
  ...ofHeader,
]

const byId = new Map(mistakes.map((mistake) => [mistake.id, mistake]))

/** The mistake with an id that comes from elsewhere. */
export function mistakeById(id: string): KnownMistake | undefined {
  return byId.get(id)
}

/** The mistake with an id of this table. @throws Error for another id */
export function knownMistake(id: string): KnownMistake {
  const found = byId.get(id)
  if (found === undefined) throw new Error(`No mistake has the id "${id}"`)
  return found
}

// ---- the diagnosis of a server from outside: which mistake does it expect, when it refuses a right signature?

/**
 * Likely mistakes of servers only, the most likely first, because each one costs a refused call on the server of a user. Mistakes that
 * depend on the characters of a nonce are left out, and so are those that a server accepts only if it accepts anything.
 */
const ofServers = [
  'signature/untruncated',
  'data/without-final-newline',
  'data/with-doubled-newline',
  'data/with-crlf',
  'data/with-full-url',
  'data/with-lowercase-method',
  'data/with-empty-body',
  'signature/in-hex',
  'signature/base64url',
  'signature/unpadded',
  'signature/base64-of-hex',
  'signature/last-20-bytes',
  'signature/one-byte-short',
  'signature/one-byte-long',
  'signature/first-16-bytes',
  'signature/sha1',
  'signature/sha512',
  'signature/arguments-swapped',
  'signature/plain-hash',
  'signature/cut-hex',
  'signature/hmac-with-key-id-as-secret',
  'signature/over-hash',
  'signature/over-sha512',
  'signature/prehashed',
  'signature/hmac-with-public-pem',
  'data/without-method',
  'data/without-uri',
  'data/with-path-without-slash',
  'data/with-trailing-slash',
  'data/with-root-path',
  'data/with-host-and-path',
  'data/with-commas',
  'data/with-colons',
  'data/with-newlines-for-semicolons',
  'data/without-separators',
  'data/with-nonce-first',
  'data/with-request-first',
  'data/without-timestamp',
  'data/without-nonce',
  'data/with-decoded-nonce',
  'data/with-timestamp-in-seconds',
  'data/with-body-spaced',
  'data/with-body-sorted',
  'data/with-body-hash',
  'data/with-key-id',
  'data/with-version',
]

const sampleBody = '{"jsonrpc":"2.0","id":1,"method":"solution/listSolutions","params":{}}'

/** A call like those of a run: only mistakes that can be made in it are tried. */
function sampleDraft(kind: 'hmac' | 'ecc', sent = utf8(sampleBody)): Draft {
  const key: SignInput['key'] =
    kind === 'hmac' ? { kind: 'secret', secret: 'a-secret' } : { kind: 'ed25519', seed: new Uint8Array(32).fill(7) }
  const [timestamp, nonce] = ['1702555410352', '/u7dzLuqmYh3ZlVEMyIRABCd']
  return draftOf({
    scheme: defaultScheme,
    keyId: 'a-key',
    method: 'POST',
    uri: '/api',
    body: sent,
    timestamp,
    nonce,
    key,
  })
}

/**
 * The mistakes to try one after another, each with a fresh nonce, when a server refused a right signature with this kind of key. The first
 * one that the server accepts names its defect.
 */
export function serverMistakes(kind: 'hmac' | 'ecc'): KnownMistake[] {
  const right = sampleDraft(kind)
  return ofServers.map(knownMistake).filter((mistake) => mistake.apply(right) !== null)
}

/**
 * The mistakes to try when a server refused a right signature over one body and accepted one over another: only those that change nothing
 * in the accepted body, because with any other it would have been refused too.
 */
export function mistakesInBody(refused: Uint8Array, accepted: Uint8Array): KnownMistake[] {
  const [inRefused, inAccepted] = [sampleDraft('hmac', refused), sampleDraft('hmac', accepted)]
  return mistakes.filter(
    ({ stage, made, found, apply }) =>
      stage === 'data' && made && found && apply(inRefused) !== null && apply(inAccepted) === null,
  )
}

/** Two sentences for the author of a server that takes signatures with this mistake: what it accepts, and what it should compute. */
export function serverHint({ requirement, when, fix }: KnownMistake): string {
  return `The server accepts this call when ${when}. ${fixes[requirement]?.[1] ?? fix}`
}
