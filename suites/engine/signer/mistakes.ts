/**
 * The table of known mistakes in a signature: for each what was done, which sentence it breaks, how to mend it, and what it does to which
 * part of a signed call. Fixtures make them, a run tries them on a server that refuses a right signature, and the diagnosis of a signature
 * looks for them.
 */
import { defaultScheme } from '../document.ts'
import { isObject } from '../json.ts'
import { bodyForms, escapes, jsonOf, printedBy, pythonBytes, rewrite, spaced } from './bodies.ts'
import {
  concat,
  fromBase64Loose,
  fromHex,
  fromLatin1,
  fromUtf8,
  latin1,
  percentDecoded,
  sameBytes,
  toBase64,
  toBase64url,
  toHex,
  utf8,
} from './bytes.ts'
import {
  type Draft,
  draftOf,
  joinPieces,
  keyBytesOf,
  type Origin,
  type Piece,
  piece,
  requestDataOf,
  rightEd25519,
  rightMac,
  type SigningKey,
} from './draft.ts'
import { ofBodyValue, ofBytes, ofData, ofKey, ofText, withText } from './draft-changes.ts'
import { ed25519SignWithNeutralR, noDomain, prehashDomain, publicKeyOfSeed, withHighS } from './ed25519.ts'
import { hmacOver, hmacSha256, sha1, sha256, sha384, sha512 } from './hmac.ts'
import { pkcs8Prefix, publicKeyToPem } from './pem.ts'

type DraftChange = ReturnType<typeof ofData>

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

const milliseconds = 'Use milliseconds (13 digits), in the data and in the header alike'
const secretOfKey = 'Use the secret of the key, never its id'
const asTextStands = 'Use the UTF-8 bytes of the secret as the key, as the text stands'
/** For clients that cut the text: they do the two steps in the wrong order. */
const cutThenEncode = 'Cut the bytes of the MAC to the first 20, then encode these bytes in BASE64'
const quoteSecret =
  'Put the secret in single quotes where the environment is set, and compare its length where it is used: the key is the text as it stands'
const wholeSignature = 'Send the whole signature and nothing more: 20 bytes of an HMAC, 64 of ED25519'

/** What a client should do to keep a requirement, and what it should do instead of one mistake, where that says more. */
const fixes: { readonly [requirementOrMistake: string]: string } = {
  'signatures/data-to-sign': 'Sign <timestamp>;<nonce>;<METHOD> LF <URI> LF <body> LF and nothing else',
  'signatures/timestamp': 'Write the timestamp once, as 13 digits, and use this text in the data and in the header',
  'signatures/nonce': 'Sign the nonce exactly as the header carries it',
  'signatures/request-line-feeds': 'End method, URI and body with exactly one LF each',
  'signatures/request-method': 'Begin the request data with the HTTP method of the request, POST, in upper case',
  'signatures/request-uri': 'Sign the URI /api alone, without scheme, host, base path or query',
  'signatures/request-body': 'Sign the body exactly as sent: serialise once, sign these bytes and send these bytes',
  'signatures/hmac': 'Compute HMAC-SHA256 with the secret as the key over the data to sign',
  'signatures/hmac-length': 'Send the first 20 bytes of the 32 of the MAC, no more and no less',
  'signatures/hmac-encoding': 'Encode the bytes of the signature in BASE64 with + and / and with = padding',
  'signatures/ecc': 'Sign the data to sign themselves with plain ED25519',
  'signatures/public-key-refuses-hmac': 'A key with a public key takes only ED25519 signatures by its private key',
  'signatures/secret-key-refuses-ecc': 'A key without a public key takes only HMAC signatures with its secret',
  'signatures/header-fields': 'Send key id, 1, timestamp, nonce and signature, joined with semicolons and nothing else',
  'signatures/version': 'Send the literal 1 as the second field',
  'signatures/key-id': 'Send the id of the key that signs, and sign with its secret or private key',
  'signatures/scheme': 'Begin the header with the scheme word of the target and one space',
  'signatures/ecc-malleability': 'Reduce S modulo L',
  'data/with-written-line-feeds': 'Use the byte 0x0a; in a shell printf writes it, echo and plain quotes do not',
  'data/without-query': 'Sign the URI exactly as given',
  'data/with-timestamp-in-seconds': milliseconds,
  'data/with-timestamp-in-microseconds': milliseconds,
  'key/id-as-secret': secretOfKey,
  'signature/hmac-with-key-id-as-secret': secretOfKey,
  'signature/cut-hex': cutThenEncode,
  'signature/cut-base64': cutThenEncode,
  'signature/cut-text': cutThenEncode,
  'signature/cut-hex-text': cutThenEncode,
  'signature/one-byte-short': wholeSignature,
  'signature/one-byte-long': wholeSignature,
  'signature/reversed': 'Send the bytes in the order in which they come',
  'signature/attached': 'Send the first 64 bytes alone, in BASE64 (a detached signature)',
  'signature/ed25519-cut-to-20-bytes': 'Send all 64 bytes of the ED25519 signature',
  'signature/decoded-as-utf8': 'Cut the bytes of the MAC to 20, then encode them in BASE64; never make a text of them',
  'fields/timestamp-in-seconds': milliseconds,
  'fields/timestamp-in-microseconds': milliseconds,
  'fields/timestamp-no-integer': milliseconds,
  'fields/empty-nonce': 'Choose a fresh nonce for every request',
}

/** What a mistake says besides its id, its claim and its change. Without `fix` that of the mistake or its requirement applies. */
type Texts = Pick<KnownMistake, 'requirement'> & Partial<Pick<KnownMistake, 'fix' | 'made' | 'found'>>

export function mistakeOf(id: string, when: string, change: DraftChange, texts: Texts): KnownMistake {
  const title = when.charAt(0).toUpperCase() + when.slice(1)
  // What is wrong in the header around the signature is read off it.
  const found = change.stage !== 'fields'
  return { fix: fixes[id] ?? fixes[texts.requirement] ?? '', made: true, found, ...texts, ...change, id, when, title }
}

type Row = ReturnType<typeof row>

/** Rows about one sentence of the document; unless `more` says otherwise fixtures make them, and the diagnosis looks for them. */
function about(sentence: string, group: string, more: Partial<Texts>, rows: readonly Row[]): KnownMistake[] {
  const requirement = `signatures/${sentence}`
  return rows.map(({ word, when, change }) => mistakeOf(`${group}/${word}`, when, change, { requirement, ...more }))
}

/** Only the diagnosis looks for these: what clients do by accident and no fixture needs. */
const lab = { made: false }

// ---- Kinds of rows: a word, what was done, and the change itself.

type WriteText = (text: string) => string
type WriteBytes = (bytes: Uint8Array) => Uint8Array

const row = (word: string, when: string, change: DraftChange) => ({ word, when, change })
const asUtf8 = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const text = (bytes: Uint8Array): string => fromUtf8(bytes) ?? ''
/** The bytes that a text encodes in base64, or those of the text itself. */
const decoded = (text: string): Uint8Array => fromBase64Loose(text) ?? utf8(text)

/** Another text of one part of the data. */
const on = (origin: Origin, word: string, when: string, write: Parameters<typeof ofText>[1]): Row =>
  row(word, when, ofText(origin, write))
const nonce = (word: string, how: string, write: WriteText): Row =>
  on('nonce', word, `the nonce is signed ${how}`, write)
const nonceBytes = (word: string, encoding: string, decode: (text: string) => Uint8Array | null): Row => {
  const change = ofBytes('nonce', (bytes) => decode(text(bytes)) ?? bytes)
  return row(word, `the bytes that the nonce encodes in ${encoding} are signed`, change)
}
/** A timestamp of 13 digits, written in another way. */
const time = (word: string, how: string, write: WriteText): Row =>
  on('timestamp', word, `the timestamp is signed ${how}`, (text) => (/^\d{13}$/.test(text) ? write(text) : text))
const iso: WriteText = (text) => new Date(Number(text)).toISOString()
const exponents = (text: string, mark: string): string =>
  `${text[0]}.${text.slice(1).replace(/0+$/, '')}${mark}${text.length - 1}`

/** Another order or choice of the pieces of the data. */
const pieces = (word: string, when: string, change: Parameters<typeof ofData>[0]): Row =>
  row(word, when, ofData(change))
