/** Forms of a body: how serialisers of languages write JSON, how languages print a value, and texts that are not JSON. */
import { isObject, type JsonObject, parseJson } from '../json.ts'
import { fromUtf8, sameBytes, utf8 } from './bytes.ts'

/** How a serialiser writes JSON. */
type Style = typeof compact

const compact = {
  comma: ',',
  colon: ':',
  /** What is done to a text that JSON.stringify quoted. */
  escape: (quoted: string): string => quoted,
  /** How a number is written. */
  number: (value: number): string => JSON.stringify(value),
  sorted: false,
  /** The indentation of a member for each level; empty for a single line. */
  indent: '',
}
export const spaced: Partial<Style> = { comma: ', ', colon: ': ' }

const unicodeEscape = (mark: string): string => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`
const nonAscii = (quoted: string): string => quoted.replace(/[\u0080-\uffff]/g, unicodeEscape)

/** How serialisers escape a text that JSON.stringify quoted. */
export const escapes = {
  /** json.dumps of Python. */
  nonAscii,
  /** encoding/json of Go. */
  go: (quoted: string) => quoted.replace(/[<>&\u2028\u2029]/g, unicodeEscape),
  /** Gson of Java. */
  gson: (quoted: string) => quoted.replace(/[<>&='\u2028\u2029]/g, unicodeEscape),
  /** json_encode of PHP. */
  php: (quoted: string) => nonAscii(quoted).replaceAll('/', '\\/'),
  /** System.Text.Json of .NET: hex in upper case, quotes as escapes too. */
  dotNet(quoted: string) {
    const inner = quoted.slice(1, -1).replaceAll('\\"', '"')
    const hex = (mark: string) => `\\u${unicodeEscape(mark).slice(2).toUpperCase()}`
    return `"${inner.replace(/[<>&'"+`\u007f-\uffff]/g, hex)}"`
  },
}

const textOf = (bytes: Uint8Array): string => (fromUtf8(bytes) ?? '').replace(/^\ufeff/, '')

/** The value of a JSON text, or undefined for any other text. Lenient parsers skip a byte order mark, and so does this. */
export const jsonOf = (bytes: Uint8Array): unknown => parseJson(textOf(bytes))

/** The JSON text in a style that differs so from the compact one, or null if it is not JSON. @param number writes a number as it stood; otherwise they go through a double */
export function rewrite(bytes: Uint8Array, style: Partial<Style>, number?: WriteNumber): Uint8Array | null {
  const numbers = number === undefined ? [] : numbersOf(textOf(bytes))
  // A text that no body has stands for a number, because the parser would make a double of it.
  const marked = number === undefined ? textOf(bytes) : withNumbers(textOf(bytes), (_, at) => `"\\u0000${at}"`)
  const value = parseJson(marked)
  if (value === undefined) return null
  const restored = (_: string, at: string): string => number?.(numbers[Number(at)] ?? '', Number(at)) ?? ''
  return utf8(writeJson(value, { ...compact, ...style }).replace(/"\\u0000(\d+)"/g, restored))
}

/** Another way to write a number, from its text. */
type WriteNumber = (literal: string, at: number) => string

const textsAndNumbers = /"(?:\\[\s\S]|[^"\\])*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g

/** The numbers of a JSON text, as they stand. */
export function numbersOf(text: string): string[] {
  return (text.match(textsAndNumbers) ?? []).filter((token) => !token.startsWith('"'))
}

/** A JSON text with other numbers. */
export function withNumbers(text: string, write: WriteNumber): string {
  let at = 0
  return text.replace(textsAndNumbers, (token) => (token.startsWith('"') ? token : write(token, at++)))
}

const knownStyles = new WeakMap<Uint8Array, Partial<Style>>()

