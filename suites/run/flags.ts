/** Flags as data: one row declares a flag for commander and `--help`, and reads what was typed. */
import { usageError } from '../engine/errors.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { shellWord } from '../report/text.ts'
import { given, isSameFile } from './files.ts'

/** @param name as in `Cannot use "5s" for "--timeout"` @throws SuiteError (`usage`) */
type Read<T> = (text: string, name: string) => T

export interface Flag<T> {
  /** As commander reads it, such as `--seed <number>`. */
  syntax: string
  about: string
  read(typed: never, name: string): T
  isRepeatable?: true
  /** The text that counts without the flag; `--help` shows it. */
  preset?: string
  isRequired?: boolean
  /** The heading of its group in `--help`. */
  heading?: string
  /** The variable of the environment that counts without the flag. */
  variable?: string
  /** A name under which the texts of several flags are typed too, each with its flag, in the order of the command line. */
  together?: string
}

export interface Table {
  readonly [name: string]: Flag<unknown>
}

/** What commander parsed: texts, or true for a flag without a value. */
export type Typed<F extends Table> = { [name in keyof F]?: string | string[] | boolean }

export type Values<F extends Table> = { [name in keyof F]: F[name] extends Flag<infer T> ? T : never }

/** A flag without a value. */
export const mark = (syntax: string, about: string): Flag<boolean> => ({
  syntax,
  about,
  read: (typed?: true) => typed === true,
})

/** What reads a text that stays as it is. */
const asItIs = (text: string) => text as never

/** A flag with a value, which is null without the flag. */
export const value = <T = string>(syntax: string, about: string, read: Read<T> = asItIs): Flag<NoInfer<T> | null> => ({
  syntax,
  about,
  read: (text: string | undefined, name) => (text === undefined ? null : read(text, name)),
})

/** A flag that counts as `text` if it is not given. */
export const preset = <T = string>(
  syntax: string,
  about: string,
  text: string,
  read: Read<T> = asItIs,
): Flag<NoInfer<T>> => ({
  syntax,
  about,
  read: (typed: string | undefined, name) => read(typed ?? text, name),
  preset: text,
})

/** A flag that may be given several times. */
export const many = <T = string>(syntax: string, about: string, read: Read<T> = asItIs): Flag<NoInfer<T>[]> => ({
  syntax,
  about,
  read: (texts: readonly string[] | undefined, name) => (texts ?? []).map((text) => read(text, name)),
  isRepeatable: true,
})

/** The same flags, under a heading of `--help`. */
export const grouped = <F extends Table>(heading: string, flags: F): F =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, heading }])) as never

/** A command of the command line. `O`: what commander makes of its operand. */
export interface Command<F extends Table, O = undefined> {
  about: string
  operand?: readonly [syntax: string, about: string, preset?: string]
  flags: F
  /** What `--help` says below the flags. */
  help?: string
  /** @returns the exit code, now or later; nothing where the command does not decide it */
  run(typed: Typed<F>, operand: O): unknown
}

/** Reads every flag of the table, in its order; what else was typed is left out. @throws SuiteError (`usage`) */
export function read<F extends Table>(flags: F, typed: Typed<NoInfer<F>>, env: NodeJS.ProcessEnv = {}): Values<F> {
  const read = Object.entries(flags).map(([name, { syntax, variable = '', read: readFlag }]) => {
    const [flagName = ''] = syntax.split(' ')
    const isTyped = typed[name] !== undefined
    return [name, readFlag((isTyped ? typed[name] : given(env[variable])) as never, isTyped ? flagName : variable)]
  })
  return Object.fromEntries(read) as never
}

/** A command for a shell. @param flags by their names in code; those without a value are left out */
export function commandLine(
  command: string,
  flags: { readonly [name: string]: string | readonly string[] | boolean | null },
): string {
  const words = Object.entries(flags).flatMap(([name, given]) => {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
    if (given === null || given === false) return []
    return given === true ? [flag] : [given].flat().flatMap((text) => [flag, text])
  })
  return ['npx', 'svc-conformance', command, ...words].map(shellWord).join(' ')
}

// Readers of values.

const cannotUse = (text: string, name: string, expected: string) =>
  usageError(`Cannot use "${text}" for "${name}": expected ${expected}`)

/** A host on this machine, which is usually reached by http. */
const loopbackHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?(\/|$)/
/** A host or an address without a scheme such as `https://`. */
const bareHost = /^[\w-]+(\.[\w-]+)+(:\d+)?(\/|$)|^[\w-]+:\d+(\/|$)/

/** @throws SuiteError (`usage`) unless it is an http or https URL that can be put before `/api` */
export function baseUrl(text: string): string {
  const whole = loopbackHost.test(text) ? `http://${text}` : text
  const url = URL.canParse(whole) ? new URL(whole) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    const meant = bareHost.test(text)
      ? `begin it with "https://", as in "https://${text}"`
      : 'expected one like "https://service.example"'
    throw usageError(`Cannot use the URL "${text}": ${meant}`)
  }
  if (url.username !== '' || url.password !== '')
    throw usageError('Remove the user and password from the URL: the key is given by SVC_KEY_ID and SVC_KEY_SECRET')
  if (url.search !== '' || url.hash !== '')
    throw usageError(`Remove "${url.search}${url.hash}" from the URL: it is the part before "/api"`)
  // Not `href`, which keeps a lone "?" or "#" at the end.
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

