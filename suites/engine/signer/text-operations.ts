/** Applies the operations on texts of fixtures/deviations.yaml. */
import { createHash } from 'node:crypto'
import { exchanged, indexOf, range, type TextOperation } from './bytes-operations.ts'

/** The text after one operation, or after several; unchanged if they have no effect. */
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
    case 'sha256-hex':
      return createHash('sha256').update(text).digest('hex')
    case 'sha256-base64':
      return createHash('sha256').update(text).digest('base64')
    case 'md5-hex':
      return createHash('md5').update(text).digest('hex')
    case 'words-with-underscores':
      return text.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    case 'words-with-hyphens':
      return text.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
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