const inFront = (word: string, what: string, write: (keyId: string) => string): Row =>
  pieces(word, `${what} signed in front of the timestamp`, (all, { keyId }) => [piece('other', write(keyId)), ...all])
const indexOf = (all: readonly Piece[], origin: Origin): number => all.findIndex((one) => one.origin === origin)
/** The pieces without their last line end. */
const unended = (all: readonly Piece[]): readonly Piece[] | null =>
  all.at(-1)?.origin === 'line-end' ? all.slice(0, -1) : null
const withLineBefore = (all: readonly Piece[], origin: Origin): Piece[] | null => {
  const at = indexOf(all, origin)
  return at < 0 ? null : all.toSpliced(at, 0, piece('line-end', '\n'))
}
const without = (word: string, when: string, origin: Origin): Row =>
  pieces(word, when, (all) => {
    const at = indexOf(all, origin)
    // The mark behind a part goes with it.
    const mark = all[at + 1]?.origin
    return at < 0 ? null : all.toSpliced(at, mark === 'separator' || mark === 'line-end' ? 2 : 1)
  })
const exchanged = (word: string, when: string, one: Origin, other: Origin): Row =>
  pieces(word, when, (all) => {
    const [first, second] = [all[indexOf(all, one)], all[indexOf(all, other)]]
    if (first === undefined || second === undefined) return null
    return all.map((part) => (part === first ? second : part === second ? first : part))
  })
/** The line end behind a part is left out. */
const joined = (word: string, when: string, origin: Origin): Row =>
  pieces(word, when, (all) => {
    const at = indexOf(all, origin) + 1
    return at > 0 && all[at]?.origin === 'line-end' ? all.toSpliced(at, 1) : null
  })
/** Another text is signed, as other services have it: parts of the data in braces, and the marks between them. */
const habit = (word: string, whose: string, data: string): Row => {
  const parts = data.split(/\{(\w+)\}/)
  const shown = data.replaceAll('\n', ' LF ').replace(/\{(\w+)\}/g, '<$1>')
  const what = data === '{body}' ? 'the body alone is signed' : `the text ${shown} is signed`
  return pieces(word, `${what}, as ${whose} do`, (all) =>
    parts.flatMap((part, at) =>
      at % 2 === 0 ? (part === '' ? [] : [piece('other', part)]) : all.filter(({ origin }) => origin === part),
    ),
  )
}
/** A part of the called URL is signed as the URI, where there is one. */
const url = (word: string, when: string, part: WriteText): Row =>
  on('uri', word, when, (right, around) => (around.url === undefined ? right : part(around.url) || right))
/** The name of the JSON-RPC method of the call is signed. */
const rpc = (word: string, how: string, at: 'method' | 'uri', write: (name: string, right: string) => string): Row =>
  pieces(word, `the JSON-RPC method is signed ${how}`, (all) => {
    const call = jsonOf(all[indexOf(all, 'body')]?.bytes ?? utf8(''))
    const name = isObject(call) ? call.method : undefined
    return typeof name === 'string' ? withText(all, at, (right) => write(name, right)) : null
  })

/** Other bytes of the body that is signed; the body on the wire stays. */
const body = (word: string, when: string, write: (bytes: Uint8Array) => Uint8Array | null): Row =>
  row(word, when, ofBytes('body', write))
const form = (word: string, when: string, name: string): Row =>
  on('body', word, when, bodyForms[name] ?? ((text) => text))
/** How a style differs from that of JSON.stringify. */
type Style = Parameters<typeof rewrite>[1]

/** The body parsed and written again in the first style that changes it. */
const written = (word: string, how: string, ...styles: readonly Style[]): Row =>
  body(word, `the body is parsed and written again ${how} before it is signed`, (raw) => {
    const made = styles.map((style) => rewrite(raw, style))
    return made.find((bytes) => bytes !== null && !sameBytes(bytes, raw)) ?? null
  })

/** A way to write JSON that a serialiser has: the word of its mistake, how it is told, and its style. */
type Spelling = readonly [word: string, how: string, style: Style]
const spellings: readonly Spelling[] = [
  ['with-body-compact', 'without white space (as JSON.stringify does)', {}],
  ['with-body-spaced', 'with spaces (as json.dumps of Python does)', spaced],
  [
    'with-body-python-escapes',
    'with spaces and \\u escapes (as json.dumps of Python does)',
    { ...spaced, escape: escapes.nonAscii },
  ],
  ['with-body-ascii', 'without white space and with \\u escapes', { escape: escapes.nonAscii }],
  ['with-body-go-escapes', 'with <, > and & escaped (as encoding/json of Go does)', { escape: escapes.go }],
  ['with-body-php-escapes', 'with \\/ and \\u escapes (as json_encode of PHP does)', { escape: escapes.php }],
  ['with-body-sorted', 'with sorted members', { sorted: true }],
  ['with-body-indented', 'with indentation', { colon: ': ', indent: '  ' }],
  ['with-body-indented-by-4', 'with an indentation of 4', { colon: ': ', indent: '    ' }],
]
const rareSpellings: readonly Spelling[] = [
  [
    'with-body-gson-escapes',
    'with <, >, &, = and quotes escaped (as Gson of Java does)',
    {
      escape: escapes.gson,
    },
  ],
  [
    'with-body-dotnet-escapes',
    'with escapes in upper-case hex (as System.Text.Json of .NET does)',
    {
      escape: escapes.dotNet,
    },
  ],
  [
    'with-body-jackson-indented',
    'with indentation and spaces around colons (as Jackson does)',
    {
      colon: ' : ',
      indent: '  ',
    },
  ],
  ['with-body-indented-by-1', 'with an indentation of 1', { colon: ': ', indent: ' ' }],
  ['with-body-indented-by-tabs', 'with indentation by tabs', { colon: ': ', indent: '\t' }],
]

/** The mistakes that write the body again in the way of a serialiser, with numbers written as given: only a double loses what JSON says. */
export function spellingsWith(number: Parameters<typeof rewrite>[2]): KnownMistake[] {
  const rows = [...spellings, ...rareSpellings].map(([word, how, style]) => ({
    ...written(word, how, style),
    change: ofBytes('body', (raw) => rewrite(raw, style, number)),
  }))
  return about('request-body', 'data', lab, rows)
}

/** The ids of the mistakes that write the body again in the way of a serialiser. */
export const spellingIds: ReadonlySet<string> = new Set(
  [...spellings, ...rareSpellings].map(([word]) => `data/${word}`),
)

const value = (word: string, when: string, change: Parameters<typeof ofBodyValue>[0]): Row =>
  row(word, when, ofBodyValue(change))
const printed = (language: Parameters<typeof printedBy>[0], what: string): Row =>
  body(`with-body-printed-by-${language}`, `the body is signed as the printed form of ${what}`, (raw) => {
    const parsed = jsonOf(raw)
    return isObject(parsed) ? utf8(printedBy(language, parsed)) : null
  })
const bom = Uint8Array.of(0xef, 0xbb, 0xbf)
/** Little endian, without a byte order mark. */
const utf16 = (text: string): Uint8Array =>
  Uint8Array.from(text.split('').flatMap((unit) => [unit.charCodeAt(0) & 0xff, unit.charCodeAt(0) >> 8]))
type Members = [name: string, value: unknown][]
/** Other members of an object, and of the objects in it. */
const withMembers = (of: unknown, change: (members: Members) => Members): unknown =>
  isObject(of)
    ? Object.fromEntries(change(Object.entries(of)).map(([name, inner]) => [name, withMembers(inner, change)]))
    : of

const secret = (
  word: string,
  when: string,
  write: (text: string, keyId: string) => Uint8Array | string | null,
): Row => {
  const change = ofKey(({ around, algorithm }) => {
    const right = around.key.kind === 'secret' && algorithm.kind === 'mac' ? fromUtf8(keyBytesOf(around.key)) : null
    const made = right === null ? null : write(right, around.keyId)
    return typeof made === 'string' ? utf8(made) : made
  })
  return row(word, when, change)
}
const htmlNames: { [mark: string]: string } = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }
const withoutLineEnd: WriteText = (right) => right.replace(/[\r\n]+$/, '')
const withoutPrefix: WriteText = (right) => right.replace(/^[A-Za-z][A-Za-z0-9]*_/, '')
/** As most decoders read base64: other marks are skipped. */
const fromBase64Lenient = (it: string): Uint8Array | null => {
  const marks = it.replace(/=.*/s, '').replace(/[^A-Za-z0-9+/_-]/g, '')
  return marks === '' ? null : fromBase64Loose(marks.length % 4 === 1 ? marks.slice(0, -1) : marks)
}
const used = (word: string, how: string, write: (text: string, keyId: string) => string): Row =>
  secret(word, `the secret is used ${how}`, write)
