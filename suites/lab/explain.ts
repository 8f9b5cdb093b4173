/** Explains a signature that is not right by known mistakes. */
import { fromBase64Loose, fromHex, fromLatin1 } from '../engine/signer/bytes.ts'
import { type Draft, draftOf, type HeaderFields, keyBytesOf, type SigningKey } from '../engine/signer/draft.ts'
import { ofKey as keyChange } from '../engine/signer/draft-changes.ts'
import { type KnownMistake, knownMistake, mistakeOf, mistakes } from '../engine/signer/mistakes.ts'
import { isDamaged } from './damage.ts'
import type { DiagnoseInput } from './diagnose-input.ts'
import { guessesAtBody, guessesAtTime, offsetsNearby } from './guesses.ts'
import { differencesOf, draftOfOwnData } from './own-data.ts'
import {
  byComputing,
  fewest,
  pairsOf,
  type Repertoire,
  repertoireOf,
  searchSeveral,
  searchSingles,
  timesOf,
  triplesOf,
} from './search.ts'
import { byVerifying, countEd25519Readings } from './search-ecc.ts'

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
export function explain(input: DiagnoseInput, fields: HeaderFields): Explanations {
  const { keyId, timestamp, nonce, signature } = fields
  const otherKeys = input.otherKeys ?? []
  const keys = otherKeys.map(({ key }) => key)
  const right = draftOf({ ...input, keyId, timestamp, nonce }, keys)
  const guesses = guessesAtBody(input.body)
  const repertoire = repertoireOf(right, {
    before: [...mistakes.filter(({ found, made }) => found && made), ...otherKeys.flatMap(wrongKey)],
    rare: [...mistakes.filter(({ made }) => !made), ...guesses.slice(0, pairedGuesses)],
    alone: guesses.slice(pairedGuesses),
    times: guessesAtTime(fields, offsetsNearby(searchedMs)),
    nearTimes: guessesAtTime(fields, offsetsNearby(nearMs).slice(0, 2 * nearMs)),
  })
  const { before, rare, times, after } = repertoire
  const explanations = search(right, signature, repertoire, () => certainShape(input, fields))
  return {
    explanations: explanations.length > 0 ? explanations : searchInOwnData(input, fields, right, repertoire),
    tried: [...before, ...rare, ...times.slice(0, 1), ...after],
  }
}

/** @param shape what the form of the signature shows; it is tried before the long search */
function search(
  right: Draft,
  signature: string,
  repertoire: Repertoire,
  shape: () => KnownMistake | null,
): KnownMistake[][] {
  const readings = countEd25519Readings(signature)
  const verify = byVerifying(signature)
  // Making an Ed25519 signature takes a hundred times as long as a MAC, so it is done only where verifying cannot decide.
  const compute = byComputing(signature, repertoire.after, ({ draft, made }) =>
    draft.algorithm.kind === 'mac' ? true : draft.key.length === 32 && made.length < (readings > 0 ? 1 : 2),
  )
  // A lost last byte is guessed, which makes many signatures of one: then only ordinary mistakes are tried.
  const simple = { ...repertoire, rare: [], alone: [], times: repertoire.nearTimes, nearTimes: [] }
  const verified = readings === 0 ? [] : searchSingles(right, readings > 2 ? simple : repertoire, verify)
  const singles = fewest([...verified, ...searchSingles(right, repertoire, compute)])
  if (singles.length > 0) return singles
  const byLooks = shape()
  if (byLooks !== null) return [[byLooks]]
  if (right.around.key.kind === 'secret' || readings === 0)
    return searchSeveral([pairsOf, timesOf, triplesOf], right, repertoire, compute)
  return readings > 2 ? [] : searchSeveral([timesOf, pairsOf], right, simple, verify)
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
  const change = keyChange((draft) => (draft.algorithm.kind === kind ? keyBytesOf(key) : null))
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
