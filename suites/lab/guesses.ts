/** Mistakes that depend on the request at hand: which member was missing, which number was written otherwise, which time was signed. */
import { isObject, type JsonObject } from '../engine/json.ts'
import { jsonOf, numbersOf, numberWriters, type WriteNumber, withNumbers } from '../engine/signer/bodies.ts'
import { fromUtf8, sameBytes, utf8 } from '../engine/signer/bytes.ts'
import { type Draft, keyBytesOf, type SignInput, type SigningKey } from '../engine/signer/draft.ts'
import { ofBodyValue, ofBytes, ofKey, ofText } from '../engine/signer/draft-changes.ts'
import { type KnownMistake, knownMistake, mistakeOf, spellingIds, spellingsWith } from '../engine/signer/mistakes.ts'

const oneTime = 'Read the clock once for each request, and put this timestamp into the data and into the header'

/** More members than this are not put in every order. */
const mostOrdered = 5
const mostMembers = 12
const nearIds = 5
const mostShown = 5
const mostMarks = 8

/** What may have been signed instead of this body, likeliest first. */
export function guessesAtBody(body: Uint8Array): KnownMistake[] {
  const value = jsonOf(body)
  if (!isObject(value)) return []
  return [...missingMembers(value), ...otherIds(value), ...otherOrders(value)]
}

/** What may have been signed where a sender drops the line feeds of a file: the file itself. */
export function guessesAtFile(file: Uint8Array | undefined): KnownMistake[] {
  if (file === undefined) return []
  const when = 'the body is signed as its file has it, but "curl -d @FILE" drops the line feeds of the file'
  const fix = 'Send the file as it is: "curl --data-binary @FILE"'
  const texts = { requirement: 'signatures/request-body', fix }
  return [
    mistakeOf(
      'data/with-body-before-curl',
      when,
      ofBytes('body', () => file),
      texts,
    ),
  ]
}

/** For a body with numbers that a parser does not keep: they alone are changed, or the whole body is written again by a serialiser that keeps more of them than a double does. */
export function guessesAtNumbers(body: Uint8Array): KnownMistake[] {
  const text = fromUtf8(body) ?? ''
  const { double, ...others } = numberWriters
  const changes = (write: WriteNumber): boolean => numbersOf(text).some((it, at) => write(it, at) !== it)
  const writers = Object.values(others).filter(changes)
  if (jsonOf(body) === undefined || (writers.length === 0 && !changes(double))) return []
  const changed = [double, ...writers].flatMap((write) => otherNumbers(changesOf(text, withNumbers(text, write))))
  return [...changed, ...[(literal: string) => literal, ...writers].flatMap(spellingsWith)]
}

/** Numbers of a body that are written otherwise, each with what became of it; no mistake where there are none. */
function otherNumbers(changes: ReadonlyMap<string, string>): KnownMistake[] {
  if (changes.size === 0) return []
  const each = Array.from(changes, ([number, other]) => `${number} became ${other}`)
  const shown = [...each.slice(0, mostShown), ...(each.length > mostShown ? ['…'] : [])].join(', ')
  return [
    mistakeOf(
      'data/with-body-numbers',
      `numbers of the body changed when it was parsed and written again: ${shown}`,
      ofText('body', (text) => withNumbers(text, (number) => changes.get(number) ?? number)),
      {
        requirement: 'signatures/request-body',
        fix: 'Sign the body exactly as sent: a number that was parsed has lost how it was written',
      },
    ),
  ]
}

