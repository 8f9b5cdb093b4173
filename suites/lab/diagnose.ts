/**
 * Names the mistake in a refused signature: recomputes it under every known mistake, alone and together, and under those that depend on the
 * request at hand: which member was missing, which number was written otherwise, which time was signed.
 */
import { editDistance } from '../engine/edit-distance.ts'
import { groupBy } from '../engine/group.ts'
import { isObject, type JsonObject } from '../engine/json.ts'
import { jsonOf, numbersOf, withNumbers } from '../engine/signer/bodies.ts'
import { fromBase64Loose, fromHex, fromLatin1, fromUtf8, sameBytes, utf8 } from '../engine/signer/bytes.ts'
import {
  type Draft,
  draftOf,
  type HeaderFields,
  keyBytesOf,
  type SigningKey,
  signDraft,
} from '../engine/signer/draft.ts'
import { ofBodyValue, ofBytes, ofKey, ofText } from '../engine/signer/draft-changes.ts'
import { signatureBytes } from '../engine/signer/ed25519.ts'
import {
  type KnownMistake,
  knownMistake,
  mistakeOf,
  mistakes,
  spellingIds,
  spellingsWith,
} from '../engine/signer/mistakes.ts'
import { repertoireOf, search } from './search.ts'
import { differencesOf, judgeOwnData, readHeader, signatureIsRight, type VerifyInput, verify } from './verify.ts'

export interface DiagnoseInput extends VerifyInput {
  /** The whole URL that was called; without it, mistakes with host, base path or query are rarely found. */
  url?: string | undefined
  /** The file of which the body was made, where its sender drops line feeds on the way (`curl -d @FILE`). */
  bodyFile?: Uint8Array | undefined
  /** Other keys that may have been used by accident, each with the name under which to report it. */
  otherKeys?: readonly { name: string; key: SigningKey }[]
}

type NamedMistake = Pick<KnownMistake, 'id' | 'title' | 'requirement' | 'fix'>

export interface Diagnosis {
  valid: boolean
  /** Whether `mistakes` explain everything that is wrong. */
  explained: boolean
  mistakes: NamedMistake[]
  /** Other single mistakes that give the same bytes here. */
  alternatives: NamedMistake[]
  /** Ids of the mistakes that were tried, alone and in pairs, and do not explain it. */
  ruledOut: string[]
}

/** Mistakes that use the whole URL. */
const needsUrl = ['data/with-full-url', 'data/with-host-and-path', 'data/with-base-path', 'data/with-base-url']

/** Finds what is wrong with a header. Pure and synchronous; under 300 ms for an HMAC and an ordinary body. */
export function diagnose(input: DiagnoseInput): Diagnosis {
  if (verify(input).valid) return { valid: true, explained: true, mistakes: [], alternatives: [], ruledOut: [] }
  const reading = readHeader(input)
  if (reading.fields === null || signatureIsRight(input, reading.fields)) return explained(input, reading.mistakes)
  const { explanations, tried } = explain(input, reading.fields)
  const [likeliest, ...others] = explanations
  if (likeliest !== undefined) return explained(input, together(reading.mistakes, likeliest), others)
  const shape = likelyShape(input, reading.fields)
  if (shape !== null) return explained(input, [...reading.mistakes, shape])
  return {
    valid: false,
    explained: false,
    mistakes: named(input, reading.mistakes),
    alternatives: [],
    // Without the URL only a guess was tried, so nothing is ruled out.
    ruledOut: [...new Set(tried.map(({ id }) => id))].filter((id) => input.url !== undefined || !needsUrl.includes(id)),
  }
}

/** Combines the mistakes that were read off the header with those that were computed, each once. */
function together(read: readonly KnownMistake[], computed: readonly KnownMistake[]): KnownMistake[] {
  const ofUnits = computed.some(({ id }) => id === 'data/with-timestamp-in-milliseconds')
  return [...read.filter(({ id }) => !ofUnits || !id.startsWith('fields/timestamp-in-')), ...computed]
}

