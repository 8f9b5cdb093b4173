/** Values of flags, read strictly. */
import { resolve } from 'node:path'
import { usageError } from '../engine/errors.ts'
import { suggestion } from '../engine/language/yaml-source.ts'

const reportFormats = ['text', 'json', 'junit', 'html', 'markdown', 'ctrf', 'badge'] as const
export type ReportFormat = (typeof reportFormats)[number]

export interface ReportRequest {
  format: ReportFormat
  /** null: stdout. */
  file: string | null
}

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
export function oneOf<T extends string>(flag: string, word: string, words: readonly T[]): T {
  const found = words.find((one) => one === word)
  if (found === undefined) throw usageError(`Unknown value "${word}" for "${flag}"${suggestion(word, words)}`)
  return found
}

/** The scheme word of signatures. @throws SuiteError (`usage`) if it cannot be one */
export function schemeWord(flag: string, text: string): string {
  if (!/^[!#$%&'*+.^_`|~\w/-]+$/.test(text))
    throw usageError(`Cannot use "${text}" for "${flag}": expected one word, such as "svc-hmac-sha256"`)
  return text
}

/** A number, 0 or more, or `otherwise` when the flag was not given. @throws SuiteError (`usage`) */
export function positive(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number) || number < 0)
    throw usageError(`Cannot use "${text}" for "${flag}": expected a number, 0 or more`)
  return number
}

/** A number of seconds above 0. @throws SuiteError (`usage`) */
export function someSeconds(flag: string, text: string): number {
  const seconds = Number(text)
  if (Number.isFinite(seconds) && seconds > 0) return seconds
  throw usageError(`Cannot use "${text}" for "${flag}": expected a number of seconds above 0`)
}

/** A whole number, 1 or more. @throws SuiteError (`usage`) */
export function count(flag: string, text: string): number {
  const number = Number(text)
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < 1)
    throw usageError(`Cannot use "${text}" for "${flag}": expected a whole number, 1 or more`)
  return number
}

/** A whole number, 0 or more; 0 when the flag was not given. @throws SuiteError (`usage`) */
export function wholeNumber(flag: string, text: string | undefined, most: number): number {
  const value = positive(flag, text, 0)
  if (Number.isInteger(value) && value <= most) return value
  throw usageError(`Cannot use "${text}" for "${flag}": expected a whole number from 0 to ${most}`)
}

/** A port; 0, any free port, when the flag was not given. @throws SuiteError (`usage`) */
export function portNumber(flag: string, text: string | undefined): number {
  return wholeNumber(flag, text, 65_535)
}

/** `FORMAT[=FILE]`; text goes to stdout if no other format does. @throws SuiteError (`usage`) */
export function readReports(texts: readonly string[]): ReportRequest[] {
  const reports = texts.map((text): ReportRequest => {
    const [word = '', ...file] = text.split('=')
    if (file.length > 0 && file.join('=') === '')
      throw usageError(`Name the file of "--report ${text}", as in "--report ${text}report.${word}"`)
    return { format: oneOf('--report', word, reportFormats), file: file.length === 0 ? null : file.join('=') }
  })
  const onStdout = reports.filter((report) => report.file === null)
  if (onStdout.length > 1) {
    const [first, second] = onStdout.map((report) => report.format)
    throw usageError(
      `Only one report fits on stdout: give "${first}" or "${second}" a file, as in "--report ${second}=FILE"`,
    )
  }
  for (const [index, { format, file }] of reports.entries()) {
    const earlier = reports
      .slice(0, index)
      .find((one) => file !== null && one.file !== null && samePath(one.file, file))
    if (earlier !== undefined)
      throw usageError(`Only one report fits into "${file}": give "${earlier.format}" or "${format}" another file`)
  }
  return onStdout.length > 0 ? reports : [{ format: 'text', file: null }, ...reports]
}

function samePath(one: string, other: string): boolean {
  return resolve(one) === resolve(other)
}

/** `ID=reason`. @throws SuiteError (`usage`) without a reason */
export function readSkips(texts: readonly string[]): { id: string; reason: string }[] {
  return texts.map((text) => {
    const [id = '', ...rest] = text.split('=')
    const reason = rest.join('=').trim()
    if (id === '' || reason === '')
      throw usageError(`Give a reason: "--skip ${id === '' ? 'ID' : id}=why it is left out"`)
    return { id, reason }
  })
}

/** `I/N`, 1 ≤ I ≤ N. @throws SuiteError (`usage`) */
export function readShard(text: string | undefined): { index: number; count: number } | null {
  if (text === undefined) return null
  const [, index, count] = /^(\d+)\/(\d+)$/.exec(text)?.map(Number) ?? []
  if (index === undefined || count === undefined || index < 1 || index > count)
    throw usageError(`Cannot use "${text}" for "--shard": expected I/N with I from 1 to N, such as "1/4"`)
  return { index, count }
}
