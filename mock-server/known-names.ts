/** Refuses misspelt names, so that callers without types see the mistake where they make it. */

/**
 * Throws a TypeError that names the unknown member and the nearest known one.
 *
 * @param what what the object is, as in `Unknown option "clok" of startMockServer`
 * @param list says where the names are listed, if they are too many for the message
 */
export function demandKnownNames(what: string, given: object, known: readonly string[], list?: string): void {
  for (const name of Object.keys(given)) {
    if (!known.includes(name))
      throw new TypeError(`Unknown ${what} "${name}"${nearest(name, known) || (list === undefined ? '' : `; ${list}`)}`)
  }
}

/** Throws a TypeError where a value is not one of the words that it may be. */
export function demandWord(what: string, value: unknown, words: readonly string[]): void {
  if (words.some((word) => word === value)) return
  throw new TypeError(`Cannot use ${JSON.stringify(value)} for ${what}${nearest(String(value), words)}`)
}

/** Returns `, did you mean "clock"?`, or all known names where nothing is near and they are few. */
function nearest(name: string, known: readonly string[]): string {
  const near = known.find((one) => distance(one.toLowerCase(), name.toLowerCase()) <= 2)
  if (near !== undefined) return `, did you mean "${near}"?`
  return known.length > 24 ? '' : `, expected one of ${known.map((one) => `"${one}"`).join(', ')}`
}

/** Edits from one word to the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1]
    for (const [column, other] of [...to].entries()) {
      const changed = (row[column] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