/** The mistake that the length of an unexplained signature shows. */
function likelyShape({ key }: DiagnoseInput, { signature }: HeaderFields): KnownMistake | null {
  const length = fromBase64Loose(signature)?.length
  return key.kind !== 'secret' && (length === 20 || length === 32) ? knownMistake('signature/hmac-for-ecc') : null
}

const explained = (
  input: DiagnoseInput,
  found: readonly KnownMistake[],
  others: readonly KnownMistake[][] = [],
): Diagnosis => ({
  valid: false,
  explained: true,
  mistakes: named(input, found),
  alternatives: named(
    input,
    others.flatMap((other) => (other.length === 1 ? other : [])),
  ),
  ruledOut: [],
})

const forEcc: { [requirement: string]: string } = {
  'signatures/hmac': 'signatures/ecc',
  'signatures/hmac-length': 'signatures/ecc',
  'signatures/hmac-encoding': 'signatures/ecc-encoding',
}

/** The mistakes as reported; a mistake that both kinds of key share is reported with the requirement of this kind. */
function named({ key }: DiagnoseInput, found: readonly KnownMistake[]): NamedMistake[] {
  return found.map(({ id, title, requirement, fix }) => ({
    id,
    title,
    requirement: key.kind === 'secret' ? requirement : (forEcc[requirement] ?? requirement),
    fix,
  }))
}

// ---- known mistakes that reproduce a signature

/** How far another timestamp is looked for, in every millisecond: alone, and together with a common mistake. */
const searchedMs = 500
const nearMs = 10
/** How many guesses at the body are also tried together with a common mistake. */
const pairedGuesses = 60

/**
 * The known mistakes that reproduce the signature of these fields, likeliest first, each a list of mistakes that were made together; none
 * where nothing known fits. `tried` is everything that was looked for.
 */
function explain(
  input: DiagnoseInput,
  fields: HeaderFields,
): { explanations: KnownMistake[][]; tried: KnownMistake[] } {
  const { signature } = fields
  const otherKeys = input.otherKeys ?? []
  const keys = otherKeys.map(({ key }) => key)
  const right = draftOf({ ...input, ...fields }, keys)
  const guesses = guessesAtBody(input.body)
  const allTimes = guessesAtTime(fields)
  const repertoire = repertoireOf(right, {
    before: [
      ...guessesAtFile(input.bodyFile),
      ...mistakes.filter(({ found, made }) => found && made),
      ...otherKeys.flatMap(wrongKey),
    ],
    rare: [
      ...guessesAtNumbers(input.body),
      ...mistakes.filter(({ made }) => !made),
      ...guessesAtSecret(input.key),
      ...guesses.slice(0, pairedGuesses),
    ],
    alone: guesses.slice(pairedGuesses),
    times: allTimes,
    nearTimes: allTimes.slice(0, 2 * nearMs),
  })
  const { before, rare, times, after } = repertoire
  const found = search(right, signature, repertoire, () => certainShape(input, fields))
  const explanations = distinct(found.map((explanation) => withLosses(right, explanation)))
  const own = { ...input, callersData: input.callersData ?? attachedData(input, signature) }
  return {
    explanations: explanations.length > 0 ? explanations : searchInOwnData(own, fields, right, repertoire),
    tried: [...before, ...rare, ...times.slice(0, 1), ...after],
  }
}

/** Each explanation once, in order, those with the fewest mistakes first. */
function distinct(explanations: readonly KnownMistake[][]): KnownMistake[][] {
  const byTitles = groupBy(explanations, (mistakes) => mistakes.map(({ title }) => title).join())
  return [...byTitles.values()].flatMap((same) => same.slice(0, 1)).sort((one, other) => one.length - other.length)
}

/** The message behind an ED25519 signature: these are the data that were really signed. */
function attachedData({ key }: DiagnoseInput, signature: string): Uint8Array | undefined {
  const bytes = key.kind === 'secret' ? null : fromBase64Loose(signature)
  return bytes !== null && bytes.length > signatureBytes + 1 ? bytes.slice(signatureBytes) : undefined
}

