import { utf8 } from './bytes.ts'
import { sha256 } from './hmac.ts'

/** A session name that every server takes: which longer ones it takes, and which other characters, is open (sessions/name-rules). */
export const shortNameLength = 8

/** @returns small letters and digits, always the same for the same text */
export const shortName = (text: string, length = shortNameLength): string =>
  Array.from(sha256(utf8(text)).slice(0, length), (byte) => (byte % 36).toString(36)).join('')