/** What became of numbers that kept their value; empty where more than the way of writing changed. */
function changesOf(sent: string, signed: string): ReadonlyMap<string, string> {
  const left = numbersOf(signed)
  const gone = numbersOf(sent).filter((number) => {
    const at = left.indexOf(number)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
  const changes = new Map(
    gone.map((number) => [number, left.find((other) => Number(other) === Number(number)) ?? number]),
  )
  const isSameValue = left.length === gone.length && [...changes].every(([number, other]) => number !== other)
  return isSameValue ? changes : new Map()
}

/** Mistakes that say no more than that the body was written again, or trimmed. */
const rewritings: ReadonlySet<string> = new Set([
  ...spellingIds,
  'data/with-body-trimmed',
  'data/with-body-without-white-space',
])
/** Mistakes that say themselves what becomes of numbers and of a byte order mark. */
const tellsItself = /-numbers$|-floats$|-bom$|-hash|-base64|-utf16|-printed-by-|-as-json-text$/

/**
 * An explanation with what a rewriting did besides: a byte order mark that went, numbers that changed. Where these are all, the rewriting
 * itself is not told, because it would send the reader to white space that the body does not have.
 */
export function withLosses(right: Draft, explanation: readonly KnownMistake[]): KnownMistake[] {
  const sent = fromUtf8(bodyOf(right) ?? utf8(''))
  const made = bodyOf(afterAll(right, explanation))
  if (sent === null || made === undefined) return [...explanation]
  const isLost = sent.startsWith('\ufeff') && !hasMark(made)
  const lost = isLost && !explanation.some(({ id }) => id === 'data/without-body-bom')
  const told = explanation.some(({ id }) => tellsItself.test(id))
  const changes = told ? new Map<string, string>() : changesOf(sent, fromUtf8(made) ?? sent)
  const losses = [...(lost ? [knownMistake('data/without-body-bom')] : []), ...otherNumbers(changes)]
  if (losses.length === 0) return [...explanation]
  const rest = [...losses, ...explanation.filter(({ id }) => !rewritings.has(id))]
  return sameBytes(bodyOf(afterAll(right, rest)) ?? utf8(''), made) ? rest : [...losses, ...explanation]
}

const afterAll = (right: Draft, made: readonly KnownMistake[]): Draft =>
  made.reduce((draft, mistake) => mistake.apply(draft) ?? draft, right)
const bodyOf = ({ pieces }: Draft): Uint8Array | undefined => pieces.find(({ origin }) => origin === 'body')?.bytes
const hasMark = (bytes: Uint8Array): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/** What an encoder may have made of a secret: one of its marks, or all of them, written out. */
export function guessesAtSecret(key: SigningKey): KnownMistake[] {
  const secret = key.kind === 'secret' ? (fromUtf8(keyBytesOf(key)) ?? '') : ''
  const marks = [...new Set(secret.match(/[^A-Za-z0-9]/g) ?? [])].slice(0, mostMarks)
  const sets = [...marks.map((mark) => [mark]), ...(marks.length > 1 ? [marks] : [])]
  return sets.map((escaped) => {
    const written = (mark: string): string => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`
    const change = ofKey(({ algorithm }) =>
      algorithm.kind === 'mac'
        ? utf8(secret.replace(/[^A-Za-z0-9]/g, (mark) => (escaped.includes(mark) ? written(mark) : mark)))
        : null,
    )
    const when = `the secret is used with ${escaped.join(' ')} written out as ${escaped.map(written).join(' ')}`
    const fix = 'Use the text that the JSON or the settings mean, with its escapes resolved, as the secret'
    return mistakeOf('key/mark-escaped', when, change, { requirement: 'signatures/hmac', fix })
  })
}

/** @param offsets in milliseconds */
export function guessesAtTime({ timestamp }: Pick<SignInput, 'timestamp'>, offsets: Iterable<number>): KnownMistake[] {
  if (!/^\d{10,16}$/.test(timestamp)) return []
  return Array.from(offsets, (offset) => otherTime(timestamp, offset))
}

/** Every millisecond nearby, then whole seconds, then the hours and half hours between time zones. */
export function offsetsNearby(ms: number): number[] {
  const steps = (count: number, width: number) =>
    Array.from({ length: count }, (_, at) => [(at + 1) * width, -(at + 1) * width]).flat()
  return [...steps(ms, 1), ...steps(60, 1000).filter((offset) => Math.abs(offset) > ms), ...steps(28, 1_800_000)]
}

function otherTime(timestamp: string, offset: number): KnownMistake {
  const distance = Math.abs(offset) < 1000 ? `${Math.abs(offset)} ms` : `${Math.abs(offset) / 1000} s`
  const isZone = Math.abs(offset) >= 1_800_000
  const when = `the data have a timestamp that is ${distance} ${offset < 0 ? 'before' : 'after'} the one of the header`
  const signed = String(Number(timestamp) + offset)
  return mistakeOf(
    'data/with-another-timestamp',
    when,
    ofText('timestamp', () => signed),
    {
      requirement: 'signatures/timestamp',
      fix: isZone ? 'Use milliseconds since 1970 in UTC, in the data and in the header alike' : oneTime,
    },
  )
}

/** A change of the parsed body. */
function ofValue(word: string, when: string, change: (value: JsonObject) => JsonObject): KnownMistake {
  return mistakeOf(`data/${word}`, when, ofBodyValue(change), { requirement: 'signatures/request-body' })
}

/** Signed before some members were added: any choice of the outer ones, and each one of the params. */
function missingMembers(value: JsonObject): KnownMistake[] {
  const names = Object.keys(value)
  const choices = names.length <= mostOrdered ? subsetsOf(names) : names.slice(0, mostMembers).map((name) => [name])
  const params = value.params
  const inner = isObject(params) ? Object.keys(params).slice(0, mostMembers) : []
  return [
    ...choices
      .filter((dropped) => dropped.length > 0 && dropped.length < names.length)
      .sort((one, other) => one.length - other.length)
      .map((dropped) => withoutMembers(dropped, (whole) => leaveOut(whole, dropped))),
    ...inner.map((name) =>
      withoutMembers([`params.${name}`], (whole) => ({
        ...whole,
        params: isObject(whole.params) ? leaveOut(whole.params, [name]) : (whole.params ?? null),
      })),
    ),
  ]
}

function withoutMembers(names: readonly string[], change: (value: JsonObject) => JsonObject): KnownMistake {
  const quoted = names.map((name) => `"${name}"`).join(', ')
  return ofValue('without-body-member', `the body is signed before ${quoted} is added to it`, change)
}

function otherOrders(value: JsonObject): KnownMistake[] {
  const params = value.params
  const outer = ordersOf(Object.keys(value)).map((order) =>
    inOrder(order.join(', '), (whole) => reordered(whole, order)),
  )
  const inner = isObject(params)
    ? ordersOf(Object.keys(params)).map((order) =>
        inOrder(`params: ${order.join(', ')}`, (whole) => ({
          ...whole,
          params: isObject(whole.params) ? reordered(whole.params, order) : (whole.params ?? null),
        })),
      )
    : []
  return [...outer, ...inner]
}

function inOrder(order: string, change: (value: JsonObject) => JsonObject): KnownMistake {
  return ofValue('with-another-member-order', `the body is signed with its members in another order (${order})`, change)
}

function otherIds({ id }: JsonObject): KnownMistake[] {
  if (typeof id !== 'number' || !Number.isInteger(id)) return []
  const near = Array.from({ length: nearIds }, (_, at) => [id - at - 1, id + at + 1]).flat()
  return [...new Set([...near, 0, 1])]
    .filter((other) => other !== id)
    .map((other) =>
      ofValue('with-another-id', `the body is signed with the id ${other} and sent with ${id}`, (whole) => ({
        ...whole,
        id: other,
      })),
    )
}

function leaveOut(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))
}

function reordered(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, value[name] ?? null]))
}

function subsetsOf([first, ...rest]: readonly string[]): string[][] {
  if (first === undefined) return [[]]
  const withoutFirst = subsetsOf(rest)
  return [...withoutFirst, ...withoutFirst.map((set) => [first, ...set])]
}

/** Every order except the given one; empty if there are too many. */
function ordersOf(names: readonly string[]): string[][] {
  return names.length > mostOrdered ? [] : permutationsOf(names).slice(1)
}

function permutationsOf(names: readonly string[]): string[][] {
  if (names.length < 2) return [[...names]]
  return names.flatMap((name, at) =>
    permutationsOf([...names.slice(0, at), ...names.slice(at + 1)]).map((rest) => [name, ...rest]),
  )
}