/** If the caller's own data were signed: how they differ from the right data, and which further mistakes were made. */
function searchInOwnData(
  input: DiagnoseInput,
  fields: HeaderFields,
  right: Draft,
  repertoire: ReturnType<typeof repertoireOf>,
): KnownMistake[][] {
  const { callersData } = input
  if (callersData === undefined) return []
  const isBehindData = ({ stage }: KnownMistake) => stage !== 'data'
  const { before, rare, after } = repertoire
  const onTop = { before: before.filter(isBehindData), rare: rare.filter(isBehindData), after }
  const own: Draft = { ...right, pieces: [{ origin: 'other', bytes: callersData }] }
  const found = search(own, fields.signature, { ...onTop, alone: [], times: [], nearTimes: [] }, () => null)
  const differences = differencesOf(input, fields, callersData)
  return differences.length === 0 ? [] : found.slice(0, 1).map((mistakes) => [...differences, ...mistakes])
}

/** One mistake per other key that was given. */
function wrongKey({ name, key }: { name: string; key: SigningKey }): KnownMistake[] {
  if (key.kind === 'ed25519-public') return []
  const kind = key.kind === 'secret' ? 'mac' : 'ed25519'
  const change = ofKey((draft) => (draft.algorithm.kind === kind ? keyBytesOf(key) : null))
  const texts = {
    requirement: 'signatures/key-id',
    fix: 'Sign with the key that the first field of the header names',
  }
  return [mistakeOf('key/another-key', `another key is used: ${name}`, change, texts)]
}