/** @throws SuiteError (`usage`) with a did-you-mean */
export const oneOf =
  <T extends string>(words: readonly T[]): Read<T> =>
  (word, name) => {
    const found = words.find((one) => one === word)
    if (found === undefined) throw usageError(`Unknown value "${word}" for "${name}"${suggestion(word, words)}`)
    return found
  }

/** Words joined by commas, in the order of `words`. */
export const someOf =
  <T extends string>(words: readonly T[]): Read<T[]> =>
  (text, name) => {
    const named = text.split(',').map((word) => oneOf(words)(word.trim(), name))
    return words.filter((one) => named.includes(one))
  }

/** The scheme word of signatures. @throws SuiteError (`usage`) if it cannot be one */
export function schemeWord(text: string, name: string): string {
  if (!/^[!#$%&'*+.^_`|~\w/-]+$/.test(text)) throw cannotUse(text, name, 'one word, such as "svc-hmac-sha256"')
  return text
}

/** @param expected as in `expected a whole number, 1 or more` */
const numberThat =
  (expected: string, isRight: (number: number, text: string) => boolean): Read<number> =>
  (text, name) => {
    const number = Number(text)
    if (text.trim() !== '' && Number.isFinite(number) && isRight(number, text)) return number
    throw cannotUse(text, name, expected)
  }

const isDigits = (text: string): boolean => /^\d+$/.test(text)

const notNegative = numberThat('a number, 0 or more', (number) => number >= 0)
const seconds = numberThat('a number of seconds above 0', (number) => number > 0)
const count = numberThat(
  'a whole number, 1 or more',
  (number, text) => isDigits(text) && Number.isSafeInteger(number) && number >= 1,
)
/** Decides an order that a later run can repeat. */
const seed = numberThat(`a whole number below ${2 ** 32}`, (number, text) => isDigits(text) && number < 2 ** 32)

const upTo =
  (most: number): Read<number> =>
  (text, name) => {
    const number = notNegative(text, name)
    if (Number.isInteger(number) && number <= most) return number
    throw cannotUse(text, name, `a whole number from 0 to ${most}`)
  }

/** 0: any free port. */
const port = upTo(65_535)

/** Numbers that flags take. */
export const number = { notNegative, seconds, count, seed, upTo, port }

/** `I/N`, 1 ≤ I ≤ N. */
export function shard(text: string, name: string): { index: number; count: number } {
  const [, index, all] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? []
  if (index === undefined || all === undefined || index < 1 || index > all)
    throw cannotUse(text, name, 'I/N with I from 1 to N, such as "1/4"')
  return { index, count: all }
}

/** `ID=reason`. @throws SuiteError (`usage`) without a reason */
export function skip(text: string): { id: string; reason: string } {
  const [id = '', ...rest] = text.split('=')
  const reason = rest.join('=').trim()
  if (id === '' || reason === '')
    throw usageError(`Give a reason: "--skip ${id === '' ? 'ID' : id}=why it is left out"`)
  return { id, reason }
}

const reportFormats = ['text', 'json', 'junit', 'html', 'markdown', 'ctrf', 'badge'] as const
export interface ReportRequest {
  format: (typeof reportFormats)[number]
  /** null: stdout. */
  file: string | null
}

/** `FORMAT[=FILE]` */
function report(text: string, name: string): ReportRequest {
  const [word = '', ...file] = text.split('=')
  if (file.length > 0 && file.join('=') === '')
    throw usageError(`Name the file of "${name} ${text}", as in "${name} ${text}report.${word}"`)
  return { format: oneOf(reportFormats)(word, name), file: file.length === 0 ? null : file.join('=') }
}

/** A flag of several formats. */
export const reportFlag: Flag<ReportRequest[]> = {
  syntax: '--report <format[=file]>',
  about: `${reportFormats.slice(0, -1).join(', ')} or ${reportFormats.at(-1)}; repeatable`,
  read: (texts: readonly string[] | undefined, name) => withText((texts ?? []).map((text) => report(text, name))),
  isRepeatable: true,
}

/** The reports that were asked for; text goes to stdout if no other one does. @throws SuiteError (`usage`) if two have one place */
function withText(reports: readonly ReportRequest[]): ReportRequest[] {
  const [first, second] = reports.filter(({ file }) => file === null)
  if (first !== undefined && second !== undefined)
    throw usageError(
      `Only one report fits on stdout: give "${first.format}" or "${second.format}" a file, as in "--report ${second.format}=FILE"`,
    )
  for (const [index, { format, file }] of reports.entries()) {
    const earlier = reports
      .slice(0, index)
      .find((one) => file !== null && one.file !== null && isSameFile(one.file, file))
    if (earlier !== undefined)
      throw usageError(`Only one report fits into "${file}": give "${earlier.format}" or "${format}" another file`)
  }
  return first !== undefined ? [...reports] : [{ format: 'text', file: null }, ...reports]
}
