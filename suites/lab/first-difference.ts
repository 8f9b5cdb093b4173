/** Points at the first byte in which two byte arrays differ. */

interface Difference {
  /** Counted from 1. */
  line: number
  column: number
  /** What is there: `"a" (61)`, `LF (0a)` or `the end of the data`. */
  expected: string
  received: string
}

/** Where `received` first differs from `expected`; they must differ. Columns count bytes. */
export function firstDifference(expected: Uint8Array, received: Uint8Array): Difference {
  let at = 0
  while (at < expected.length && at < received.length && expected[at] === received[at]) at += 1
  let line = 1
  let column = 1
  for (const byte of expected.subarray(0, at)) {
    column = byte === 0x0a ? 1 : column + 1
    if (byte === 0x0a) line += 1
  }
  return { line, column, expected: describe(expected[at]), received: describe(received[at]) }
}

function describe(byte: number | undefined): string {
  return byte === undefined ? 'the end of the data' : `${nameOf(byte)} (${byte.toString(16).padStart(2, '0')})`
}

function nameOf(byte: number): string {
  if (byte === 0x0a) return 'LF'
  if (byte === 0x0d) return 'CR'
  if (byte === 0x09) return 'TAB'
  if (byte === 0x20) return 'a space'
  return byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : 'a byte beyond printable ASCII'
}
