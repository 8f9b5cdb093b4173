/** Checks of what may come from plain JavaScript, a file or the control port: a mistake is refused where it is made, with what would be right. */

/** Returns what a value should be, such as `a text`; undefined where it is right. `T` is the type of right values. */
export interface Check<T> {
  (value: unknown): string | undefined
  readonly type?: T
}

export type Fields = { readonly [name: string]: Check<unknown> }

/** The values that the checks let through. */
export type Checked<F extends Fields> = { readonly [N in keyof F]: F[N] extends Check<infer T> ? T : never }

export const check =
  <T>(expected: string, fits: (value: unknown) => boolean): Check<T> =>
  (value) =>
    fits(value) ? undefined : expected

export const optional =
  <T>(inner: Check<T>): Check<T | undefined> =>
  (value) =>
    value === undefined ? undefined : inner(value)

export const aText = check<string>('a text', (value) => typeof value === 'string')
export const texts = check<string[]>(
  'a list of texts',
  (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
)
export const aNumber = check<number>('a number', (value) => typeof value === 'number')
export const aFlag = check<boolean>('true or false', (value) => typeof value === 'boolean')

export const wholeNumber = (least: number): Check<number> =>
  check(
    `a whole number${least > Number.MIN_SAFE_INTEGER ? ` of ${least} or more` : ''}`,
    (value) => Number.isSafeInteger(value) && (value as number) >= least,
  )

export const oneOf = <T>(choices: readonly T[]): Check<T> =>
  check(`one of ${choices.map((one) => JSON.stringify(one)).join(', ')}`, (value) =>
    choices.some((one) => one === value),
  )

/** How a message goes on: `of` after the name, `list` says where the names are listed, if they are too many for the message. */
interface Told {
  of?: string
  list?: string
}

/** Throws a TypeError for the first member that is unknown or wrong. @param what what a member is, as in `Unknown option "clok"` */
export function demandFields(what: string, given: object, fields: Fields, told: Told = {}): void {
  demandKnownNames(what, given, Object.keys(fields), told)
  demandValues(what, given, fields, told)
}

/** Throws a TypeError for the first member that is wrong. */
export function demandValues<F extends Fields>(
  what: string,
  given: { readonly [name: string]: unknown } | object,
  fields: F,
  { of = '' }: Told = {},
): asserts given is Checked<F> {
  const values: { readonly [name: string]: unknown } = { ...given }
  for (const [name, expects] of Object.entries(fields)) {
    const value = values[name]
    const expected = expects(value)
    const got = value === undefined ? '' : `, not ${JSON.stringify(value)}`
    if (expected !== undefined) throw new TypeError(`Give the ${what} "${name}"${of} ${expected}${got}`)
  }
}

/** Throws a TypeError that names the unknown member and the nearest known one. */
export function demandKnownNames(
  what: string,
  given: object,
  known: readonly string[],
  { of = '', list }: Told = {},
): void {
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    throw new TypeError(
      `Unknown ${what} "${name}"${of}${nearest(name, known) || (list === undefined ? '' : `; ${list}`)}`,
    )
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
