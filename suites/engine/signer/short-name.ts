import { utf8 } from './bytes.ts'
import { sha256 } from './hmac.ts'

/** Which session names a server takes is open (sessions/name-rules), so ours are short and plain. In characters. */
const shortNameLength = 8

/**
 * `$unique` leaves three of the eight characters of a session name for what the scenario says. Names of keys, whose length is open as well
 * (keys/name-rules), have at most twelve.
 */
export const uniqueLength = 5

/** The place of `a` among the digits of base 36. */
const firstLetter = 10

/** @returns small letters and digits, a letter first, always the same for the same text */
export const shortName = (text: string, length = shortNameLength): string =>
  Array.from(sha256(utf8(text)).slice(0, length), (byte, at) =>
    (at === 0 ? firstLetter + (byte % (36 - firstLetter)) : byte % 36).toString(36),
  ).join('')
