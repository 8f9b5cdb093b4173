/** Applies the operations of fixtures/deviations.yaml. Each is data, so that other languages can do the same. */

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
        | 'sha256-hex'
        | 'sha256-base64'
        | 'md5-hex'
        | 'words-with-underscores'
        | 'words-with-hyphens'
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
  /** Exchanges the halves. */
  | { readonly halves: true }

/** The operations of fixtures/deviations.yaml by name. @throws SuiteError (`fixture`) for an unknown name */
export interface NamedOperations {
  text(name: string): TextOperation | readonly TextOperation[]
  bytes(name: string): BytesOperation
}

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

/** The bytes after the operation. */
export function changeBytes(bytes: Uint8Array, operation: BytesOperation): Uint8Array {
  if (bytes.length === 0) return bytes
  if ('reverse' in operation) return bytes.slice().reverse()
  if ('append' in operation) return Uint8Array.of(...bytes, operation.append)
  if ('halves' in operation) {
    const half = Math.floor(bytes.length / 2)
    return Uint8Array.of(...bytes.subarray(half), ...bytes.subarray(0, half))
  }
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
export function range([from, to]: readonly [number, number], length: number): [number, number] {
  const at = (value: number): number => (Number.isInteger(value) ? value : Math.floor(value * length))
  return [at(from), to === 0 ? length : at(to)]
}

export function exchanged<Item>(items: Item[], at: number): Item[] {
  const other = items.findIndex((item, index) => index > at && item !== items[at])
  const [a, b] = [items[at], items[other]]
  if (a === undefined || b === undefined || other < 0) return items
  items[at] = b
  items[other] = a
  return items
}
