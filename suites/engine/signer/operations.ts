/** The operations on texts and on bytes of fixtures/deviations.yaml. Each is data, so that other languages can do the same. */
import { toBase64, toBase64url, toHex, utf8 } from './bytes.ts'
import { md5, sha256 } from './hmac.ts'

/** A number counts from the start. */
type Place = 'first' | 'second' | 'inside' | 'late' | 'last' | number

/** An operation on letters and on bytes alike. */
type ListOperation =
  | { readonly exchange: Place }
  /** Numbers between -1 and 1 with a fraction are shares of the length; others count from the start, or from the end below 0. */
  | { readonly keep: readonly [from: number, to: number] }
  | { readonly repeat: number }
  | { readonly reverse: true }

/** One operation on a text. */
export type TextOperation =
  | ListOperation
  | { readonly change: Place }
  | { readonly without: Place }
  | { readonly append: string }
  | { readonly prepend: string }
  | { readonly insert: string; readonly at: Place }
  | { readonly case: 'upper' | 'lower' | 'swap' | 'first' }
  | { readonly write: keyof typeof writings }
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
  /** A word of `alterWords`. */
  | { readonly word: string }

export type BytesOperation =
  | ListOperation
  | { readonly flip: Place; readonly mask: number }
  | { readonly append: number }
  | { readonly fill: readonly [from: number, to: number]; readonly with: number }
  /** Exchanges the halves. */
  | { readonly halves: true }

/** The bytes after the operation. */
export function changeBytes(bytes: Uint8Array, operation: BytesOperation): Uint8Array {
  const { length } = bytes
  if (length === 0) return bytes
  if ('append' in operation) return Uint8Array.of(...bytes, operation.append)
  if ('halves' in operation) {
    const half = Math.floor(length / 2)
    return Uint8Array.of(...bytes.subarray(half), ...bytes.subarray(0, half))
  }
  if ('fill' in operation) return bytes.slice().fill(operation.with, ...range(operation.fill, length))
  if ('flip' in operation) {
    const at = indexOf(operation.flip, length)
    return bytes.map((byte, index) => (index === at ? byte ^ operation.mask : byte))
  }
  return Uint8Array.from(changeList([...bytes], operation))
}

/** The text after one operation, or after several; unchanged if they have no effect. */
export function changeText(text: string, operation: TextOperation | readonly TextOperation[]): string {
  return [operation].flat().reduce(changedOnce, text)
}

function changedOnce(text: string, operation: TextOperation): string {
  if ('instead' in operation) return operation.instead
  if ('word' in operation) return alterWords[operation.word]?.(text) ?? text
  if ('swap' in operation) {
    const parts = text.split(operation.mark)
    const [one, other] = operation.swap
    return withExchanged(parts, one, other).join(operation.mark)
  }
  if ('mark' in operation) return withMark(text, operation)
  if ('append' in operation) return text + operation.append
  if ('prepend' in operation) return operation.prepend + text
  if ('replace' in operation) return text.replace(operation.replace, operation.with)
  if ('write' in operation) return writings[operation.write](text)
  if ('case' in operation) return withCase(text, operation.case)
  const letters = [...text]
  if (letters.length === 0) return text
  if ('insert' in operation)
    return letters.toSpliced(indexOf(operation.at, letters.length), 0, operation.insert).join('')
  if ('change' in operation) return replaced(letters, indexOf(operation.change, letters.length), otherLetter).join('')
  if ('without' in operation) return letters.toSpliced(indexOf(operation.without, letters.length), 1).join('')
  return changeList(letters, operation).join('')
}

function changeList<Item>(items: Item[], operation: ListOperation): Item[] {
  if ('reverse' in operation) return items.reverse()
  if ('repeat' in operation) return Array.from({ length: operation.repeat }, () => items).flat() as Item[]
  if ('keep' in operation) return items.slice(...range(operation.keep, items.length))
  const at = indexOf(operation.exchange, items.length)
  return withExchanged(
    items,
    at,
    items.findIndex((item, index) => index > at && item !== items[at]),
  )
}

/** Unchanged where there are not two such items. */
function withExchanged<Item>(items: Item[], one: number, other: number): Item[] {
  const [a, b] = [items[one], items[other]]
  return a === undefined || b === undefined
    ? items
    : items.map((item, at) => (at === one ? b : at === other ? a : item))
}

