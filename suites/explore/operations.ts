/** Does the operations of fixtures/deviations.yaml: each is data, so that other languages can do the same. */

/** One operation on a text. `at`: first, second, inside, late or last, or a share of the length. */
export type TextOperation =
  | { readonly change: Place }
  | { readonly exchange: Place }
  | { readonly without: Place }
  | { readonly keep: readonly [from: number, to: number] }
  | { readonly append: string }
  | { readonly prepend: string }
  | { readonly insert: string; readonly at: Place }
  | { readonly repeat: number }
  | { readonly reverse: true }
  | { readonly case: 'upper' | 'lower' | 'swap' | 'first' }
  | {
      readonly write:
        | 'percent'
        | 'percent-all'
        | 'full-width'
        | 'NFC'
        | 'NFD'
        | 'NFKC'
        | 'hex'
        | 'base64'
        | 'base64url'
        | 'quoted'
        | 'decoded'
    }
  | { readonly replace: string; readonly with: string }
  | { readonly instead: string }
  /** The n-th of a mark that separates parts, from 1. */
  | {
      readonly mark: string
      readonly nth: number
      readonly do: 'remove' | 'double' | 'left' | 'right' | 'behind' | 'before'
    }
  /** Two parts between marks exchanged, from 0. */
  | { readonly mark: string; readonly swap: readonly [number, number] }

export type Place = 'first' | 'second' | 'inside' | 'late' | 'last'

export type BytesOperation =
  | { readonly flip: Place; readonly mask: number }
  | { readonly exchange: Place }
  | { readonly keep: readonly [from: number, to: number] }
  | { readonly append: number }
  | { readonly fill: readonly [from: number, to: number]; readonly with: number }
  | { readonly reverse: true }
  | { readonly repeat: number }

/** Where a place is in something of that length. */
export function indexOf(place: Place, length: number): number {
  switch (place) {
    case 'first':
      return 0
    case 'second':
      return Math.min(1, length - 1)
    case 'inside':
      return Math.floor(length / 2)
    case 'late':
      return Math.max(0, Math.floor(length * 0.85) - 1)
    case 'last':
      return length - 1
  }
}

/** The text after the operation, or after one after another; the same text where it changes nothing. */
export function changeText(text: string, operation: TextOperation | readonly TextOperation[]): string {
  return isList(operation) ? operation.reduce(changedOnce, text) : changedOnce(text, operation)
}

const isList = (value: TextOperation | readonly TextOperation[]): value is readonly TextOperation[] =>
  Array.isArray(value)

function changedOnce(text: string, operation: TextOperation): string {
  if ('instead' in operation) return operation.instead
  if ('swap' in operation) return swapped(text, operation)
  if ('mark' in operation) return withMark(text, operation)
  if ('append' in operation) return text + operation.append
  if ('prepend' in operation) return operation.prepend + text
  if ('repeat' in operation) return text.repeat(operation.repeat)
  if ('replace' in operation) return text.replace(operation.replace, operation.with)
  if ('case' in operation) return withCase(text, operation.case)
  if ('write' in operation) return written(text, operation.write)
  const letters = [...text]
  if ('reverse' in operation) return letters.reverse().join('')
  if ('keep' in operation) return letters.slice(...range(operation.keep, letters.length)).join('')
  if (letters.length === 0) return text
  if ('insert' in operation) {
    letters.splice(indexOf(operation.at, letters.length), 0, operation.insert)
    return letters.join('')
  }
  if ('change' in operation) return replaced(letters, indexOf(operation.change, letters.length), otherLetter)
  if ('without' in operation) return replaced(letters, indexOf(operation.without, letters.length), () => '')
  return exchanged(letters, indexOf(operation.exchange, letters.length)).join('')
}

function swapped(text: string, { mark, swap: [one, other] }: Extract<TextOperation, { swap: unknown }>): string {
  const parts = text.split(mark)
  const [a, b] = [parts[one], parts[other]]
  if (a === undefined || b === undefined) return text
  parts[one] = b
  parts[other] = a
  return parts.join(mark)
}

