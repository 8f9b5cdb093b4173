/**
 * Printing text that others wrote. A server under test chooses error messages, ids and header names, and our output ends in terminals
 * and build logs that obey escape sequences and words such as `::error::`. So everything that prints takes `Printable`, and only this file makes it.
 */

declare const brand: unique symbol

/** Text that is safe to print: visible characters on one line, and no word that a terminal or a build log obeys. */
export type Printable = string & { readonly [brand]: 'printable' }

/** Text that others may have written. Every string counts as foreign until it is printable. */
type Foreign = string

/** The default limit: a longer text does not tell a reader more. */
const longestPrinted = 1000

/**
 * Returns the text on one line, with control and format characters as visible escapes (`\u001b`), cut at `limit` characters and followed by
 * its length. Printable text stays unchanged.
 */
export function printable(text: Foreign, limit: number = longestPrinted): Printable {
  if (text.length <= limit && harmless.test(text)) return text as Printable
  const escaped = escapeText(text.slice(0, limit + 1))
  if (text.length <= limit && escaped.length <= limit) return escaped as Printable
  const length = `… (${text.length} characters)`
  const kept = escaped.slice(0, Math.max(0, limit - length.length)).replace(brokenEnd, '')
  return `${kept}${length}` as Printable
}

/** A line of our own words with foreign text in it: line`Wrote ${file}`. */
export function line(ours: TemplateStringsArray, ...values: readonly (Foreign | number)[]): Printable {
  const parts = values.map((value, index) => `${printable(String(value))}${ours[index + 1] ?? ''}`)
  return `${ours[0] ?? ''}${parts.join('')}` as Printable
}

/** Lines one below the other, each ended by a line feed. */
export function lines(all: readonly Printable[]): Printable {
  return all.map((one) => `${one}\n`).join('') as Printable
}

/** Lines of ours with foreign text in them: every line is made printable by itself, and none is cut. */
export function printableLines(text: Foreign): Printable {
  return text
    .split('\n')
    .map((one) => printable(one, Number.POSITIVE_INFINITY))
    .join('\n') as Printable
}

/** Vouches for a text that is made of our own words and of printable parts only: a whole report. Used by suites/report alone. */
export function vouchedFor(text: string): Printable {
  return text as Printable
}

/** JSON that is safe to print and holds exactly this value, because JSON has its own escapes inside strings. */
export function printableJson(value: unknown, indent?: number): Printable {
  const text = JSON.stringify(value, null, indent) ?? 'null'
  return text
    .replaceAll(notAsciiOfJson, (run) =>
      run.replaceAll(unprintable, (sign) => (sign === '\n' || sign === ' ' ? sign : [...units(sign)].join(''))),
    )
    .replaceAll(loggingCommand, '#\\u0023') as Printable
}

/** The same with a line end. */
export function jsonLine(value: unknown, indent?: number): Printable {
  return `${printableJson(value, indent)}\n` as Printable
}

/** Every string of a value made printable; the words of a union of literals stay what they are. */
type Printed<T> = T extends string
  ? string extends T
    ? Printable
    : T
  : T extends readonly (infer Item)[]
    ? Printed<Item>[]
    : T extends object
      ? { [Name in keyof T]: Printed<T[Name]> }
      : T

/** The value with every string in it made printable, the names of its members included. */
export function printed<T>(value: T, limit: number = longestPrinted): Printed<T> {
  return printedAny(value, limit) as Printed<T>
}

function printedAny(value: unknown, limit: number): unknown {
  if (typeof value === 'string') return printable(value, limit)
  if (Array.isArray(value)) return value.map((item) => printedAny(item, limit))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [printable(name, limit), printedAny(member, limit)]),
  )
}

/**
 * Control, format and private characters, halves of surrogate pairs, what is not assigned, line separators, what is invisible, every blank
 * but the ordinary one, and combining marks that would cover something else.
 */
const unprintable = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|(?<=^|\p{M}{3})\p{M}/gu

/**
 * Where alone something unprintable may be, found ten times as fast: what is not ASCII, or controls it, with the sign before, which decides
 * about a combining mark.
 */
const notAscii = /[ -~]?[^ -~]+/g
/** Its line ends are our own. */
const notAsciiOfJson = /[\n -~]?[^\n -~]+/g

/** Matches most texts with one test. */
const harmless = /^(?!.*(?:##|::|verdict:))[ -~]*$/i

/** Build logs obey it anywhere in a line: Azure, TeamCity, and the older form of GitHub. */
const loggingCommand = /##(?=vso\[|teamcity\[|\[)/gi

/** GitHub obeys it at the beginning of a line, and a wrapped text may put any word there. */
const workflowCommand = /(^|\s)::(?=[a-z])/gi

/** Looks like the last line of our report. */
const forgedVerdict = /(verdict):/gi

/** What a cut may leave at the end: part of an escape, or half a surrogate pair. */
const brokenEnd = /(?:\\(?:u\{?[0-9a-f]{0,5})?|[\ud800-\udbff])$/

const shortEscapes: { readonly [sign: string]: string } = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeText(text: string): string {
  return text
    .replaceAll(notAscii, (run) => run.replaceAll(unprintable, (sign) => shortEscapes[sign] ?? escapeOf(sign)))
    .replaceAll(loggingCommand, '#\\u0023')
    .replaceAll(workflowCommand, '$1:\\u003a')
    .replaceAll(forgedVerdict, '$1\\u003a')
}

function escapeOf(sign: string): string {
  const code = sign.codePointAt(0) ?? 0
  return code > 0xffff ? `\\u{${code.toString(16)}}` : unitOf(code)
}

function* units(sign: string): Generator<string> {
  for (let index = 0; index < sign.length; index += 1) yield unitOf(sign.charCodeAt(index))
}

function unitOf(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}