/** Another value in the style in which a JSON text is written; compact where no known style gives the same bytes. */
export function writtenLike(bytes: Uint8Array, value: unknown): Uint8Array {
  const styles = [{}, spaced, { ...spaced, escape: nonAscii }, { colon: ': ', indent: '  ' }]
  const isSame = (style: Partial<Style>): boolean => {
    const written = rewrite(bytes, style)
    return written !== null && sameBytes(written, bytes)
  }
  const style = knownStyles.get(bytes) ?? styles.find(isSame) ?? {}
  knownStyles.set(bytes, style)
  return utf8(writeJson(value, { ...compact, ...style }))
}

/** A value as a serialiser writes it. */
function writeJson(value: unknown, style: Style, margin = ''): string {
  if (typeof value === 'number') return style.number(value)
  if (value === null || typeof value !== 'object') {
    return typeof value === 'string' ? style.escape(JSON.stringify(value)) : JSON.stringify(value)
  }
  const inner = margin + style.indent
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const items = Array.isArray(value)
    ? value.map((item) => writeJson(item, style, inner))
    : Object.entries(value)
        .sort(([one], [other]) => (!style.sorted || one === other ? 0 : one < other ? -1 : 1))
        .map(([name, item]) => style.escape(JSON.stringify(name)) + style.colon + writeJson(item, style, inner))
  if (items.length === 0) return `${open}${close}`
  if (style.indent === '') return `${open}${items.join(style.comma)}${close}`
  return `${open}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${close}`
}

/** How a language prints a value. */
type Print = typeof python & { sorted?: boolean }

const python = {
  open: '{',
  close: '}',
  colon: ': ',
  comma: ', ',
  listComma: ', ',
  name: pythonText,
  text: pythonText,
  nothing: 'None',
  yes: 'True',
  no: 'False',
}

const java: Print = {
  ...python,
  colon: '=',
  name: (name) => name,
  text: (text) => text,
  nothing: 'null',
  yes: 'true',
  no: 'false',
}

const go: Print = {
  ...java,
  open: 'map[',
  close: ']',
  colon: ':',
  comma: ' ',
  listComma: ' ',
  sorted: true,
  nothing: '<nil>',
}

const ruby: Print = {
  ...java,
  colon: '=>',
  name: (name) => JSON.stringify(name),
  text: (text) => JSON.stringify(text),
  nothing: 'nil',
}

/** What is left after a careless str(dict).replace("'", '"'). */
const quotedPython: Print = {
  ...python,
  name: (name) => pythonText(name).replaceAll("'", '"'),
  text: (text) => pythonText(text).replaceAll("'", '"'),
}

/** How languages print a parsed value that was never serialised: str(dict), Map.toString(), fmt.Sprint. */
const prints = {
  python,
  'python-quoted': quotedPython,
  java,
  go,
  ruby,
  'ruby-3-4': { ...ruby, colon: ' => ' },
} as const

export const printedBy = (language: keyof typeof prints, value: unknown): string => printValue(value, prints[language])

/** A value as a language prints it. */
function printValue(value: unknown, print: Print): string {
  if (value === null) return print.nothing
  if (typeof value === 'boolean') return value ? print.yes : print.no
  if (typeof value === 'string') return print.text(value)
  if (Array.isArray(value)) return `[${value.map((item) => printValue(item, print)).join(print.listComma)}]`
  if (!isObject(value)) return String(value)
  const names = print.sorted === true ? Object.keys(value).sort() : Object.keys(value)
  const members = names.map((name) => print.name(name) + print.colon + printValue(value[name], print))
  return print.open + members.join(print.comma) + print.close
}

const pythonEscapes: { [mark: string]: string } = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** repr() of a str: single quotes, unless the text has them and no double ones. */
function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const escaped = text.replace(/[\\\n\r\t]/g, (mark) => pythonEscapes[mark] ?? mark)
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote
}