/** The first 32 bytes of others are the seed. It is made with the seed, and can be found with the public key alone. */
const seed = (word: string, when: string, write: WriteBytes): Row => {
  const isSeed = (draft: Draft): boolean => draft.algorithm.kind === 'ed25519' && draft.key.length === 32
  const change = ofKey((draft) => (isSeed(draft) ? write(draft.key).slice(0, 32) : null))
  return row(word, when, change)
}

const computed = (word: string, when: string, apply: DraftChange['apply']): Row =>
  row(word, when, { stage: 'algorithm', apply })
const mac = (word: string, when: string, compute: (key: Uint8Array, data: Uint8Array) => Uint8Array): Row =>
  computed(word, when, (draft) =>
    draft.algorithm.kind === 'mac' ? { ...draft, algorithm: { kind: 'mac', compute } } : null,
  )
const macOver = (
  word: string,
  what: string,
  message: (data: Uint8Array, key: Uint8Array) => Uint8Array | string,
): Row =>
  mac(word, `the HMAC is made over ${what} of the data`, (key, data) => {
    const made = message(data, key)
    return hmacSha256(key, typeof made === 'string' ? utf8(made) : made)
  })
const ecc = (word: string, when: string, message: WriteBytes, domain = noDomain): Row =>
  computed(word, when, (draft) =>
    draft.algorithm.kind === 'ed25519' ? { ...draft, algorithm: { kind: 'ed25519', message, domain } } : null,
  )
const macForEcc = (word: string, name: string, keyOf: (draft: Draft) => Uint8Array | null): Row =>
  computed(word, `an HMAC with ${name} is sent where an ED25519 signature is due`, (draft) => {
    const key = draft.algorithm.kind === 'ed25519' ? keyOf(draft) : null
    return key === null || key.length === 0 ? null : { ...draft, ...rightMac, key }
  })
const eccForMac = (word: string, name: string, seedOf: WriteBytes): Row =>
  computed(word, `an ED25519 signature with ${name} as the seed is sent where an HMAC is due`, (draft) => {
    const key = draft.algorithm.kind === 'mac' ? seedOf(draft.key) : utf8('')
    return key.length === 32 ? { ...draft, ...rightEd25519, key } : null
  })
const publicKeyOf = ({ around, key }: Draft): Uint8Array | null => {
  if (around.key.kind === 'ed25519-public') return around.key.publicKey
  return around.key.kind === 'ed25519' ? publicKeyOfSeed(key) : null
}
const publicPem = (draft: Draft, end: string): Uint8Array | null => {
  const key = publicKeyOf(draft)
  return key === null ? null : utf8(publicKeyToPem(key) + end)
}

/** Other bytes of the signature are sent. `change` gets what the right cut would send, and everything. */
const cut = (
  word: string,
  when: string,
  change: (right: Uint8Array, whole: Uint8Array) => Uint8Array,
  only?: 'mac' | 'ed25519',
): Row => {
  const apply = (draft: Draft): Draft | null =>
    only !== undefined && draft.algorithm.kind !== only
      ? null
      : { ...draft, cut: (whole) => change(draft.cut(whole), whole) }
  return row(word, when, { stage: 'cut', apply })
}
const macCut = (word: string, what: string, part: WriteBytes): Row =>
  cut(word, `${what} of the MAC are sent`, (_, whole) => part(whole), 'mac')
/** The bytes of the signature are written in another way. `change` gets them, and the right text. */
const sent = (word: string, when: string, change: (bytes: Uint8Array, right: string) => string): Row => {
  const apply = (draft: Draft): Draft => ({ ...draft, encode: (bytes) => change(bytes, draft.encode(bytes)) })
  return row(word, when, { stage: 'encoding', apply })
}
/** Named by the length or the form of a signature that no mistake reproduces. */
const recognised = (word: string, sentence: string, when: string, fix: string): KnownMistake[] =>
  about(sentence, 'signature', { fix, found: false }, [row(word, when, { stage: 'encoding', apply: () => null })])

const header = (word: string, when: string, apply: DraftChange['apply']): Row =>
  row(word, when, { stage: 'fields', apply })
const fields = (word: string, when: string, change: (inOrder: string[]) => string[]): Row =>
  header(word, when, (draft) => ({ ...draft, fields: (inOrder) => change(draft.fields(inOrder)) }))
/** Another value of a field, both signed and sent. */
const withField = (draft: Draft, name: 'timestamp' | 'nonce', text: string): Draft => ({
  ...draft,
  sent: { ...draft.sent, [name]: text },
  pieces: withText(draft.pieces, name, () => text),
})
const sentTime = (word: string, how: string, write: WriteText): Row =>
  header(word, `the timestamp is ${how}`, (draft) => {
    const { timestamp } = draft.sent
    return /^\d{13}$/.test(timestamp) ? withField(draft, 'timestamp', write(timestamp)) : null
  })
const scheme = (word: string, name: string, write: WriteText): Row =>
  header(word, `the header begins with ${name} instead of the scheme word`, (draft) => {
    const changed = write(draft.scheme)
    return changed === draft.scheme ? null : { ...draft, scheme: changed }
  })

