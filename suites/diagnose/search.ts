/** Looks for the mistakes, alone and in pairs, with which a signature comes out as it was received. */

import { sameBytes } from '../engine/signer/bytes.ts'
import { joinPieces } from '../engine/signer/data-to-sign.ts'
import { type Draft, wholeSignature } from '../engine/signer/draft.ts'
import type { KnownMistake } from '../engine/signer/mistake.ts'

/** A draft with the mistakes that were made in it. */
export interface Candidate {
  readonly draft: Draft
  readonly made: readonly KnownMistake[]
  readonly data: Uint8Array
}

/** The mistakes before the bytes of the signature are computed, and those after. */
export interface Repertoire {
  readonly before: readonly KnownMistake[]
  readonly after: readonly KnownMistake[]
}

/** Sorts a list of mistakes into a repertoire; only what can be made in the right draft stays. */
export function repertoireOf(right: Draft, mistakes: readonly KnownMistake[]): Repertoire {
  const possible = mistakes.filter((mistake) => mistake.apply(right) !== null)
  const isAfter = ({ stage }: KnownMistake) => stage === 'cut' || stage === 'encoding'
  return { before: possible.filter((mistake) => !isAfter(mistake)), after: possible.filter(isAfter) }
}

/** The candidates with no mistake, with one and with two of the mistakes before the computation. */
export function* candidatesOf(right: Draft, before: readonly KnownMistake[]): Generator<Candidate> {
  const none: Candidate = { draft: right, made: [], data: joinPieces(right.pieces) }
  yield none
  const singles = before.flatMap((mistake) => with1(none, mistake))
  yield* singles
  for (const [at, first] of singles.entries()) {
    for (const second of singles.slice(at + 1)) yield* pairOf(first, second)
  }
}

/** Both orders where they differ: what is doubled and then changed is not what is changed and then doubled. */
function* pairOf(first: Candidate, second: Candidate): Generator<Candidate> {
  const [a] = first.made
  const [b] = second.made
  if (a === undefined || b === undefined) return
  const [forth] = with1(first, b)
  if (forth !== undefined) yield forth
  if (a.stage !== 'data' || b.stage !== 'data') return
  const [back] = with1(second, a)
  if (back === undefined || (forth !== undefined && sameBytes(forth.data, back.data))) return
  yield { ...back, made: [b, a] }
}

function with1(candidate: Candidate, mistake: KnownMistake): Candidate[] {
  const draft = mistake.apply(candidate.draft)
  if (draft === null) return []
  const data = draft.pieces === candidate.draft.pieces ? candidate.data : joinPieces(draft.pieces)
  return [{ draft, made: [...candidate.made, mistake], data }]
}

/**
 * Every explanation with the fewest mistakes, at most two: what reproduces `received` when the signature is computed.
 * Pairs end the search at the first one that fits.
 */
export function searchByComputing(
  right: Draft,
  received: string,
  { before, after }: Repertoire,
  worthwhile: (candidate: Candidate) => boolean = () => true,
): KnownMistake[][] {
  const found: KnownMistake[][][] = [[], [], []]
  for (const candidate of candidatesOf(right, before)) {
    // All explanations by one mistake are known once the pairs begin.
    if (candidate.made.length === 2 && (found[1]?.length ?? 0) > 0) break
    if (!worthwhile(candidate)) continue
    const whole = wholeSignature(candidate.draft, candidate.data)
    for (const explanation of endings(candidate, whole, received, after)) found[explanation.length]?.push(explanation)
    if (candidate.made.length === 2 && (found[2]?.length ?? 0) > 0) break
  }
  return found.find((explanations) => explanations.length > 0) ?? []
}

/** What is left of two mistakes is made in the cut and the encoding. */
function endings(candidate: Candidate, whole: Uint8Array, received: string, after: readonly KnownMistake[]) {
  const found: KnownMistake[][] = []
  const text = ({ cut, encode }: Draft) => encode(cut(whole))
  if (text(candidate.draft) === received) found.push([...candidate.made])
  if (candidate.made.length === 2) return found
  for (const [at, first] of after.entries()) {
    const one = first.apply(candidate.draft)
    if (one === null) continue
    if (text(one) === received) found.push([...candidate.made, first])
    if (candidate.made.length === 1) continue
    for (const second of after.slice(at + 1)) {
      const two = second.apply(one)
      if (two !== null && text(two) === received) found.push([first, second])
    }
  }
  return found
}
