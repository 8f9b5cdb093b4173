/**
 * The mistakes that are made most often, by what they touch: three of them at once are looked for, one of each family. The first two of a
 * family are also looked for together with rare mistakes.
 */
import type { KnownMistake } from '../engine/signer/mistakes.ts'

const ofData: readonly (readonly string[])[] = [
  ['without-final-newline', 'with-crlf', 'without-line-feeds', 'with-doubled-newline'],
  ['with-lowercase-method', 'without-method'],
  ['with-full-url', 'with-base-path', 'with-path-without-slash', 'with-trailing-slash', 'without-uri'],
  ['with-nonce-without-padding', 'with-padded-nonce', 'with-decoded-nonce', 'with-nonce-as-python-bytes'],
  ['with-timestamp-in-seconds', 'with-timestamp-as-float', 'with-timestamp-in-milliseconds'],
  ['with-commas', 'with-colons', 'with-newlines-for-semicolons', 'without-separators'],
  ['with-body-compact', 'with-body-spaced', 'with-body-python-escapes', 'with-body-sorted', 'with-empty-body'],
]

const ofKeys = ['hex-decoded', 'base64-decoded', 'with-newline', 'hashed']
const ofAlgorithms = ['sha1', 'sha512', 'arguments-swapped', 'plain-hash', 'hmac-over-hash', 'cut-hex']

const families = [
  ...ofData.map((words) => words.map((word) => `data/${word}`)),
  ofKeys.map((word) => `key/${word}`),
  ofAlgorithms.map((word) => `signature/${word}`),
]
const familyOf = new Map(families.flatMap((ids, family) => ids.map((id): [string, number] => [id, family])))
const frequent = new Set(families.flatMap((ids) => ids.slice(0, 2)))

/** Whether a mistake is one of the common ones. */
export function isCommon({ id }: KnownMistake): boolean {
  return familyOf.has(id)
}

/** Whether a mistake is one of the commonest. */
export function isFrequent({ id }: KnownMistake): boolean {
  return frequent.has(id)
}

/** Whether two mistakes touch different things. */
export function areOfDifferentFamilies(one: KnownMistake, other: KnownMistake): boolean {
  return familyOf.get(one.id) !== familyOf.get(other.id)
}
