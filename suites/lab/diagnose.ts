/** Names the mistake in a refused signature: recomputes it under every known mistake, alone and together. */
import { editDistance } from '../engine/edit-distance.ts'
import { fromBase64Loose, fromHex, fromLatin1 } from '../engine/signer/bytes.ts'
import {
  type Draft,
  draftOf,
  type HeaderFields,
  keyBytesOf,
  type SigningKey,
  signDraft,
} from '../engine/signer/draft.ts'
import { ofKey } from '../engine/signer/draft-changes.ts'
import { signatureBytes } from '../engine/signer/ed25519.ts'
import { type KnownMistake, knownMistake, mistakeOf, mistakes } from '../engine/signer/mistakes.ts'
import {
  guessesAtBody,
  guessesAtFile,
  guessesAtNumbers,
  guessesAtSecret,
  guessesAtTime,
  offsetsNearby,
  withLosses,
} from './guesses.ts'
import { differencesOf, draftOfOwnData, judgeOwnData } from './own-data.ts'
import { type Repertoire, repertoireOf, search } from './search.ts'
import { readHeader, signatureIsRight, type VerifyInput, verify } from './verify.ts'

export interface DiagnoseInput extends VerifyInput {
  /** The whole URL that was called; without it, mistakes with host, base path or query are rarely found. */
  url?: string | undefined
  /** The file of which the body was made, where its sender drops line feeds on the way (`curl -d @FILE`). */
  bodyFile?: Uint8Array | undefined
  /** Other keys that may have been used by accident, each with the name under which to report it. */
  otherKeys?: readonly { name: string; key: SigningKey }[]
}

export type NamedMistake = Pick<KnownMistake, 'id' | 'title' | 'requirement' | 'fix'>

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
  const reading = readHeader(input.header, input)
  if (reading.fields === null) return explained(input, reading.mistakes)
  if (signatureIsRight(input, reading.fields)) return explained(input, reading.mistakes)
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

function explained(
  input: DiagnoseInput,
  found: readonly KnownMistake[],
  others: readonly KnownMistake[][] = [],
): Diagnosis {
  const alternatives = others.flatMap((other) => (other.length === 1 ? other : []))
  return {
    valid: false,
    explained: true,
    mistakes: named(input, found),
    alternatives: named(input, alternatives),
    ruledOut: [],
  }
}

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

interface Explanations {
  /** Likeliest first, each a list of mistakes that were made together; empty where nothing known fits. */
  explanations: KnownMistake[][]
  /** Everything that was looked for. */
  tried: KnownMistake[]
}

/** The known mistakes that reproduce the signature of these fields. */
function explain(input: DiagnoseInput, fields: HeaderFields): Explanations {
  const { signature } = fields
  const otherKeys = input.otherKeys ?? []
  const keys = otherKeys.map(({ key }) => key)
  const right = draftOf({ ...input, ...fields }, keys)
  const guesses = guessesAtBody(input.body)
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
    times: guessesAtTime(fields, offsetsNearby(searchedMs)),
    nearTimes: guessesAtTime(fields, offsetsNearby(nearMs).slice(0, 2 * nearMs)),
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
  const once = new Map(
    explanations.toReversed().map((mistakes) => [mistakes.map(({ title }) => title).join(), mistakes]),
  )
  return explanations
    .filter((mistakes) => once.get(mistakes.map(({ title }) => title).join()) === mistakes)
    .sort((one, other) => one.length - other.length)
}

/** The message behind an ED25519 signature: these are the data that were signed, whatever they are. */
function attachedData({ key }: DiagnoseInput, signature: string): Uint8Array | undefined {
  const bytes = key.kind === 'secret' ? null : fromBase64Loose(signature)
  return bytes !== null && bytes.length > signatureBytes + 1 ? bytes.slice(signatureBytes) : undefined
}

/** If the caller's own data were signed: how they differ from the right data, and which further mistakes were made. */
function searchInOwnData(
  input: DiagnoseInput,
  fields: HeaderFields,
  right: Draft,
  repertoire: Repertoire,
): KnownMistake[][] {
  const { callersData } = input
  if (callersData === undefined) return []
  const isBehindData = ({ stage }: KnownMistake) => stage !== 'data'
  const { before, rare, after } = repertoire
  const onTop = { before: before.filter(isBehindData), rare: rare.filter(isBehindData), after }
  const own = draftOfOwnData(right, callersData)
  const found = search(own, fields.signature, { ...onTop, alone: [], times: [], nearTimes: [] }, () => null)
  const differences = differencesOf(input, fields, callersData)
  return differences.length === 0 ? [] : found.slice(0, 1).map((mistakes) => [...differences, ...mistakes])
}

/** One mistake per other key that was given. */
function wrongKey({ name, key }: { name: string; key: SigningKey }): KnownMistake[] {
  if (key.kind === 'ed25519-public') return []
  const kind = key.kind === 'secret' ? 'mac' : 'ed25519'
  const change = ofKey((draft) => (draft.algorithm.kind === kind ? keyBytesOf(key) : null))
  const fix = 'Sign with the key that the first field of the header names'
  return [
    mistakeOf('key/another-key', `another key is used: ${name}`, change, { requirement: 'signatures/key-id', fix }),
  ]
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
export type NextStep = 'check-empty-body' | 'give-own-data' | 'mend-own-data' | 'compare-key' | 'give-url'

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