/** Where a place is in something of that length. */
function indexOf(place: Place, length: number): number {
  if (typeof place === 'number') return Math.min(place, length)
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

function range([from, to]: readonly [number, number], length: number): [number, number] {
  const at = (value: number): number => (Number.isInteger(value) ? value : Math.floor(value * length))
  return [at(from), to === 0 ? length : at(to)]
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

function replaced(letters: readonly string[], at: number, by: (letter: string) => string): string[] {
  return letters.map((letter, index) => (index === at ? by(letter) : letter))
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

function withCase(text: string, how: 'upper' | 'lower' | 'swap' | 'first'): string {
  if (how === 'upper') return text.toUpperCase()
  if (how === 'lower') return text.toLowerCase()
  const letters = [...text]
  const swap = (letter: string): string =>
    letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()
  if (how === 'swap') return letters.map(swap).join('')
  const at = letters.findIndex((letter) => swap(letter) !== letter)
  return replaced(letters, at, swap).join('')
}

const percent = (letter: string): string =>
  `%${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}`
const base64 = (text: string): string => toBase64(utf8(text))

/** Other ways to write a text. */
const writings = {
  percent(text: string) {
    const encoded = encodeURIComponent(text)
    return encoded === text ? replaced([...text], 0, percent).join('') : encoded
  },
  'percent-all': (text: string) => [...text].map(percent).join(''),
  'full-width'(text: string) {
    const letters = [...text]
    const at = letters.findIndex((letter) => letter > ' ' && letter < '\u007f')
    return replaced(letters, at, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)).join('')
  },
  hex: (text: string) => toHex(utf8(text)),
  base64,
  base64url: (text: string) => toBase64url(utf8(text)).replaceAll('=', ''),
  quoted: (text: string) => `"${text}"`,
  decoded(text: string) {
    try {
      return atob(text)
    } catch {
      return text
    }
  },
  'sha256-hex': (text: string) => toHex(sha256(utf8(text))),
  'sha256-base64': (text: string) => toBase64(sha256(utf8(text))),
  'md5-hex': (text: string) => toHex(md5(utf8(text))),
  'words-with-underscores': (text: string) => text.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  'words-with-hyphens': (text: string) => text.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
} as const

// The words that alter a secret, a token or a param in a fixture: each changes one thing.

type Alter = (text: string) => string

/** Replaces the middle-most inner character of a class; an alteration of the last one may decode to the same bytes. */
function changeOne(text: string, wanted: RegExp, substitutes: string): string {
  const middle = Math.floor(text.length / 2)
  const inner = Array.from(text, (_character, index) => index).filter((index) => index > 0 && index < text.length - 2)
  const ordered = inner.sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))
  const index = ordered.find((candidate) => wanted.test(text.charAt(candidate))) ?? ordered[0] ?? 0
  const old = text.charAt(index)
  const substitute = [...substitutes].find((candidate) => candidate.toLowerCase() !== old.toLowerCase()) ?? 'x'
  return text.slice(0, index) + substitute + text.slice(index + 1)
}

const middleOf = (text: string): number => Math.floor(text.length / 2)

/** Without the first letter or digit from the middle on: a UUID without a hyphen is another spelling of it (keys/id-spelling). */
function withoutInner(text: string): string {
  const at = middleOf(text) + Math.max(0, text.slice(middleOf(text)).search(/[a-z\d]/i))
  return text.slice(0, at) + text.slice(at + 1)
}

function otherCase(text: string, change: Alter): string {
  const changed = change(text)
  return changed === text ? changeOne(text, /./, 'qz') : changed
}

/** A JWT without its signature; another text without its last third. */
function withoutSignature(text: string): string {
  const [, claims] = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(text) ?? []
  if (claims === undefined) return text.slice(0, Math.floor((text.length * 2) / 3))
  return `${btoa('{"alg":"none","typ":"JWT"}').replace(/=+$/, '')}.${claims}.`
}

export const alterWords: { readonly [word: string]: Alter } = {
  'lower-case-letter-changed': (text) => changeOne(text, /[a-z]/, 'dcfb'),
  'upper-case-letter-changed': (text) => changeOne(text, /[A-Z]/, 'DCFB'),
  'digit-changed': (text) => changeOne(text, /\d/, '4719'),
  'first-character-changed': (text) => (text.startsWith('7') ? 'e' : '7') + text.slice(1),
  'last-quarter-changed': (text) => {
    const start = Math.floor(text.length * 0.75)
    return text.slice(0, start) + changeOne(`xx${text.slice(start)}xx`, /[^x]/, '5be').slice(2, -2)
  },
  'first-half': (text) => text.slice(0, Math.ceil(text.length / 2)),
  'first-third': (text) => text.slice(0, Math.ceil(text.length / 3)),
  'last-third-dropped': (text) => text.slice(0, Math.floor((text.length * 2) / 3)),
  'first-character-dropped': (text) => text.slice(1),
  'inner-character-dropped': (text) => withoutInner(text),
  'character-inserted': (text) => `${text.slice(0, middleOf(text))}a${text.slice(middleOf(text))}`,
  'four-characters-dropped': (text) => text.slice(0, -4),
  'four-characters-added': (text) => `${text}AAAA`,
  'without-signature': withoutSignature,
  'last-character-dropped': (text) => text.slice(0, -1),
  'one-character-added': (text) => `${text}a`,
  'colon-and-more': (text) => `${text}:anything`,
  'line-feed-added': (text) => `${text}\n`,
  'upper-cased': (text) => otherCase(text, (plain) => plain.toUpperCase()),
  'lower-cased': (text) => otherCase(text, (plain) => plain.toLowerCase()),
  empty: () => '',
  doubled: (text) => text + text,
}