function withMark(text: string, { mark, nth, do: what }: Extract<TextOperation, { nth: number }>): string {
  const parts = text.split(mark)
  const before = parts.slice(0, nth).join(mark)
  const after = parts.slice(nth).join(mark)
  if (parts.length <= nth) return text
  if (what === 'remove') return before + after
  if (what === 'behind') return after
  if (what === 'before') return before
  if (what === 'double') return before + mark + mark + after
  if (what === 'left') return before.slice(0, -1) + mark + before.slice(-1) + after
  return before + after.slice(0, 1) + mark + after.slice(1)
}

/** The bytes after the operation. */
export function changeBytes(bytes: Uint8Array, operation: BytesOperation): Uint8Array {
  if (bytes.length === 0) return bytes
  if ('reverse' in operation) return bytes.slice().reverse()
  if ('append' in operation) return Uint8Array.of(...bytes, operation.append)
  if ('repeat' in operation)
    return Uint8Array.from({ length: bytes.length * operation.repeat }, (_, at) => bytes[at % bytes.length] ?? 0)
  if ('keep' in operation) return bytes.slice(...range(operation.keep, bytes.length))
  const next = bytes.slice()
  if ('fill' in operation) return next.fill(operation.with, ...range(operation.fill, bytes.length))
  if ('flip' in operation) {
    const at = indexOf(operation.flip, bytes.length)
    next[at] = (bytes[at] ?? 0) ^ operation.mask
    return next
  }
  return Uint8Array.from(exchanged([...next], indexOf(operation.exchange, bytes.length)))
}

/** Numbers between -1 and 1 with a fraction are shares of the length; others count from the start, or from the end below 0. */
function range([from, to]: readonly [number, number], length: number): [number, number] {
  const at = (value: number): number => (Number.isInteger(value) ? value : Math.floor(value * length))
  return [at(from), to === 0 ? length : at(to)]
}

function replaced(letters: string[], at: number, by: (letter: string) => string): string {
  return letters.map((letter, index) => (index === at ? by(letter) : letter)).join('')
}

/** Another letter of the same kind, two bits away in the alphabet of base64, so that no decoder takes it for the same. */
function otherLetter(letter: string): string {
  const alphabet = ['ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz', '0123456789'].find((one) =>
    one.includes(letter),
  )
  if (alphabet === undefined) return letter === 'x' ? 'y' : 'x'
  // Hex digits stay hex digits.
  const size = alphabet.length > 10 && alphabet.toLowerCase().indexOf(letter.toLowerCase()) < 6 ? 6 : alphabet.length
  return alphabet.charAt((alphabet.indexOf(letter) + (size === 6 ? 3 : 5)) % size)
}

function exchanged<Item>(items: Item[], at: number): Item[] {
  const other = items.findIndex((item, index) => index > at && item !== items[at])
  const [a, b] = [items[at], items[other]]
  if (a === undefined || b === undefined || other < 0) return items
  items[at] = b
  items[other] = a
  return items
}

function withCase(text: string, how: 'upper' | 'lower' | 'swap' | 'first'): string {
  if (how === 'upper') return text.toUpperCase()
  if (how === 'lower') return text.toLowerCase()
  const swap = (letter: string): string =>
    letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()
  if (how === 'swap') return [...text].map(swap).join('')
  const at = [...text].findIndex((letter) => swap(letter) !== letter)
  return replaced([...text], at, swap)
}

type Writing = Extract<TextOperation, { write: unknown }>['write']

function written(text: string, how: Writing): string {
  switch (how) {
    case 'percent':
      return encodeURIComponent(text) === text ? replaced([...text], 0, percent) : encodeURIComponent(text)
    case 'percent-all':
      return [...text].map(percent).join('')
    case 'full-width':
      return replaced(
        [...text],
        [...text].findIndex((letter) => letter > ' ' && letter < '\u007f'),
        (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0),
      )
    case 'hex':
      return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')
    case 'base64':
      return base64(text)
    case 'base64url':
      return base64(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
    case 'quoted':
      return `"${text}"`
    case 'decoded':
      return decoded(text)
    default:
      return text.normalize(how)
  }
}

const percent = (letter: string): string =>
  `%${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}`

function decoded(text: string): string {
  try {
    return atob(text)
  } catch {
    return text
  }
}

function base64(text: string): string {
  return btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''))
}