/** The mistake that the form of a signature shows for certain, if no single mistake explains it. */
function certainShape(input: DiagnoseInput, fields: HeaderFields): KnownMistake | null {
  const { signature } = fields
  if (/^\[(B@|object )|^(undefined|null|None|nil|NaN)$|^<.*>$|^Promise/.test(signature))
    return knownMistake('signature/printed-object')
  const bytes = fromBase64Loose(signature)
  const isHex = bytes !== null && fromHex(fromLatin1(bytes)) !== null
  if (input.key.kind === 'secret' && bytes?.length === 64 && !isHex) return knownMistake('signature/ecc-for-hmac')
  const isDer = bytes !== null && bytes.length >= 68 && bytes.length <= 72 && bytes[0] === 0x30
  if (isDer || bytes?.length === 256) return knownMistake('signature/another-kind-of-key')
  return isDamaged(input, fields) ? knownMistake('signature/damaged') : null
}

/** A part of the right signature with this many characters is not a coincidence: 10 characters of BASE64 are 60 bits. */
const tellingLength = 10
const toleratedEdits = 3

/** Whether the received signature is nearly the right one. Always false without a key that can sign. */
function isDamaged(input: VerifyInput, fields: HeaderFields): boolean {
  const { signature } = fields
  if (input.key.kind === 'ed25519-public') return false
  const right = signDraft(draftOf({ ...input, ...fields })).signature
  if (signature.length >= tellingLength && right.includes(signature)) return true
  return Math.abs(right.length - signature.length) <= toleratedEdits && editDistance(right, signature) <= toleratedEdits
}

// ---- what to print, and what to try next, if no known mistake explains a signature

/** In the order in which to try them; the wording differs between the command line and the page. */
type NextStep = 'check-empty-body' | 'give-own-data' | 'mend-own-data' | 'compare-key' | 'give-url'

/** What is known, as one sentence. Units: `ruledOut` counts each known mistake once. */
export function unexplainedSentence({ key }: DiagnoseInput, { mistakes, ruledOut }: Diagnosis): string {
  const subject = mistakes.length === 0 ? 'None' : 'The signature is wrong as well, and none'
  const keyName = key.kind === 'secret' ? 'the secret' : 'the private key'
  return `${subject} of ${ruledOut.length} known mistakes reproduces this: ${keyName}, the body or the data differ`
}

/** The next steps for the reader, the best first. */
export function nextSteps(input: DiagnoseInput): NextStep[] {
  const own = judgeOwnData(input)
  const steps: NextStep[] = input.body.length === 0 ? ['check-empty-body'] : []
  if (own === null) steps.push('give-own-data')
  else if (!own.isRight) steps.push('mend-own-data')
  else if (!own.isSigned) steps.push('compare-key')
  if (input.url === undefined && own === null) steps.push('give-url')
  return steps
}

const oneTime = 'Read the clock once for each request, and put this timestamp into the data and into the header'

/** More members than this are not put in every order. */
const mostOrdered = 5
const mostMembers = 12
const nearIds = 5
const mostShown = 5
const mostMarks = 8

/** What may have been signed instead of this body, likeliest first. */
function guessesAtBody(body: Uint8Array): KnownMistake[] {
  const value = jsonOf(body)
  if (!isObject(value)) return []
  return [...missingMembers(value), ...otherIds(value), ...otherOrders(value)]
}

/** What may have been signed where a sender drops the line feeds of a file: the file itself. */
function guessesAtFile(file: Uint8Array | undefined): KnownMistake[] {
  if (file === undefined) return []
  const when = 'the body is signed as its file has it, but "curl -d @FILE" drops the line feeds of the file'
  const fix = 'Send the file as it is: "curl --data-binary @FILE"'
  const change = ofBytes('body', () => file)
  return [mistakeOf('data/with-body-before-curl', when, change, { requirement: 'signatures/request-body', fix })]
}

/** For a body with numbers that a parser does not keep: they alone are changed, or the whole body is written again by a serialiser that keeps more of them than a double does. */
function guessesAtNumbers(body: Uint8Array): KnownMistake[] {
  const text = fromUtf8(body) ?? ''
  const { double, ...others } = numberWriters
  const changes = (write: Parameters<typeof withNumbers>[1]): boolean =>
    numbersOf(text).some((it, at) => write(it, at) !== it)
  const writers = Object.values(others).filter(changes)
  if (jsonOf(body) === undefined || (writers.length === 0 && !changes(double))) return []
  const changed = [double, ...writers].flatMap((write) => otherNumbers(changesOf(text, withNumbers(text, write))))
  return [...changed, ...[(literal: string) => literal, ...writers].flatMap(spellingsWith)]
}

/** How languages write a number that they have parsed. */
const numberWriters = {
  /** JavaScript and Go make a double of it. */
  double: (literal: string) => JSON.stringify(Number(literal)),
  /** Python and many others keep integers, and print floats with a point or an exponent. */
  python(literal: string) {
    if (/^-?\d+$/.test(literal)) return literal.replace(/^-0$/, '0')
    const value = Number(literal)
    const size = Math.abs(value)
    if (size !== 0 && (size >= 1e16 || size < 1e-4))
      return value.toExponential().replace(/([-+])(\d)$/, (_, sign: string, digit: string) => `${sign}0${digit}`)
    return Number.isInteger(value) ? `${Object.is(value, -0) ? '-0' : value}.0` : String(value)
  },
  /** PHP, Ruby and Python, where they make a double of a long integer. */
  exponent: (literal: string) => withExponent(literal, 'e+', 1e15),
  /** Java, where it makes a double of an integer of eight digits and more. */
  java: (literal: string) => withExponent(literal, 'E', 1e7),
} as const

/** Other integers are kept. */
function withExponent(literal: string, mark: string, from: number): string {
  const value = Number(literal)
  if (!Number.isInteger(value) || Math.abs(value) < from) return literal
  const written = value.toExponential().replace('e+', mark)
  return mark === 'E' && !written.includes('.') ? written.replace(mark, `.0${mark}`) : written
}

/** Numbers of a body that are written otherwise, each with what became of it; no mistake where there are none. */
function otherNumbers(changes: ReadonlyMap<string, string>): KnownMistake[] {
  if (changes.size === 0) return []
  const each = Array.from(changes, ([number, other]) => `${number} became ${other}`)
  const shown = [...each.slice(0, mostShown), ...(each.length > mostShown ? ['…'] : [])].join(', ')
  const when = `numbers of the body changed when it was parsed and written again: ${shown}`
  const change = ofText('body', (text) => withNumbers(text, (number) => changes.get(number) ?? number))
  const fix = 'Sign the body exactly as sent: a number that was parsed has lost how it was written'
  return [mistakeOf('data/with-body-numbers', when, change, { requirement: 'signatures/request-body', fix })]
}

/** What became of numbers that kept their value; empty if more than the way of writing changed. */
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
function withLosses(right: Draft, explanation: readonly KnownMistake[]): KnownMistake[] {
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
function guessesAtSecret(key: SigningKey): KnownMistake[] {
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

/** Every millisecond nearby, the nearest first, then whole seconds, then the hours and half hours between time zones. */
function guessesAtTime({ timestamp }: HeaderFields): KnownMistake[] {
  if (!/^\d{10,16}$/.test(timestamp)) return []
  const steps = (count: number, width: number) =>
    Array.from({ length: count }, (_, at) => [(at + 1) * width, -(at + 1) * width]).flat()
  const offsets = [...steps(searchedMs, 1), ...steps(60, 1000), ...steps(28, 1_800_000)]
  return offsets.map((offset) => otherTime(timestamp, offset))
}

function otherTime(timestamp: string, offset: number): KnownMistake {
  const distance = Math.abs(offset) < 1000 ? `${Math.abs(offset)} ms` : `${Math.abs(offset) / 1000} s`
  const isZone = Math.abs(offset) >= 1_800_000
  const when = `the data have a timestamp that is ${distance} ${offset < 0 ? 'before' : 'after'} the one of the header`
  const change = ofText('timestamp', () => String(Number(timestamp) + offset))
  const fix = isZone ? 'Use milliseconds since 1970 in UTC, in the data and in the header alike' : oneTime
  return mistakeOf('data/with-another-timestamp', when, change, { requirement: 'signatures/timestamp', fix })
}

/** A change of the parsed body. */
function ofValue(word: string, when: string, change: (value: JsonObject) => JsonObject): KnownMistake {
  return mistakeOf(`data/${word}`, when, ofBodyValue(change), { requirement: 'signatures/request-body' })
}

const inParams =
  (change: (params: JsonObject) => JsonObject) =>
  (whole: JsonObject): JsonObject => ({
    ...whole,
    params: isObject(whole.params) ? change(whole.params) : (whole.params ?? null),
  })

const namesIn = (value: unknown): string[] => (isObject(value) ? Object.keys(value) : [])

/** Signed before some members were added: any choice of the outer ones, and each one of the params. */
function missingMembers(value: JsonObject): KnownMistake[] {
  const names = Object.keys(value)
  const choices = names.length <= mostOrdered ? subsetsOf(names) : names.slice(0, mostMembers).map((name) => [name])
  const without = (dropped: readonly string[], change: (value: JsonObject) => JsonObject): KnownMistake => {
    const quoted = dropped.map((name) => `"${name}"`).join(', ')
    return ofValue('without-body-member', `the body is signed before ${quoted} is added to it`, change)
  }
  return [
    ...choices
      .filter((dropped) => dropped.length > 0 && dropped.length < names.length)
      .sort((one, other) => one.length - other.length)
      .map((dropped) => without(dropped, (whole) => leaveOut(whole, dropped))),
    ...namesIn(value.params)
      .slice(0, mostMembers)
      .map((name) =>
        without(
          [`params.${name}`],
          inParams((params) => leaveOut(params, [name])),
        ),
      ),
  ]
}

function otherOrders(value: JsonObject): KnownMistake[] {
  const inOrder = (order: string, change: (value: JsonObject) => JsonObject): KnownMistake =>
    ofValue('with-another-member-order', `the body is signed with its members in another order (${order})`, change)
  return [
    ...ordersOf(Object.keys(value)).map((order) => inOrder(order.join(', '), (whole) => reordered(whole, order))),
    ...ordersOf(namesIn(value.params)).map((order) =>
      inOrder(
        `params: ${order.join(', ')}`,
        inParams((params) => reordered(params, order)),
      ),
    ),
  ]
}

function otherIds({ id }: JsonObject): KnownMistake[] {
  if (typeof id !== 'number' || !Number.isInteger(id)) return []
  const near = Array.from({ length: nearIds }, (_, at) => [id - at - 1, id + at + 1]).flat()
  const others = [...new Set([...near, 0, 1])].filter((other) => other !== id)
  return others.map((other) => {
    const when = `the body is signed with the id ${other} and sent with ${id}`
    return ofValue('with-another-id', when, (whole) => ({ ...whole, id: other }))
  })
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
