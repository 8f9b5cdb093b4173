/** Names the mistake in a refused signature: recomputes it under every known mistake, alone and together. */
import { fromBase64Loose } from '../engine/signer/bytes.ts'
import type { HeaderFields } from '../engine/signer/draft.ts'
import { type KnownMistake, knownMistake } from '../engine/signer/mistakes.ts'
import type { DiagnoseInput } from './diagnose-input.ts'
import { explain } from './explain.ts'
import { readHeader } from './reading.ts'
import { signatureIsRight, verify } from './verify.ts'

export type { DiagnoseInput } from './diagnose-input.ts'

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
