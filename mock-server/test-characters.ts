import fc from 'fast-check'

/** For tests: every character of Unicode. The unit "binary" of fast-check is the same, and first makes a table of a million of them. */
export const anyCharacter = fc.nat({ max: 0x10f7ff }).map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800))
