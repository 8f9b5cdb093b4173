/** Names the mistake in a refused signature: recomputes it under every known mistake, alone and in pairs. */
import { fromBase64Loose } from '../engine/signer/bytes.ts'
import type { Draft, SigningKey } from '../engine/signer/draft.ts'
import type { HeaderFields } from '../engine/signer/header.ts'
import { type KnownMistake, keyMistake } from '../engine/signer/mistake.ts'
import { mistakes } from '../engine/signer/mistakes.ts'
import { secretBytes } from '../engine/signer/mistakes-of-key.ts'
import { shapes } from '../engine/signer/mistakes-of-signature.ts'
import { draftOf } from '../engine/signer/sign.ts'
import { isDamaged } from './damage.ts'
import { readHeader } from './reading.ts'
import { type Repertoire, repertoireOf, searchByComputing } from './search.ts'
import { looksLikeEd25519, searchByVerifying } from './search-ecc.ts'
import { signatureIsRight, type VerifyInput, verify } from './verify.ts'

export interface DiagnoseInput extends VerifyInput {
  /** The whole URL that was called; without it a mistake with host, base path or query is hardly found. */
  url?: string | undefined
  /** Other keys that may have been used by accident, each with the name under which to report it. */
  otherKeys?: readonly { name: string; key: SigningKey }[]
}

export interface NamedMistake {
  id: string
  title: string
  /** Id of the requirement that it breaks. */
  requirement: string
  fix: string
}

export interface Diagnosis {
  valid: boolean
  /** Whether `mistakes` account for all that is wrong. */
  explained: boolean
  mistakes: NamedMistake[]
  /** Other single mistakes that make the very same bytes here. */
  alternatives: NamedMistake[]
  /** Ids of the mistakes that were tried, alone and in pairs, and do not explain it. */
  ruledOut: string[]
}

/** Mistakes that take the whole URL. */
const needsUrl = ['data/with-full-url', 'data/with-host-and-path', 'data/with-base-path']

/** What is wrong with a header. Pure and synchronous; under 300 ms for an HMAC and an ordinary body. */
export function diagnose(input: DiagnoseInput): Diagnosis {
  if (verify(input).valid) return { valid: true, explained: true, mistakes: [], alternatives: [], ruledOut: [] }
  const reading = readHeader(input.header, input)
  if (reading.fields === null) return explained(input, reading.mistakes)
  if (signatureIsRight(input, reading.fields)) return explained(input, reading.mistakes)
  const { explanations, tried } = search(input, reading.fields)
  const [likeliest, ...others] = explanations
  if (likeliest !== undefined) return explained(input, together(reading.mistakes, likeliest), others)
  const shape = shapeOf(input, reading.fields)
  if (shape !== null) return explained(input, [...reading.mistakes, shape])
  return {
    valid: false,
    explained: false,
    mistakes: named(input, reading.mistakes),
    alternatives: [],
    // Without the URL only a guess was tried, which rules nothing out.
    ruledOut: tried.map(({ id }) => id).filter((id) => input.url !== undefined || !needsUrl.includes(id)),
  }
}

/** What was read off the header and what was found by computing, each thing said once. */
function together(read: readonly KnownMistake[], computed: readonly KnownMistake[]): KnownMistake[] {
  const ofUnits = computed.some(({ id }) => id === 'data/with-timestamp-in-milliseconds')
  return [...read.filter(({ id }) => !ofUnits || !id.startsWith('fields/timestamp-in-')), ...computed]
}

function search(input: DiagnoseInput, fields: HeaderFields) {
  const { keyId, timestamp, nonce, signature } = fields
  const otherKeys = input.otherKeys ?? []
  const right = draftOf(
    { ...input, keyId, timestamp, nonce },
    otherKeys.map(({ key }) => key),
  )
  const tried = [...mistakes.filter(({ found }) => found), ...otherKeys.flatMap(wrongKey)]
  const repertoire = repertoireOf(right, tried)
  return { explanations: explain(right, signature, repertoire), tried: [...repertoire.before, ...repertoire.after] }
}

function explain(right: Draft, signature: string, repertoire: Repertoire): KnownMistake[][] {
  const ecc = looksLikeEd25519(signature)
  const byVerifying = ecc ? searchByVerifying(right, signature, repertoire.before) : []
  if (byVerifying[0]?.length === 1) return byVerifying
  // To make an Ed25519 signature takes fifty times as long as a MAC: done only for what cannot be checked by verifying.
  const byComputing = searchByComputing(right, signature, repertoire, ({ draft, made }) =>
    draft.algorithm.kind === 'mac' ? true : draft.key.length === 32 && made.length < (ecc ? 1 : 2),
  )
  const count = (found: KnownMistake[][]) => found[0]?.length ?? Number.POSITIVE_INFINITY
  return count(byVerifying) < count(byComputing) ? byVerifying : byComputing
}

/** One mistake per other key that was given. */
function wrongKey({ name, key }: { name: string; key: SigningKey }): KnownMistake[] {
  if (key.kind === 'ed25519-public') return []
  const said = {
    id: 'key/another-key',
    title: `Another key was used: ${name}`,
    requirement: 'signatures/key-id',
    fix: 'Sign with the key that the first field of the header names',
    when: 'another key is used',
  }
  const kind = key.kind === 'secret' ? 'mac' : 'ed25519'
  const bytes = key.kind === 'secret' ? secretBytes(key.secret) : key.seed
  return [keyMistake(said, (draft) => (draft.algorithm.kind === kind ? bytes : null))]
}

function shapeOf({ key, ...input }: DiagnoseInput, fields: HeaderFields): KnownMistake | null {
  const bytes = fromBase64Loose(fields.signature)
  if (key.kind === 'secret' && bytes?.length === 64) return shapes.eccForHmac
  if (key.kind !== 'secret' && (bytes?.length === 20 || bytes?.length === 32)) return shapes.hmacForEcc
  return isDamaged({ key, ...input }, fields) ? shapes.damaged : null
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

/** The mistakes as reported; what both kinds of key share is said with the requirement of the kind at hand. */
function named({ key }: DiagnoseInput, found: readonly KnownMistake[]): NamedMistake[] {
  return found.map(({ id, title, requirement, fix }) => ({
    id,
    title,
    requirement: key.kind === 'secret' ? requirement : (forEcc[requirement] ?? requirement),
    fix,
  }))
}