/** repr() of bytes: `b'…'`, every byte that is not printable ASCII as an escape. */
export function pythonBytes(bytes: Uint8Array): string {
  const marks = Array.from(bytes, (byte) => {
    const mark = String.fromCharCode(byte)
    if (pythonEscapes[mark] !== undefined) return pythonEscapes[mark]
    return byte >= 0x20 && byte < 0x7f ? mark : `\\x${byte.toString(16).padStart(2, '0')}`
  })
  const text = marks.join('')
  return text.includes("'") && !text.includes('"') ? `b"${text}"` : `b'${text.replaceAll("'", "\\'")}'`
}

const parsed = (body: string): JsonObject => JSON.parse(body) as JsonObject

/** Texts that encoders write in different ways: composed and decomposed letters, escapes, letters beyond the first plane. */
const manyLetters = 'Gr\u00fc\u00dfe e\u0301 \u00e9 \u20ac \ud83d\ude00 <&> / + %41 \uff21 \u2028'

/** Texts that a careless replacement or format reads as instructions. */
const patterns = "$& $1 $$ $` $' \\1 %s %d {0} \\n"

type BodyForms = { readonly [name: string]: (body: string) => string }

/** The beginning of a body, as a server may read no more of it. */
const firstOf = (sizes: readonly number[], unit: '' | '-KiB' = ''): BodyForms =>
  Object.fromEntries(
    sizes.map((size) => [`first-${size}${unit}`, (body) => body.slice(0, unit === '' ? size : size * 1024)]),
  )

/** Other forms of a JSON text that a server does not notice if it parses the body and writes it again. */
export const bodyForms: BodyForms = {
  'space-prepended': (body) => ` ${body}`,
  'space-appended': (body) => `${body} `,
  'line-feed-appended': (body) => `${body}\n`,
  'line-feed-prepended': (body) => `\n${body}`,
  'crlf-appended': (body) => `${body}\r\n`,
  'tab-inside': (body) => body.replace('{', '{\t'),
  'space-after-colons': (body) => body.replaceAll('":', '": '),
  indented: (body) => JSON.stringify(JSON.parse(body), null, 2),
  'indented-with-crlf': (body) => JSON.stringify(JSON.parse(body), null, 2).replaceAll('\n', '\r\n'),
  'members-reversed': (body) => JSON.stringify(Object.fromEntries(Object.entries(parsed(body)).reverse())),
  'members-sorted': (body) => JSON.stringify(Object.fromEntries(Object.entries(parsed(body)).sort())),
  'params-reversed': (body) => {
    const { params, ...rest } = parsed(body)
    return JSON.stringify({ ...rest, params: Object.fromEntries(Object.entries(params ?? {}).reverse()) })
  },
  compact: (body) => JSON.stringify(JSON.parse(body)),
  trimmed: (body) => body.trim(),
  'without-white-space': (body) => body.replace(/\s/g, ''),
  'crlf-to-lf': (body) => body.replaceAll('\r\n', '\n'),
  'lf-to-crlf': (body) => body.replace(/\r?\n/g, '\r\n'),
  composed: (body) => body.normalize('NFC'),
  decomposed: (body) => body.normalize('NFD'),
  'compatibility-composed': (body) => body.normalize('NFKC'),
  'upper-case': (body) => body.toUpperCase(),
  'lower-case': (body) => body.toLowerCase(),
  'ascii-escapes': nonAscii,
  'ascii-only': (body) => body.replace(/[\u0080-\uffff]/g, '?'),
  'ascii-left': (body) => body.replace(/[\u0080-\uffff]/g, ''),
  'letter-escaped': (body) => body.replace('"method"', '"\\u006dethod"'),
  'slash-escaped': (body) => body.replace('/', '\\/'),
  'value-letter-escaped': (body) => body.replace('"2.0"', '"2\\u002e0"'),
  'id-with-fraction': (body) => body.replace(/"id":(\d+)/, '"id":$1.0'),
  'id-with-exponent': (body) => body.replace(/"id":(\d+)/, '"id":$1e0'),
  'extra-member': (body) => body.replace('{', '{"extra":1,'),
  'member-twice': (body) => body.replace('{', '{"jsonrpc":"2.0",'),
  'another-id': (body) =>
    body.replace(/"id":\s*(\d+)/, (whole, id: string) => whole.replace(id, String(Number(id) + 1))),
  'another-method': (body) =>
    body.includes('listSolutions')
      ? body.replace('solution/listSolutions', 'manager/createApiKey')
      : body.replace(/manager\/\w+/, 'solution/listSolutions'),
  'params-twice': (body) => body.replace('"params":', '"params":{},"params":'),
  'params-empty': (body) => JSON.stringify({ ...parsed(body), params: {} }),
  'another-name': (body) => body.replace('"name":"', '"name":"x'),
  'another-scope': (body) => body.replace('"scope":["solution"', '"scope":["solution","context"'),
  'spaces-at-the-end': (body) => body + ' '.repeat(300),
  'text-prepended': (body) => `x${body}`,
  ...firstOf([1, 4, 8, 16, 32, 64], '-KiB'),
  ...firstOf([1000, 10_000]),
  'last-1-KiB': (body) => body.slice(-1024),
  ...firstOf([256, 100, 64]),
  'first-half': (body) => body.slice(0, Math.floor(body.length / 2)),
  'last-half': (body) => body.slice(Math.floor(body.length / 2)),
  nothing: () => '',
  'with-many-letters': (body) => JSON.stringify({ ...parsed(body), note: manyLetters }),
  'with-escapes': (body) => body.replace('{', '{"note":"\\u0041\\/\\u00e9\\ud83d\\ude00",'),
  'with-numbers': (body) => body.replace('{', '{"note":[1.0,1e3,-0,0.10,12345678901234567890],'),
  'with-patterns': (body) => JSON.stringify({ ...parsed(body), note: patterns }),
  'with-nesting': (body) => body.replace('{', '{"note":{"z":1,"a":{"c":null,"b":[ ]}},'),
}