const parsed = (body: string): { [name: string]: unknown } => JSON.parse(body) as { [name: string]: unknown }

/** Texts that encoders write in different ways: composed and decomposed letters, escapes, letters beyond the first plane. */
const manyLetters = 'Gr\u00fc\u00dfe e\u0301 \u00e9 \u20ac \ud83d\ude00 <&> / + %41 \uff21 \u2028'

/** How the same or another JSON text is written: what a server that parses the body and writes it again would not notice. */
export const bodyForms: { readonly [name: string]: (body: string) => string } = {
  'space-in-front': (body) => ` ${body}`,
  'space-behind': (body) => `${body} `,
  'line-feed-behind': (body) => `${body}\n`,
  'line-feed-in-front': (body) => `\n${body}`,
  'crlf-behind': (body) => `${body}\r\n`,
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
  'ascii-escapes': (body) =>
    body.replace(/[\u0080-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`),
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
  'text-in-front': (body) => `x${body}`,
  'first-1-KiB': (body) => body.slice(0, 1024),
  'first-4-KiB': (body) => body.slice(0, 4096),
  'first-8-KiB': (body) => body.slice(0, 8192),
  'first-16-KiB': (body) => body.slice(0, 16_384),
  'first-32-KiB': (body) => body.slice(0, 32_768),
  'first-64-KiB': (body) => body.slice(0, 65_536),
  'first-1000': (body) => body.slice(0, 1000),
  'first-10000': (body) => body.slice(0, 10_000),
  'last-1-KiB': (body) => body.slice(-1024),
  'first-256': (body) => body.slice(0, 256),
  'first-100': (body) => body.slice(0, 100),
  'first-64': (body) => body.slice(0, 64),
  'first-half': (body) => body.slice(0, Math.floor(body.length / 2)),
  'last-half': (body) => body.slice(Math.floor(body.length / 2)),
  nothing: () => '',
  'with-many-letters': (body) => JSON.stringify({ ...parsed(body), note: manyLetters }),
  'with-escapes': (body) => body.replace('{', '{"note":"\\u0041\\/\\u00e9\\ud83d\\ude00",'),
  'with-numbers': (body) => body.replace('{', '{"note":[1.0,1e3,-0,0.10,12345678901234567890],'),
  'with-nesting': (body) => body.replace('{', '{"note":{"z":1,"a":{"c":null,"b":[ ]}},'),
}

/** Forms that make a body richer, so that more ways to write it again differ. */
export const richForms = [
  'indented-with-crlf',
  'with-many-letters',
  'with-escapes',
  'with-numbers',
  'with-nesting',
  'crlf-behind',
  'indented',
]

/** A body of so many bytes: white space, or a param that nothing else has. */
export function padded(body: string, bytes: number): string {
  return body.replace('{', `{${' '.repeat(Math.max(0, bytes - body.length))}`)
}

/** Texts that are no JSON, though a forgiving parser may read them. */
export const brokenBodies: { readonly [name: string]: (body: string) => string } = {
  'letter-behind': (body) => `${body}x`,
  'brace-behind': (body) => `${body}}`,
  'second-behind': (body) => `${body}${body}`,
  'comma-behind': (body) => body.replace(/\}$/, ',}'),
  'brace-missing': (body) => body.slice(0, -1),
  'first-half': (body) => body.slice(0, Math.floor(body.length / 2)),
  'single-quotes': (body) => body.replaceAll('"', "'"),
  'names-unquoted': (body) => body.replace('"method"', 'method'),
  comment: (body) => body.replace('{', '{/* x */'),
  'line-comment-behind': (body) => `${body}// x`,
  'letter-in-front': (body) => `x${body}`,
  'no-number': (body) => body.replace(/"id":\d+/, '"id":NaN'),
  'number-with-zero-in-front': (body) => body.replace(/"id":(\d+)/, '"id":0$1'),
  'semicolon-behind': (body) => `${body};`,
  'nul-behind': (body) => `${body}\0`,
  empty: () => '',
}
