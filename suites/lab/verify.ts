/**
 * Checks a header stage by stage, as a server does, and reads what is wrong with how it is written, or with the caller's own data to sign.
 */
import { counted } from '../engine/group.ts'
import { defined } from '../engine/json.ts'
import type { loadVectors } from '../engine/language/vectors.ts'
import { fromBase64Strict, fromLatin1, sameBytes } from '../engine/signer/bytes.ts'
import {
  draftOf,
  type HeaderFields,
  joinPieces,
  piecesOf,
  type SigningKey,
  signDraft,
  splitHeader,
  version,
} from '../engine/signer/draft.ts'
import { ofData } from '../engine/signer/draft-changes.ts'
import { ed25519Verify, publicKeyOfSeed, signatureBytes } from '../engine/signer/ed25519.ts'
import { macBytesSent } from '../engine/signer/hmac.ts'
import { type KnownMistake, knownMistake, mistakeOf } from '../engine/signer/mistakes.ts'

export interface VerifyInput {
  /** The value of the Authorization header. */
  header: string
  key: SigningKey
  scheme: string
  /** Where known: the id that the header must name. */
  keyId?: string | undefined
  method: string
  uri: string
  body: Uint8Array
  /** The data to sign, as the caller computed them. */
  callersData?: Uint8Array | undefined
}

interface Stage {
  name: ReturnType<typeof loadVectors>['invalid'][number]['fails-at'] | 'data-to-sign'
  ok: boolean
  expected?: string
  received?: string
}

/** Checks every stage of a header, in order; those that depend on a failed one are left out. Never throws: each mistake in the header is a stage that is not ok. */
export function verify(input: VerifyInput) {
  const { scheme, fields: raw } = splitHeader(input.header)
  const [keyId = '', second = '', timestamp = '', nonce = '', signature = ''] = raw
  const stages: Stage[] = [
    compare('scheme', input.scheme, scheme),
    stage('fields', raw.length === 5, '5 fields', counted(raw.length, 'field')),
    ...(raw.length === 5 ? fieldStages(input, { keyId, version: second, timestamp, nonce, signature }) : []),
  ]
  return { valid: stages.every(({ ok }) => ok), stages }
}

/** Whether the signature is right for the other fields of the header. */
export function signatureIsRight(input: VerifyInput, fields: HeaderFields): boolean {
  return signatureStages(input, fields).every(({ ok }) => ok)
}

function fieldStages(input: VerifyInput, fields: HeaderFields): Stage[] {
  const { keyId, callersData } = input
  const { timestamp, nonce } = fields
  return [
    compare('version', version, fields.version),
    ...(keyId === undefined ? [] : [compare('key-id', keyId, fields.keyId)]),
    stage('timestamp', timestampMistake(timestamp) === null, 'milliseconds, 13 digits today', timestamp),
    stage('nonce', nonce !== '', 'a nonce', ''),
    ...(callersData === undefined ? [] : [dataStage(dataToSign(input, fields), callersData)]),
    ...signatureStages(input, fields),
  ]
}

function signatureStages(input: VerifyInput, fields: HeaderFields): Stage[] {
  const { key } = input
  const received = fields.signature
  const right = key.kind === 'ed25519-public' ? null : signDraft(draftOf({ ...input, ...fields })).signature
  const bytes = fromBase64Strict(received)
  if (bytes === null) return [stage('encoding', false, right ?? 'padded BASE64', received)]
  const length = key.kind === 'secret' ? macBytesSent : signatureBytes
  const stages = [
    stage('encoding', true),
    stage('length', bytes.length === length, `${length} bytes`, `${bytes.length} bytes`),
  ]
  if (bytes.length !== length) return stages
  const fits = key.kind === 'secret' ? received === right : ed25519Fits(key, dataToSign(input, fields), bytes)
  return [...stages, stage('signature', fits, right ?? 'a signature by the private key of this public key', received)]
}

/** Whether a signature is made over these bytes with the private key of this pair; never with a secret. */
function ed25519Fits(key: SigningKey, data: Uint8Array, signature: Uint8Array): boolean {
  if (key.kind === 'secret') return false
  return ed25519Verify(key.kind === 'ed25519' ? publicKeyOfSeed(key.seed) : key.publicKey, data, signature)
}