/** Just more than one read of a socket, in letters of three bytes. The characters before them decide where a read cuts a letter. */
const longText = (before: string): ((body: string) => string) => {
  return (body) => JSON.stringify({ note: before + '\u20ac'.repeat(23_000), ...parsed(body) })
}

/** Bodies of 69 kB that a server must not decode read by read. */
export const cutLetterForms: BodyForms = {
  'cut-letters': longText(''),
  'cut-letters-1': longText('x'),
  'cut-letters-2': longText('xx'),
}

/** Texts that are not JSON, although a lenient parser may accept them. */
export const brokenBodies: BodyForms = {
  'letter-appended': (body) => `${body}x`,
  'brace-appended': (body) => `${body}}`,
  'second-appended': (body) => `${body}${body}`,
  'comma-appended': (body) => body.replace(/\}$/, ',}'),
  'brace-missing': (body) => body.slice(0, -1),
  'first-half': (body) => body.slice(0, Math.floor(body.length / 2)),
  'single-quotes': (body) => body.replaceAll('"', "'"),
  'names-unquoted': (body) => body.replace('"method"', 'method'),
  comment: (body) => body.replace('{', '{/* x */'),
  'line-comment-appended': (body) => `${body}// x`,
  'letter-prepended': (body) => `x${body}`,
  'no-number': (body) => body.replace(/"id":\d+/, '"id":NaN'),
  'number-with-leading-zero': (body) => body.replace(/"id":(\d+)/, '"id":0$1'),
  'semicolon-appended': (body) => `${body};`,
  'nul-appended': (body) => `${body}\0`,
  'form-fields': (body) => {
    const fields = Object.entries(parsed(body)).map(([name, value]) => [
      name,
      typeof value === 'object' ? JSON.stringify(value) : String(value),
    ])
    return new URLSearchParams(fields).toString()
  },
  empty: () => '',
}