/** Every known mistake, in the order of the computation. */
export const mistakes: readonly KnownMistake[] = [
  // ---- request data: line ends, HTTP method and URI
  ...about('request-line-feeds', 'data', {}, [
    pieces('without-final-newline', 'the data to sign lacks the line feed after the body', unended),
    pieces(
      'with-doubled-newline',
      'the data to sign ends with two line feeds, or the body is signed with one that is not sent',
      (all) => [...all, piece('line-end', '\n')],
    ),
    on('line-end', 'with-crlf', 'the lines of the data to sign end with CR LF', () => '\r\n'),
    on('line-end', 'without-line-feeds', 'method, URI and body are joined without line feeds', () => ''),
    on('line-end', 'with-written-line-feeds', 'a backslash and an n stand where line feeds belong', () => '\\n'),
  ]),
  ...about('request-method', 'data', {}, [
    on('method', 'with-lowercase-method', 'the HTTP method is signed in lower case', (word) => word.toLowerCase()),
    on('method', 'with-capitalised-method', 'the HTTP method is signed with one capital letter', (word) =>
      word.toLowerCase().replace(/^./, (first) => first.toUpperCase()),
    ),
    without('without-method', 'the line with the HTTP method is left out', 'method'),
    on('method', 'with-get-method', 'GET is signed instead of the method that is sent', () => 'GET'),
  ]),
  ...about('request-uri', 'data', {}, [
    without('without-uri', 'the line with the URI is left out', 'uri'),
    url('with-full-url', 'the full URL is signed instead of the path', (whole) => whole),
    url('with-host-and-path', 'host and path are signed instead of the path', (it) => it.replace(/^\w+:\/\//, '')),
    url('with-base-path', 'the path of the base URL is signed as well', (whole) =>
      whole.replace(/^\w+:\/\/[^/?#]*/, '').replace(/[?#].*$/, ''),
    ),
    on('uri', 'with-query', 'the query of the URL is signed with the URI', (path, around) =>
      path.includes('?') ? path : path + (/\?[^#]*/.exec(around.url ?? '')?.[0] ?? ''),
    ),
    on('uri', 'without-query', 'the query is dropped from the signed URI', (path) => path.replace(/\?.*$/, '')),
    on('uri', 'with-path-without-slash', 'the URI is signed without its leading slash', (it) => it.replace(/^\//, '')),
    on('uri', 'with-trailing-slash', 'the URI is signed with a trailing slash', (it) => it.replace(/\/?$/, '/')),
    on('uri', 'with-root-path', 'the path / is signed instead of the URI', () => '/'),
    on('uri', 'with-uppercase-uri', 'the URI is signed in upper case', (path) => path.toUpperCase()),
  ]),
  ...about('request-line-feeds', 'data', lab, [
    pieces('with-tripled-newline', 'the data to sign ends with three line feeds', (all) => [
      ...all,
      piece('line-end', '\n\n'),
    ]),
    pieces('with-blank-line', 'an empty line stands before the body, as in HTTP', (all) => withLineBefore(all, 'body')),
    pieces('with-line-feeds-before', 'the line feeds stand before method, URI and body', (all) =>
      withLineBefore(unended(all) ?? all, 'method'),
    ),
    joined('without-newline-after-method', 'the line feed after the method is left out', 'method'),
    joined('without-newline-after-uri', 'the line feed after the URI is left out', 'uri'),
    ...Object.entries({ spaces: ' ', semicolons: ';', 'carriage returns': '\r', colons: ':', bars: '|' }).map(
      ([name, mark]) => {
        const when = `method, URI and body are signed with ${name} for line feeds`
        return on('line-end', `with-${name.replace(' ', '-')}-for-line-feeds`, when, () => mark)
      },
    ),
  ]),
  ...about('request-uri', 'data', lab, [
    on('uri', 'with-encoded-uri', 'the URI is signed percent-encoded', encodeURIComponent),
    on('uri', 'with-double-slash', 'the URI is signed with two leading slashes', (path) => `/${path}`),
    on('uri', 'with-question-mark', 'the URI is signed with a question mark after it', (path) => `${path}?`),
    on('uri', 'with-number-sign', 'the URI is signed with a # after it', (path) => `${path}#`),
    on('uri', 'with-capitalised-uri', 'the URI is signed with one capital letter', (path) =>
      path.replace(/[a-z]/, (first) => first.toUpperCase()),
    ),
    url('with-base-url', 'the base URL is signed instead of the URI', (whole) => whole.replace(/\/api.*$/, '')),
    rpc('with-rpc-method-as-uri', 'as the URI', 'uri', (name) => name),
    rpc('with-rpc-method-after-uri', 'after the URI', 'uri', (name, path) => `${path}/${name}`),
  ]),
  ...about('request-method', 'data', lab, [
    rpc('with-rpc-method', 'as the HTTP method', 'method', (name) => name),
    rpc('with-upper-case-rpc-method', 'in upper case as the HTTP method', 'method', (name) => name.toUpperCase()),
    pieces('with-upper-case-request', 'method, URI and body are signed in upper case', (all) => {
      const upper: WriteText = (right) => right.toUpperCase()
      return withText(withText(all, 'uri', upper), 'body', upper)
    }),
  ]),

  // ---- timestamp and nonce as signed, and how the data to sign are put together
  ...about('timestamp', 'data', {}, [
    time('with-timestamp-in-seconds', 'in seconds', (right) => right.slice(0, 10)),
    time('with-timestamp-in-microseconds', 'in microseconds', (right) => `${right}000`),
    on(
      'timestamp',
      'with-timestamp-in-milliseconds',
      'the timestamp is signed in milliseconds and sent in another unit',
      (other) => (/^\d{10}$/.test(other) ? `${other}000` : /^\d{16}$/.test(other) ? other.slice(0, 13) : other),
    ),
    time('with-iso-timestamp', 'as an ISO 8601 text', iso),
  ]),
  ...about('data-to-sign', 'data', {}, [
    without('without-timestamp', 'the timestamp is left out of the signed data', 'timestamp'),
  ]),
  ...about('nonce', 'data', {}, [
    nonce('with-nonce-without-padding', 'without the = padding that the header carries', (it) => it.replace(/=+$/, '')),
    nonce('with-padded-nonce', 'with = padding that the header lacks', (right) =>
      right.padEnd(Math.ceil(right.length / 4) * 4, '='),
    ),
    nonceBytes('with-decoded-nonce', 'base64', fromBase64Loose),
    nonce('with-nonce-in-hex', 'in hex', (right) => toHex(decoded(right))),
    nonce('with-base64url-nonce', 'with - and _ where the header has + and /', (right) =>
      right.replaceAll('+', '-').replaceAll('/', '_'),
    ),
    nonce('with-percent-encoded-nonce', 'percent-encoded', encodeURIComponent),
  ]),
  ...about('data-to-sign', 'data', {}, [
    without('without-nonce', 'the nonce is left out of the signed data', 'nonce'),
    exchanged('with-nonce-first', 'the nonce is signed before the timestamp', 'timestamp', 'nonce'),
    pieces('with-request-first', 'the request data is signed before timestamp and nonce', (all) => {
      const start = all.findIndex(({ origin }) => origin === 'method' || origin === 'uri' || origin === 'body')
      const front = all.slice(0, start)
      if (front.at(-1)?.origin !== 'separator') return null
      return [...all.slice(start), ...front.slice(-1), ...front.slice(0, -1)]
    }),
  ]),
  ...about('request-method', 'data', {}, [
    exchanged('with-uri-first', 'the URI is signed before the method', 'method', 'uri'),
  ]),
  ...about('data-to-sign', 'data', {}, [
    inFront('with-key-id', 'the key id is', (keyId) => `${keyId};`),
    inFront('with-version', 'the 1 of the header is', () => '1;'),
    inFront('with-key-id-and-version', 'the first two header fields are', (keyId) => `${keyId};1;`),
    ...Object.entries({
      'with-commas': ['commas', ','],
      'with-colons': ['colons', ':'],
      'with-newlines-for-semicolons': ['line feeds', '\n'],
      'with-dots': ['dots', '.'],
      'with-spaces': ['spaces', ' '],
      'with-spaced-semicolons': ['semicolons and spaces', '; '],
      'without-separators': ['nothing between', ''],
    } as const).map(([word, [name, mark]]) =>
      on('separator', word, `timestamp, nonce and request data are joined with ${name}`, () => mark),
    ),
    pieces('with-newline-before-method', 'a line feed follows the semicolon before the method', (all) =>
      withLineBefore(all, 'method'),
    ),
  ]),
  ...about('timestamp', 'data', lab, [
    time('with-timestamp-as-float', 'with .0 after it', (ms) => `${ms}.0`),
    time('with-timestamp-in-float-seconds', 'in seconds with a fraction', (ms) => `${Number(ms) / 1000}`),
    time('with-timestamp-in-java-exponents', 'as Java prints a double', (ms) => exponents(ms, 'E')),
    time('with-timestamp-in-go-exponents', 'as Go prints a float64', (ms) => exponents(ms, 'e+')),
    time('with-timestamp-of-whole-seconds', 'in milliseconds that end in 000', (ms) => `${ms.slice(0, -3)}000`),
    time('with-timestamp-in-rounded-seconds', 'in seconds, rounded up', (ms) => `${Math.ceil(Number(ms) / 1000)}`),
    time('with-timestamp-in-nanoseconds', 'in nanoseconds', (ms) => `${ms}000000`),
    time('with-grouped-timestamp', 'with commas between thousands', (ms) => Number(ms).toLocaleString('en-US')),
    time('with-timestamp-in-hex', 'in hex', (ms) => Number(ms).toString(16)),
    time('with-http-date', 'as an HTTP date', (ms) => new Date(Number(ms)).toUTCString()),
    time('with-iso-timestamp-and-offset', 'as an ISO 8601 text with +00:00, as Python prints it', (ms) =>
      iso(ms).replace('Z', '+00:00'),
    ),
    time('with-iso-timestamp-in-microseconds', 'as an ISO 8601 text with microseconds', (ms) =>
      iso(ms).replace('Z', '000+00:00'),
    ),
    time('with-iso-timestamp-without-zone', 'as an ISO 8601 text without a zone', (ms) => iso(ms).slice(0, -1)),
    time('with-iso-timestamp-in-seconds', 'as an ISO 8601 text without a fraction', (ms) =>
      iso(ms).replace(/\.\d+/, ''),
    ),
    on(
      'timestamp',
      'with-timestamp-without-fraction',
      'the timestamp is signed without the fraction that is sent',
      (other) => other.replace(/\.\d+$/, ''),
    ),
  ]),
  ...about('nonce', 'data', lab, [
    nonce('with-nonce-as-python-bytes', "as Python prints bytes, b'…'", (right) => pythonBytes(utf8(right))),
    nonce('with-nonce-and-newline', 'with a line feed after it, as base64 tools print it', (right) => `${right}\n`),
    nonce('with-nonce-lower-case', 'in lower case', (right) => right.toLowerCase()),
    nonce('with-nonce-upper-case', 'in upper case', (right) => right.toUpperCase()),
    nonce('with-nonce-without-hyphens', 'without its hyphens', (right) => right.replaceAll('-', '')),
    nonce('with-quoted-nonce', 'in quotation marks', (right) => `"${right}"`),
    nonce('with-nonce-in-base64', 'in BASE64, and sent as it was before', (right) => toBase64(utf8(right))),
    nonce('with-nonce-text-in-hex', 'as the hex of its characters', (right) => toHex(utf8(right))),
    nonce('with-plain-base64-nonce', 'with + and / where the header has - and _', (right) =>
      right.replaceAll('-', '+').replaceAll('_', '/'),
    ),
    nonce('with-nonce-as-numbers', 'as a list of its bytes', (right) => `${decoded(right)}`),
    nonce('with-nonce-printed-by-go', 'as Go prints its bytes', (right) => `[${decoded(right).join(' ')}]`),
    nonce('with-nonce-decoded-as-utf8', 'decoded, as text in UTF-8', (right) => asUtf8(decoded(right))),
    nonce('with-nonce-decoded-as-latin-1', 'decoded, as text in ISO 8859-1', (right) => fromLatin1(decoded(right))),
    nonce('with-empty-nonce', 'empty', () => ''),
    nonce('with-nonce-undefined', 'as the text undefined', () => 'undefined'),
    nonce('with-nonce-none', 'as the text None', () => 'None'),
    nonce('with-nonce-null', 'as the text null', () => 'null'),
    nonceBytes('with-hex-decoded-nonce', 'hex', fromHex),
  ]),
  ...about('data-to-sign', 'data', lab, [
    pieces('with-final-semicolon', 'the data to sign ends with a semicolon', (all) => [...all, piece('other', ';')]),
    on('separator', 'with-bars', 'timestamp, nonce and request data are joined with bars', () => '|'),
    exchanged('with-body-before-uri', 'the body is signed before the URI', 'uri', 'body'),
    pieces('with-request-hash', 'the hex of the SHA-256 of the request data is signed in its place', (all) => {
      const start = indexOf(all, 'method')
      return start < 0 ? null : [...all.slice(0, start), piece('other', toHex(sha256(requestDataOf(all))))]
    }),
  ]),

  // The secret is right, but the data are put together as another service has them.
  ...about('data-to-sign', 'data', lab, [
    habit('with-body-alone', 'many webhooks', '{body}'),
    habit('with-timestamp-dot-body', 'many webhooks', '{timestamp}.{body}'),
    habit('with-timestamp-body', 'some webhooks and exchanges', '{timestamp}{body}'),
    habit('with-timestamp-colon-body', 'some webhooks', '{timestamp}:{body}'),
    habit('with-labelled-timestamp-body', 'some webhooks', 't={timestamp}.{body}'),
    habit('with-versioned-timestamp-body', 'some webhooks', 'v0:{timestamp}:{body}'),
    habit('with-nonce-timestamp-body', 'some webhooks', '{nonce}.{timestamp}.{body}'),
    habit('with-uri-timestamp-body', 'some exchanges', '{uri}{timestamp}{body}'),
    habit('with-timestamp-method-uri-body', 'many exchanges', '{timestamp}{method}{uri}{body}'),
    habit('with-method-uri-timestamp-body', 'some exchanges', '{method}{uri}{timestamp}{body}'),
    habit('with-nonce-timestamp-body-joined', 'some exchanges', '{nonce}{timestamp}{body}'),
    habit('with-request-lines', 'some payment services', '{method}\n{uri}\n{timestamp}\n{nonce}\n{body}\n'),
  ]),

  // ---- the body that is signed; the body on the wire stays
  // For fixtures: the first style that changes the bytes. The diagnosis looks for each style under its own name.
  ...about('request-body', 'data', { found: false }, [
    written('with-body-reserialised', 'with other spacing', spaced, {}),
  ]),
  ...about('request-body', 'data', {}, [
    ...spellings.map((spelling) => written(...spelling)),
    body('without-body-bom', 'the byte order mark of the body is sent and not signed', (raw) =>
      sameBytes(raw.subarray(0, 3), bom) ? raw.slice(3) : null,
    ),
    form('with-body-trimmed', 'the body is trimmed before it is signed', 'trimmed'),
    form('with-body-lf', 'CR LF in the body is signed as LF', 'crlf-to-lf'),
    form('with-body-crlf', 'LF in the body is signed as CR LF', 'lf-to-crlf'),
    on('body', 'with-body-unescaped', '\\u escapes of the body are resolved before it is signed', (right) =>
      right.replace(/\\u([0-9a-fA-F]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    ),
    on('body', 'with-body-as-json-text', 'the body is JSON-encoded twice', (right) => JSON.stringify(right)),
    value('with-params-only', 'only the params of the body are signed', (call) => call.params),
    on('body', 'with-body-percent-encoded', 'the body is percent-encoded before it is signed', encodeURIComponent),
    body('with-empty-body', 'the body is left out of the signed data', () => utf8('')),
    body('with-body-latin-1', 'the body is signed in ISO 8859-1', (raw) => latin1(text(raw))),
    body('with-body-utf8-twice', 'the UTF-8 of the body is encoded a second time', (raw) =>
      fromUtf8(raw) === null ? null : utf8(fromLatin1(raw)),
    ),
    on('body', 'with-body-question-marks', 'the body is signed in ASCII, with a ? for every other character', (right) =>
      right.replace(/[^\0-\x7f]/gu, '?'),
    ),
    body('with-body-utf16', 'the body is signed in UTF-16', (raw) =>
      fromUtf8(raw) === null ? null : utf16(text(raw)),
    ),
    body('with-body-bom', 'the body is signed with a byte order mark', (raw) => concat(bom, raw)),
    body('with-body-hash', 'the SHA-256 of the body is signed in its place', (raw) => utf8(toHex(sha256(raw)))),
    body('with-body-base64', 'the BASE64 of the body is signed in its place', (raw) => utf8(toBase64(raw))),
  ]),
  ...about('request-body', 'data', lab, [
    ...rareSpellings.map((spelling) => written(...spelling)),
    written('with-body-floats', 'with whole numbers as 1.0', {
      number: (it) => (Number.isInteger(it) ? `${it}.0` : JSON.stringify(it)),
    }),
    printed('python', "a dict of Python (str(dict) gives {'a': 1})"),
    printed('python-quoted', 'a dict of Python, its quotes replaced ({"a": False, "b": None})'),
    printed('java', 'a Map of Java (toString() gives {a=1})'),
    printed('go', 'a map of Go (fmt gives map[a:1])'),
    printed('ruby', 'a Hash of Ruby (inspect gives {"a"=>1})'),
    printed('ruby-3-4', 'a Hash of Ruby 3.4 (inspect gives {"a" => 1})'),
    ...Object.entries({
      'printed-by-javascript': '[object Object]',
      undefined: 'undefined',
      null: 'null',
      none: 'None',
      nil: 'nil',
      'printed-by-php': 'Array',
      'empty-object': '{}',
    }).map(([word, other]) =>
      on('body', `with-body-${word}`, `the text ${other} is signed in place of the body`, () => other),
    ),
    body('with-body-python-bytes', "the body is signed as Python prints bytes, b'…'", (raw) => utf8(pythonBytes(raw))),
    form(
      'with-body-without-white-space',
      'all white space is taken out of the body before it is signed',
      'without-white-space',
    ),
    form('with-body-lower-case', 'the body is put in lower case before it is signed', 'lower-case'),
    form('with-body-upper-case', 'the body is put in upper case before it is signed', 'upper-case'),
    body('with-body-cut-to-8-bits', 'every character of the body is cut to 8 bits (an em dash becomes 0x14)', (raw) =>
      latin1(text(raw)) === null ? Uint8Array.from(text(raw).split(''), (unit) => unit.charCodeAt(0) & 0xff) : null,
    ),
    body(
      'with-body-latin-1-question-marks',
      'the body is signed in ISO 8859-1, with a ? for every character beyond it',
      (raw) => (latin1(text(raw)) === null ? latin1(text(raw).replace(/[^\0-\xff]/gu, '?')) : null),
    ),
    body('with-body-windows-1252', 'the body is signed in Windows-1252', (raw) =>
      fromUtf8(raw) === null ? null : windows1252(text(raw)),
    ),
    ...Object.entries({
      'ISO 8859-1': fromLatin1,
      'Windows-1252': fromWindows1252,
    }).map(([name, read]) =>
      body(
        `with-body-utf8-sent-in-${name.toLowerCase().replace(' ', '-')}`,
        `the body is signed in UTF-8 and sent in ${name}`,
        (raw) => (fromUtf8(raw) === null ? utf8(read(raw)) : null),
      ),
    ),
    form('with-body-composed', 'the body is signed in Unicode form NFC', 'composed'),
    form('with-body-decomposed', 'the body is signed in Unicode form NFD', 'decomposed'),
    body('with-body-hash-in-base64', 'the SHA-256 of the body is signed in its place, in BASE64', (raw) =>
      utf8(toBase64(sha256(raw))),
    ),
    value('with-id-as-text', 'the body is signed with its id as a text', (it) => ({ ...it, id: `${it.id}` })),
    value('with-id-as-number', 'the body is signed with its id as a number', (it) => ({ ...it, id: Number(it.id) })),
    value('with-params-as-text', 'the params are JSON-encoded a second time', (call) => ({
      ...call,
      params: JSON.stringify(call.params ?? {}),
    })),
    value('with-body-members-sorted', 'the body is signed with its members sorted', (call) =>
      withMembers(call, (all) => all.sort(([one], [other]) => (one < other ? -1 : 1))),
    ),
    value('without-nulls', 'the body is signed without its members that are null', (call) =>
      withMembers(call, (all) => all.filter(([, member]) => member !== null)),
    ),
  ]),

  // ---- which bytes are the key
  ...about('hmac', 'key', { fix: asTextStands }, [
    secret('hex-decoded', 'the secret is hex-decoded', fromHex),
    secret('base64-decoded', 'the secret is base64-decoded', (it) => (it === '' ? null : fromBase64Loose(it))),
    secret('base64-encoded', 'the secret is base64-encoded', (right) => toBase64(utf8(right))),
    secret('hex-encoded', 'the secret is hex-encoded', (right) => toHex(utf8(right))),
    secret('upper-case', 'the secret is put in upper case', (right) => right.toUpperCase()),
    secret('lower-case', 'the secret is put in lower case', (right) => right.toLowerCase()),
    used('with-newline', 'with a line feed at its end', (right) => `${right}\n`),
    secret('trimmed', 'white space around the secret is dropped', (right) =>
      right.trim() === withoutLineEnd(right) ? null : right.trim(),
    ),
    used('quoted', 'with quotation marks around it', (right) => `"${right}"`),
    secret('hashed', 'the SHA-256 of the secret is used as the key', (right) => sha256(utf8(right))),
    secret('hashed-in-hex', 'the hex of the SHA-256 of the secret is used as the key', (right) =>
      toHex(sha256(utf8(right))),
    ),
    secret('latin-1', 'the secret is encoded in ISO 8859-1', latin1),
    secret('empty', 'an empty secret is used', () => ''),
    secret('basic-pair', 'the pair id:secret is used as the key', (right, keyId) => `${keyId}:${right}`),
  ]),
  ...about('key-id', 'key', {}, [secret('id-as-secret', 'the key id is used as the secret', (_, keyId) => keyId)]),
  ...about('ecc', 'key', { fix: 'Read the 32-byte seed out of the PKCS#8 file; it is its last 32 bytes' }, [
    seed('seed-hashed', 'the SHA-256 of the seed is used as the seed', sha256),
    seed('expanded-as-seed', 'the first half of the expanded private key is used as the seed', sha512),
    seed('clamped-as-seed', 'the clamped scalar is used as the seed', (right) => {
      const scalar = sha512(right)
      scalar[0] = (scalar[0] ?? 0) & 0xf8
      scalar[31] = ((scalar[31] ?? 0) & 0x7f) | 0x40
      return scalar
    }),
    seed('public-key-as-seed', 'the public key is used as the seed', publicKeyOfSeed),
    seed('der-as-seed', 'the first 32 bytes of the PKCS#8 file are used as the seed', (it) => concat(pkcs8Prefix, it)),
    seed('octet-string-as-seed', 'the seed is read two bytes too early', (it) => concat(pkcs8Prefix.slice(14), it)),
    seed('hex-as-seed', 'the first 32 hex digits of the seed are used as the seed', (it) => utf8(toHex(it))),
    seed('base64-as-seed', 'the first 32 base64 characters of the seed are used as the seed', (it) =>
      utf8(toBase64(it)),
    ),
    seed('reversed-seed', 'the seed is used in reversed byte order', (right) => right.toReversed()),
  ]),
  ...about('hmac', 'key', { ...lab, fix: asTextStands }, [
    used('python-bytes', "as Python prints bytes, b'…'", (right) => pythonBytes(utf8(right))),
    used('with-cr', 'with CR at its end', (right) => `${right}\r`),
    used('with-cr-lf', 'with CR LF at its end', (right) => `${right}\r\n`),
    used('with-space', 'with a space at its end', (right) => `${right} `),
    used('single-quoted', 'with single quotation marks around it', (right) => `'${right}'`),
    used('hashed-in-base64', 'as the BASE64 of its SHA-256', (right) => toBase64(sha256(utf8(right)))),
    used('basic-blob', 'as BASE64 of the pair id:secret', (right, id) => toBase64(utf8(`${id}:${right}`))),
    used('id-and-secret', 'with the key id before it', (right, id) => id + right),
    used('percent-decoded', 'percent-decoded', percentDecoded),
    used('plus-as-space', 'with spaces for +, as a form is decoded', (right) => right.replaceAll('+', ' ')),
    used('percent-encoded', 'percent-encoded', encodeURIComponent),
    used('cut-to-32', 'cut to 32 bytes', (right) => right.slice(0, 32)),
    used('cut-to-16', 'cut to 16 bytes', (right) => right.slice(0, 16)),
    used('cut-to-8', 'cut to 8 bytes', (right) => right.slice(0, 8)),
    ...['undefined', 'null', 'None', 'nil'].map((word) => {
      const how = `as the text ${word}, which stands for a secret that is not set`
      return used(`text-${word.toLowerCase()}`, how, () => word)
    }),
    secret('utf-16', 'the secret is encoded in UTF-16', utf16),
    secret('decoded-as-utf8', 'the secret is base64-decoded into a text', (right) => asUtf8(decoded(right))),
  ]),

  // The client is right, and what is given here is not the secret.
  ...about('hmac', 'key', { ...lab, fix: 'Give the secret here as the client uses it, with nothing around it' }, [
    used('given-with-line-end', 'without the line end that the secret given here has', withoutLineEnd),
    used('given-in-quotes', 'without the quotation marks around the secret given here', (right) =>
      withoutLineEnd(right).replace(/^(["'])(.*)\1$/s, '$2'),
    ),
  ]),

  // Changed on the way from the place where the secret is kept.
  ...about('hmac', 'key', { ...lab, fix: quoteSecret }, [
    used('cut-at-hash', 'cut at its #, where a comment begins in a file of settings', (it) => it.replace(/#.*/s, '')),
    used('cut-at-dollar', 'cut at its $, where a shell looks for a variable', (it) => it.replace(/\$.*/s, '')),
    used('variable-dropped', 'without its $ and the word behind it, which a shell takes for a variable', (right) =>
      right.replace(/\$(?:[A-Za-z_]\w*|\d|\{[^}]*\})/g, ''),
    ),
    used('cut-at-word-end', 'cut where a shell ends a word that stands in no quotes', (it) =>
      it.replace(/[\s;&|<>()].*/s, ''),
    ),
    used('backslash-dropped', 'without its \\, as a shell or a file of settings reads it', (right) =>
      right.replace(/\\(.)/gs, '$1'),
    ),
    used('dollar-doubled', 'with its $ doubled, as a file for Docker Compose has it', (it) =>
      it.replaceAll('$', '$$$$'),
    ),
    used('dollar-undoubled', 'with one $ for two, as Docker Compose reads them', (it) => it.replaceAll('$$', '$')),
    used('html-escaped', 'with its marks escaped as in HTML', (right) =>
      right.replace(/[&<>"']/g, (mark) => `&${htmlNames[mark]};`),
    ),
  ]),
  ...about('hmac', 'key', { ...lab, fix: asTextStands }, [
    used('without-prefix', 'without its prefix', withoutPrefix),
    used('without-prefixes', 'without its two prefixes', (right) => withoutPrefix(withoutPrefix(right))),
    secret('without-prefix-base64-decoded', 'the secret is used without its prefix, base64-decoded', (right) =>
      withoutPrefix(right) === right ? null : fromBase64Lenient(withoutPrefix(right)),
    ),
    secret('base64-decoded-leniently', 'the secret is base64-decoded, its other marks skipped', (right) =>
      fromBase64Loose(right) === null ? fromBase64Lenient(right) : null,
    ),
  ]),

  // ---- how data and key become bytes: other algorithms, other inputs, the other kind of key
  ...about('hmac', 'signature', {}, [
    mac('sha1', 'HMAC-SHA1 is used', hmacOver(sha1)),
    mac('sha512', 'HMAC-SHA512 is used', hmacOver(sha512)),
    mac('arguments-swapped', 'key and data of the HMAC are swapped', (key, data) => hmacSha256(data, key)),
    mac('plain-hash', 'SHA-256 over secret and data is used, not an HMAC', (key, data) => sha256(concat(key, data))),
    mac('plain-hash-of-data-and-secret', 'SHA-256 over data and secret is used, not an HMAC', (key, data) =>
      sha256(concat(data, key)),
    ),
    macOver('hmac-over-hash', 'the SHA-256', sha256),
    macOver('hmac-over-hex', 'the hex', toHex),
    macOver('hmac-over-base64', 'the BASE64', toBase64),
    mac('cut-hex', 'the MAC is put in hex and its first 20 digits are encoded', (key, data) =>
      utf8(toHex(hmacSha256(key, data))),
    ),
    mac('cut-base64', 'the MAC is put in BASE64 and its first 20 characters are encoded', (key, data) =>
      utf8(toBase64(hmacSha256(key, data))),
    ),
  ]),
  // Found as key/id-as-secret.
  ...about('key-id', 'signature', { found: false }, [
    computed('hmac-with-key-id-as-secret', 'the HMAC is made with the key id as the secret', (draft) => ({
      ...draft,
      ...rightMac,
      key: utf8(draft.around.keyId),
    })),
  ]),
  ...about('ecc', 'signature', {}, [
    ecc('prehashed', 'Ed25519ph is used instead of Ed25519', sha512, prehashDomain),
    ecc('over-hash', 'the SHA-256 of the data is signed', sha256),
    ecc('over-sha512', 'the SHA-512 of the data is signed', sha512),
    ecc('over-hex-hash', 'the hex of the SHA-256 of the data is signed', (data) => utf8(toHex(sha256(data)))),
    ecc('over-base64', 'the BASE64 of the data is signed', (data) => utf8(toBase64(data))),
  ]),
  ...about('public-key-refuses-hmac', 'signature', {}, [
    macForEcc('hmac-with-seed', 'the seed of the private key', (draft) => draft.key),
    macForEcc('hmac-with-public-pem', 'the PEM of the public key', (draft) => publicPem(draft, '')),
    macForEcc('hmac-with-public-pem-file', 'the PEM of the public key and a line feed, as files have it,', (draft) =>
      publicPem(draft, '\n'),
    ),
    macForEcc('hmac-with-public-key', 'the bytes of the public key', publicKeyOf),
    macForEcc('hmac-with-secret', 'a secret', ({ around }) => {
      const other = around.otherKeys.find(({ kind }) => kind === 'secret')
      return other === undefined ? null : keyBytesOf(other)
    }),
    macForEcc('hmac-with-key-id', 'the key id', ({ around }) => utf8(around.keyId)),
  ]),
  ...about('secret-key-refuses-ecc', 'signature', {}, [
    eccForMac('ed25519-with-secret', 'the first 32 bytes of the secret', (key) => key.slice(0, 32)),
    eccForMac('ed25519-with-hashed-secret', 'the SHA-256 of the secret', sha256),
  ]),
  ...about('hmac', 'signature', lab, [
    mac('sha384', 'HMAC-SHA384 is used', hmacOver(sha384)),
    mac('hash-without-secret', 'SHA-256 over the data alone is used, not an HMAC', (_, data) => sha256(data)),
    macOver('hmac-over-hex-hash', 'the hex of the SHA-256', (data) => toHex(sha256(data))),
    macOver('hmac-over-base64-hash', 'the BASE64 of the SHA-256', (data) => toBase64(sha256(data))),
    mac('hmac-over-utf16', 'the HMAC is made over the data in UTF-16', (key, data) =>
      hmacSha256(key, fromUtf8(data) === null ? data : utf16(text(data))),
    ),
    macOver('hmac-twice', 'the HMAC', (data, key) => hmacSha256(key, data)),
    macOver('hmac-over-hex-hmac', 'the hex of the HMAC', (data, key) => toHex(hmacSha256(key, data))),
    mac('derived-key', 'the HMAC is made with a key derived from secret and timestamp', (key, data) =>
      hmacSha256(hmacSha256(key, data.subarray(0, data.indexOf(0x3b))), data),
    ),
  ]),

  // ---- which of the computed bytes are sent, and how they become text
  ...about('hmac-length', 'signature', {}, [
    macCut('untruncated', 'all 32 bytes', (whole) => whole),
    macCut('last-20-bytes', 'the last 20 bytes', (whole) => whole.slice(-20)),
    ...[10, 12, 16, 24, 28].map((count) =>
      macCut(`first-${count}-bytes`, `the first ${count} bytes`, (whole) => whole.slice(0, count)),
    ),
    cut('one-byte-short', 'the signature lacks its last byte', (right) => right.slice(0, -1)),
    cut('one-byte-long', 'the signature has one byte too many', (right, whole) =>
      concat(right, whole.length > right.length ? whole.slice(right.length, right.length + 1) : Uint8Array.of(0)),
    ),
    cut('without-first-byte', 'the MAC is cut from byte 1 to 21', (_, whole) => whole.slice(1, 21), 'mac'),
  ]),
  ...about('ecc', 'signature', {}, [
    cut('reversed', 'the bytes of the signature are reversed', (right) => right.toReversed()),
  ]),
  ...about('ecc-malleability', 'signature', {}, [
    cut(
      'high-s',
      'S of the ED25519 signature is not below the group order L',
      (right) => (right.length === 64 ? withHighS(right) : right),
      'ed25519',
    ),
  ]),
  ...about(
    'hmac',
    'signature',
    { fix: 'Send the signature as computed', found: false },
    Object.entries({ first: 0, middle: 0.5, last: 1 }).map(([word, share]) =>
      cut(`one-bit-flipped-${word}`, `one bit of the ${word} byte of the signature is flipped`, (right) => {
        const at = Math.min(Math.floor(right.length * share), right.length - 1)
        return right.map((byte, index) => (index === at ? byte ^ 1 : byte))
      }),
    ),
  ),
  ...about('hmac-encoding', 'signature', {}, [
    sent('in-hex', 'the signature is sent in hex', toHex),
    sent('in-upper-case-hex', 'the signature is sent in upper-case hex', (bytes) => toHex(bytes).toUpperCase()),
    sent('base64url', 'the signature is sent in base64url', toBase64url),
  ]),
  ...about('hmac', 'signature', { fix: fixes['signatures/hmac-encoding'] ?? '' }, [
    sent('unpadded', 'the signature is sent without = padding', (_, right) => right.replace(/=+$/, '')),
  ]),
  ...about('hmac-encoding', 'signature', {}, [
    sent('base64-of-hex', 'the hex of the signature is encoded in BASE64', (bytes) => toBase64(utf8(toHex(bytes)))),
    sent('base64-twice', 'the signature is encoded in BASE64 twice', (_, right) => toBase64(utf8(right))),
    sent('percent-encoded', 'the signature is sent percent-encoded', (_, right) => encodeURIComponent(right)),
    sent('spaces-for-plus', 'each + of the signature becomes a space on the way', (_, it) => it.replaceAll('+', ' ')),
    sent('quoted', 'the signature is sent in quotation marks', (_, right) => `"${right}"`),
    sent('lower-case', 'the signature is put in lower case', (_, right) => right.toLowerCase()),
    sent('cut-text', 'the BASE64 text is cut to 20 characters instead of the MAC to 20 bytes', (_, right) =>
      right.slice(0, 20),
    ),
    sent('cut-hex-text', 'the first 20 hex digits are sent', (bytes) => toHex(bytes).slice(0, 20)),
    sent('raw-latin-1', 'the bytes are sent as they are, without an encoding', text),
    sent('empty', 'the signature is empty', () => ''),
  ]),
  ...recognised(
    'ecc-for-hmac',
    'secret-key-refuses-ecc',
    'the signature has 64 bytes, the length of ED25519, but this key takes an HMAC',
    'Sign with the secret of this key, or use the id of the key that has the public key',
  ),
  ...recognised(
    'hmac-for-ecc',
    'public-key-refuses-hmac',
    'the signature has the length of an HMAC, or is cut like one, but this key takes an ED25519 signature of 64 bytes',
    'Sign with the private key that belongs to the public key of this key',
  ),
  ...recognised(
    'printed-object',
    'hmac-encoding',
    'the signature field holds the printed form of a value or object, not a signature',
    'Encode the bytes of the signature in BASE64, and wait for them where they come from a promise',
  ),
  ...recognised(
    'another-kind-of-key',
    'ecc',
    'the signature looks like one by an RSA or an ECDSA key',
    'Sign with the ED25519 private key whose public key this API key has',
  ),
  ...recognised(
    'damaged',
    'hmac',
    'the signature is the right one but for a few characters, or for a lost beginning or end',
    'Copy the signature whole; look for a line break, a shell or a log that alters it',
  ),
  ...about('ecc', 'signature', lab, [
    row('attached', 'the signature is attached to its message: the signed data stand behind its 64 bytes', {
      stage: 'cut',
      apply: (draft) =>
        draft.algorithm.kind === 'ed25519'
          ? { ...draft, cut: (whole) => concat(draft.cut(whole), joinPieces(draft.pieces)) }
          : null,
    }),
    cut(
      'ed25519-cut-to-20-bytes',
      'the ED25519 signature is cut to its first 20 bytes, as only an HMAC is',
      (_, whole) => whole.slice(0, 20),
      'ed25519',
    ),
  ]),
  ...about('hmac-encoding', 'signature', lab, [
    cut(
      'decoded-as-utf8',
      'the bytes of the MAC are decoded as UTF-8, and the first 20 characters are encoded again',
      (_, whole) => utf8(asUtf8(whole).slice(0, 20)),
      'mac',
    ),
  ]),
  ...about(
    'hmac-encoding',
    'signature',
    { ...lab, fix: 'Encode the bytes of the signature, not a printed form of them, in BASE64' },
    [
      sent('as-utf8-text', 'the 20 bytes are decoded as UTF-8 and encoded again', (it) => toBase64(utf8(asUtf8(it)))),
      sent('latin-1-as-utf8', 'the bytes are read as ISO 8859-1 and written in UTF-8', (bytes) =>
        toBase64(utf8(fromLatin1(bytes))),
      ),
      sent('python-bytes', "the BASE64 is sent as Python prints bytes, b'…'", (_, right) => `b'${right}'`),
      sent('as-numbers', 'the bytes are sent as a list of numbers', (bytes) => `${bytes}`),
    ],
  ),

  // ---- the header around the signature
  ...about('header-fields', 'fields', {}, [
    fields('one-too-few', 'the header has too few fields', (all) => all.toSpliced(1, 1)),
    fields('one-too-many', 'the header has too many fields', (all) => [...all, 'extra']),
    fields('with-commas', 'the fields of the header are joined with commas', (all) => [all.join(',')]),
    fields('with-colons', 'the fields of the header are joined with colons', (all) => [all.join(':')]),
    fields('with-spaces', 'there are spaces around the fields of the header', (all) => [all.join('; ')]),
    fields('in-another-order', 'the fields of the header are in another order', (all) =>
      [0, 1, 3, 2, 4].map((at) => all[at] ?? ''),
    ),
  ]),
  ...about('version', 'fields', {}, [
    header('other-version', 'the second field of the header is not 1', (draft) => ({
      ...draft,
      sent: { ...draft.sent, version: '2' },
    })),
  ]),
  ...about('key-id', 'fields', {}, [
    header(
      'other-key-id',
      'the header names another key than the one whose secret or private key is given',
      (draft) => ({ ...draft, sent: { ...draft.sent, keyId: 'another-key' } }),
    ),
  ]),
  ...about('scheme', 'fields', {}, [
    header('without-scheme', 'the header has no scheme word', (draft) => ({ ...draft, scheme: '' })),
  ]),
  ...about('timestamp', 'fields', {}, [
    sentTime('timestamp-in-seconds', 'in seconds', (right) => right.slice(0, 10)),
    sentTime('timestamp-in-microseconds', 'in microseconds', (right) => `${right}000`),
    sentTime('timestamp-no-integer', 'not an integer', iso),
  ]),
  ...about('nonce', 'fields', {}, [
    header('empty-nonce', 'the nonce is empty', (draft) => withField(draft, 'nonce', '')),
  ]),
  // Nobody makes these by accident: scenarios make them to see whether a server accepts them.
  ...about('scheme', 'fields', {}, [
    scheme('other-scheme', 'another word', () => 'other-hmac-sha256'),
    scheme('basic-scheme', 'the word Basic', () => 'Basic'),
    scheme('longer-scheme', 'a longer word', (word) => `${word}0`),
    scheme('upper-case-scheme', 'the word in upper case', (word) => word.toUpperCase()),
  ]),
  ...about('ecc', 'signature', { fix: 'Sign as RFC 8032 says, with a new R for every message', found: false }, [
    computed('small-order-r', 'R of the ED25519 signature is a point of small order', (draft) =>
      draft.algorithm.kind === 'ed25519'
        ? { ...draft, cut: () => ed25519SignWithNeutralR(draft.key, joinPieces(draft.pieces)) }
        : null,
    ),
  ]),
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
  const key: SigningKey =
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

/** What a server should do, by the requirement that it breaks. (The `fix` of a mistake speaks to the author of a client.) */
const serverFixes: { readonly [requirement: string]: string } = {
  'signatures/data-to-sign': 'Compute the signature over <timestamp>;<nonce>;<METHOD> LF <URI> LF <body> LF',
  'signatures/timestamp': 'Take the timestamp into the data exactly as the header has it',
  'signatures/nonce': 'Take the nonce into the data as text, as the header has it',
  'signatures/request-line-feeds': 'End method, URI and body with exactly one LF each when you compute the data',
  'signatures/request-method': 'Begin the request data with the HTTP method in upper case and LF',
  'signatures/request-uri': 'Take the URI /api alone into the data, without scheme, host, base path or query',
  'signatures/request-body': 'Take the bytes of the body as they were received, before they are parsed',
  'signatures/hmac': 'Compute HMAC-SHA256 with the secret as the key over the data',
  'signatures/hmac-length': 'Compare the signature with the first 20 bytes of the MAC, no more and no less',
  'signatures/hmac-encoding': 'Decode the signature as BASE64 with + and / and with = padding, then compare bytes',
  'signatures/ecc': 'Verify plain ED25519 over the data, with the public key of the API key',
  'signatures/key-id': 'Compute the MAC with the secret of the key, never with its id',
  'signatures/public-key-refuses-hmac': 'Accept only ED25519 signatures for a key with a public key',
}

/** Two sentences for the author of a server that takes signatures with this mistake: what it accepts, and what it should compute. */
export function serverHint({ requirement, when, fix }: KnownMistake): string {
  return `The server accepts this call when ${when}. ${serverFixes[requirement] ?? fix}`
}

/** The letters of Windows-1252 for the bytes from 0x80 on; those without a letter stand for themselves. */
const windowsLetters = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Windows-1252, with a ? for every character that it does not have. */
function windows1252(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => {
    const at = windowsLetters.indexOf(letter)
    const code = at < 0 ? (letter.codePointAt(0) ?? 0) : 0x80 + at
    return code > 0xff || (at < 0 && code >= 0x80 && code < 0xa0) ? 0x3f : code
  })
}

/** The text of bytes in Windows-1252; the five without a letter there are those of ISO 8859-1. */
function fromWindows1252(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => windowsLetters[byte - 0x80] ?? String.fromCharCode(byte)).join('')
}