/** The right data for the header and the request. */
function dataToSign({ method, uri, body }: VerifyInput, { timestamp, nonce }: HeaderFields): Uint8Array {
  return joinPieces(piecesOf({ timestamp, nonce, method, uri, body }))
}

function dataStage(expected: Uint8Array, callers: Uint8Array): Stage {
  if (sameBytes(expected, callers)) return stage('data-to-sign', true)
  const { line, column, ...bytes } = firstDifference(expected, callers)
  return stage('data-to-sign', false, `${bytes.expected} at line ${line}, byte ${column}`, bytes.received)
}

const compare = (name: Stage['name'], expected: string, received: string): Stage =>
  stage(name, expected === received, expected, received)

const stage = (name: Stage['name'], ok: boolean, expected = '', received = ''): Stage =>
  ok ? { name, ok } : { name, ok, expected, received }

// ---- a header read leniently: its five fields, and what is wrong with how they are written

interface Reading {
  /** The recognised fields; null if there are not five. */
  fields: HeaderFields | null
  /** What is wrong with the header itself. */
  mistakes: KnownMistake[]
}

/** The fields that a header means, and its own mistakes. Never throws. */
export function readHeader({ header, ...expected }: Pick<VerifyInput, 'header' | 'scheme' | 'keyId'>): Reading {
  const { scheme, fields: raw } = splitHeader(header)
  const { fields, mistakes } = meantFields(raw)
  if (scheme !== expected.scheme)
    mistakes.unshift(knownMistake(scheme === '' ? 'fields/without-scheme' : 'fields/other-scheme'))
  if (fields === null) return { fields, mistakes }
  if (fields.version !== version) mistakes.push(knownMistake('fields/other-version'))
  if (expected.keyId !== undefined && fields.keyId !== expected.keyId)
    mistakes.push(knownMistake('fields/other-key-id'))
  const ofTimestamp = timestampMistake(fields.timestamp)
  if (ofTimestamp !== null) mistakes.push(ofTimestamp)
  if (fields.nonce === '') mistakes.push(knownMistake('fields/empty-nonce'))
  return { fields, mistakes }
}

/** What is wrong with a timestamp, if anything: it is not an integer, or is a plausible time in another unit. */
function timestampMistake(timestamp: string): KnownMistake | null {
  if (!/^\d+$/.test(timestamp)) return knownMistake('fields/timestamp-no-integer')
  // 2001 to 2286 in seconds have 10 digits, in microseconds 16; a small number such as 0 is merely long ago.
  if (timestamp.length === 10) return knownMistake('fields/timestamp-in-seconds')
  return timestamp.length === 16 ? knownMistake('fields/timestamp-in-microseconds') : null
}

function meantFields(raw: readonly string[]): Reading {
  if (raw.length === 1) {
    const [text = ''] = raw
    const [mark, word] = text.split(',').length >= 4 ? [',', 'commas'] : [':', 'colons']
    const parts = text.split(mark)
    if (parts.length >= 4) return withMistake(meantFields(parts), knownMistake(`fields/with-${word}`))
  }
  const trimmed = raw.map((field) => field.trim())
  if (trimmed.some((field, at) => field !== raw[at]))
    return withMistake(meantFields(trimmed), knownMistake('fields/with-spaces'))
  if (raw.length === 5) return inOrder(raw)
  if (raw.length > 5) return withMistake(meantFields(raw.slice(0, 5)), knownMistake('fields/one-too-many'))
  // Four fields: the version is what is forgotten most often.
  if (raw.length === 4 && raw[1] !== version) {
    return withMistake(meantFields([raw[0] ?? '', version, ...raw.slice(1)]), knownMistake('fields/one-too-few'))
  }
  return { fields: null, mistakes: [knownMistake('fields/one-too-few')] }
}

/** Five fields in any order: a timestamp and the version are recognised by their form. */
function inOrder(raw: readonly string[]): Reading {
  const [keyId = '', second = '', timestamp = '', nonce = '', signature = ''] = raw
  const asSent = { keyId, version: second, timestamp, nonce, signature }
  const time = raw.findIndex((field) => /^\d{10}(\d{3}){0,2}$/.test(field))
  const one = raw.indexOf(version)
  if (time < 0 || one < 0 || (time === 2 && one === 1)) return { fields: asSent, mistakes: [] }
  const [first = '', middle = '', last = ''] = raw.filter((_, at) => at !== time && at !== one)
  const fields = { keyId: first, version, timestamp: raw[time] ?? '', nonce: middle, signature: last }
  return { fields, mistakes: [knownMistake('fields/in-another-order')] }
}

function withMistake(reading: Reading, mistake: KnownMistake): Reading {
  return { fields: reading.fields, mistakes: [mistake, ...reading.mistakes] }
}

// ---- the first byte in which two byte arrays differ

interface Difference {
  /** Counted from 1, in the received bytes. */
  line: number
  column: number
  /** What is there: `"a" (61)`, `LF (0a)` or `the end of the data`. */
  expected: string
  received: string
}

/** Where `received` first differs from `expected`; they must differ. Columns count bytes. */
function firstDifference(expected: Uint8Array, received: Uint8Array): Difference {
  const first = expected.findIndex((byte, at) => byte !== received[at])
  const at = first < 0 ? expected.length : first
  return differenceAt(expected, at, received, at)
}

/**
 * Where `received` first differs from `expected` if white space between the tokens of JSON does not count. Null where only white space
 * differs, or none before this place. The words are those around it.
 */
function firstDifferenceInContent(
  expected: Uint8Array,
  received: Uint8Array,
): (Difference & { words: [expected: string, received: string] }) | null {
  let [at, there, inText] = [0, 0, false]
  for (;;) {
    if (!inText) {
      while (isWhiteSpace(expected[at])) at += 1
      while (isWhiteSpace(received[there])) there += 1
    }
    const byte = expected[at]
    if (byte !== received[there]) break
    if (byte === undefined) return null
    if (byte === 0x22) inText = !inText
    // The mark behind a backslash ends no text.
    const step = inText && byte === 0x5c && expected[at + 1] === received[there + 1] ? 2 : 1
    at += step
    there += step
  }
  if (at === there && sameBytes(expected.subarray(0, at), received.subarray(0, there))) return null
  return { ...differenceAt(expected, at, received, there), words: [wordAt(expected, at), wordAt(received, there)] }
}

const isWhiteSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d

/** The name, number or letters around a byte. */
function wordAt(bytes: Uint8Array, at: number): string {
  const text = fromLatin1(bytes)
  const before = /[\w.+-]*$/.exec(text.slice(0, at))?.[0] ?? ''
  const after = /^[\w.+-]*/.exec(text.slice(at))?.[0] ?? ''
  return before + after
}

function differenceAt(expected: Uint8Array, at: number, received: Uint8Array, there: number): Difference {
  let line = 1
  let column = 1
  for (const byte of received.subarray(0, there)) {
    column = byte === 0x0a ? 1 : column + 1
    if (byte === 0x0a) line += 1
  }
  return { line, column, expected: describe(expected, at), received: describe(received, there) }
}

function describe(bytes: Uint8Array, at: number): string {
  const byte = bytes[at]
  if (byte === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) return 'a byte order mark (ef bb bf)'
  return byte === undefined ? 'the end of the data' : `${nameOf(byte)} (${byte.toString(16).padStart(2, '0')})`
}

function nameOf(byte: number): string {
  if (byte === 0x0a) return 'LF'
  if (byte === 0x0d) return 'CR'
  if (byte === 0x09) return 'TAB'
  if (byte === 0x20) return 'a space'
  return byte > 0x20 && byte < 0x7f ? `"${String.fromCharCode(byte)}"` : 'a byte beyond printable ASCII'
}

/**
 * How the caller's own data relate to the right ones; null if the caller gave none, or the header has no timestamp and nonce.
 *
 * @returns `isSigned`: whether the signature is made over them, with this key and without another mistake; `sentences`: for people
 */
export function judgeOwnData(input: VerifyInput) {
  const { callersData } = input
  const { fields } = readHeader(input)
  if (callersData === undefined || fields === null) return null
  const right = dataToSign(input, fields)
  const isSigned = signatureFits(input, fields, callersData)
  const fit = isSigned
    ? 'the signature is made over your data'
    : 'the signature is not made over your data with this key'
  if (sameBytes(right, callersData))
    return { isRight: true, isSigned, sentences: [`Your data to sign are right; ${fit}`] }
  const first = firstDifference(right, callersData)
  const inContent = firstDifferenceInContent(right, callersData)
  const { line, column, expected, received } = inContent ?? first
  const words = inContent?.words.every((word) => word !== '') === true ? inContent.words : undefined
  const apart = differencesOf(input, fields, callersData).filter(({ id }) => id !== 'data/with-other-data')
  const sentences = [
    `Your data to sign differ${inContent === null ? '' : ' in content'} at line ${line}, byte ${column}: expected ${expected}, found ${received}${words === undefined ? '' : ` ("${words[1]}" for "${words[0]}")`}; ${fit}`,
    ...(inContent === null ? [] : [`White space differs from line ${first.line}, byte ${first.column} on`]),
    ...apart.map(({ title }) => title),
  ]
  return { isRight: false, isSigned, sentences }
}

/** Which parts of the caller's own data are not those of the request and the header; one mistake for each. */
export function differencesOf(input: VerifyInput, fields: HeaderFields, data: Uint8Array): KnownMistake[] {
  const own = partsOf(data)
  if (own === null)
    return [otherPart('data', 'signatures/data-to-sign', 'other data are signed than those of this request')]
  const both = (name: 'timestamp' | 'nonce'): string =>
    `header and data have different ${name}s: "${fields[name]}" in the header, "${own[name]}" in the data`
  const method = input.method.toUpperCase()
  const body = `a body of ${own.body.length} bytes that is not the one of this request, of ${input.body.length} bytes`
  const parts: readonly [part: keyof typeof own, right: string, requirement: string, when: string][] = [
    ['timestamp', fields.timestamp, 'signatures/timestamp', both('timestamp')],
    ['nonce', fields.nonce, 'signatures/nonce', both('nonce')],
    ['method', method, 'signatures/request-method', `the data have the method "${own.method}" instead of "${method}"`],
    ['uri', input.uri, 'signatures/request-uri', `the data have the URI "${own.uri}" instead of "${input.uri}"`],
    ['body', fromLatin1(input.body), 'signatures/request-body', `the data have ${body}`],
  ]
  return parts.flatMap(([part, right, requirement, when]) =>
    own[part] === right ? [] : [otherPart(part, requirement, when)],
  )
}

/** For the others the fix of the requirement serves. */
const fixes: { [part: string]: string } = {
  timestamp: 'Read the clock once for each request, and put this timestamp into the data and into the header',
  nonce: 'Make the nonce once for each request, and put it into the data and into the header',
}

function otherPart(part: string, requirement: string, when: string): KnownMistake {
  const change = ofData(() => null)
  return mistakeOf(`data/with-other-${part}`, when, change, { requirement, ...defined({ fix: fixes[part] }) })
}

/** The parts of data that have the right form, one character for each byte. */
function partsOf(data: Uint8Array) {
  const found = /^([^;\n]*);([^;\n]*);([^\n]*)\n([^\n]*)\n([\s\S]*)\n$/.exec(fromLatin1(data))
  if (found === null) return null
  const [, timestamp = '', nonce = '', method = '', uri = '', body = ''] = found
  return { timestamp, nonce, method, uri, body }
}

function signatureFits(input: VerifyInput, { signature }: HeaderFields, data: Uint8Array): boolean {
  const { key } = input
  if (key.kind === 'secret') {
    const draft = draftOf({ ...input, keyId: '', timestamp: '', nonce: '' })
    return signDraft({ ...draft, pieces: [{ origin: 'other', bytes: data }] }).signature === signature
  }
  const bytes = fromBase64Strict(signature)
  return bytes !== null && ed25519Fits(key, data, bytes)
}
