/** Looks for the mistakes, alone and together, with which a signature comes out as it was received. */

import { sameBytes } from '../engine/signer/bytes.ts'
import { type Draft, joinPieces, type Piece, wholeSignature } from '../engine/signer/draft.ts'
import type { KnownMistake } from '../engine/signer/mistakes.ts'
import { canEndIn, endingsOf } from './endings.ts'
import { areOfDifferentFamilies, isCommon, isFrequent } from './families.ts'

/** A draft with the mistakes that were made in it. */
interface Candidate {
  readonly draft: Draft
  readonly made: readonly KnownMistake[]
  readonly data: Uint8Array
}

/** What is looked for. Only `after` applies after the bytes of the signature are computed. */
export interface Repertoire {
  /** Each alone and with every other one. */
  readonly before: readonly KnownMistake[]
  /** Each alone and with the frequent ones. */
  readonly rare: readonly KnownMistake[]
  /** Each alone. */
  readonly alone: readonly KnownMistake[]
  /** Other times, of which there are many: alone; those nearby with the common ones too. */
  readonly times: readonly KnownMistake[]
  readonly nearTimes: readonly KnownMistake[]
  readonly after: readonly KnownMistake[]
}

/** Sorts lists of mistakes into a repertoire; only what can be made in the right draft stays. */
export function repertoireOf(right: Draft, lists: Omit<Repertoire, 'after'>): Repertoire {
  const isPossible = (mistake: KnownMistake) => mistake.apply(right) !== null
  const isAfter = ({ stage }: KnownMistake) => stage === 'cut' || stage === 'encoding'
  const before = lists.before.filter(isPossible)
  const rare = lists.rare.filter(isPossible)
  return {
    ...lists,
    before: before.filter((mistake) => !isAfter(mistake)),
    rare: rare.filter((mistake) => !isAfter(mistake)),
    after: [...before, ...rare].filter(isAfter),
  }
}

function withNoMistake(right: Draft): Candidate {
  return { draft: right, made: [], data: joinPieces(right.pieces) }
}

/** No mistake, then one. */
function* singlesOf(right: Draft, { before, rare, alone }: Repertoire): Generator<Candidate> {
  const none = withNoMistake(right)
  yield none
  for (const mistake of [...before, ...rare, ...alone]) yield* with1(none, mistake)
}

/** Two of the ordinary mistakes, or a rare one with a frequent one. */
export function* pairsOf(right: Draft, { before, rare }: Repertoire): Generator<Candidate> {
  const none = withNoMistake(right)
  const ordinary = before.flatMap((mistake) => with1(none, mistake))
  for (const [at, first] of ordinary.entries()) {
    for (const second of ordinary.slice(at + 1)) yield* pairOf(right, first, second)
  }
  const frequent = ordinary.filter(({ made }) => made.every(isFrequent))
  for (const first of rare.flatMap((mistake) => with1(none, mistake))) {
    for (const second of frequent) yield* pairOf(right, first, second)
  }
}

/** A time other than the header's, alone and, if it is near, with one common mistake. */
export function* timesOf(right: Draft, { before, times, nearTimes }: Repertoire): Generator<Candidate> {
  const none = withNoMistake(right)
  for (const time of times) yield* with1(none, time)
  const common = before.filter(isCommon)
  for (const near of nearTimes.flatMap((time) => with1(none, time))) {
    for (const mistake of common) yield* with1(near, mistake)
  }
}

/** Three common mistakes, each of a different family. */
export function* triplesOf(right: Draft, { before, rare }: Repertoire): Generator<Candidate> {
  const none = withNoMistake(right)
  const common = [...before, ...rare].filter(isCommon)
  for (const [at, first] of common.entries()) {
    const [one] = with1(none, first)
    if (one === undefined) continue
    for (const [offset, second] of common.slice(at + 1).entries()) {
      if (!areOfDifferentFamilies(first, second)) continue
      const [two] = with1(one, second)
      if (two === undefined) continue
      for (const third of common.slice(at + offset + 2)) {
        if (areOfDifferentFamilies(first, third) && areOfDifferentFamilies(second, third)) yield* with1(two, third)
      }
    }
  }
}

/** Both orders if they differ: doubling and then changing is not the same as changing and then doubling. */
function* pairOf(right: Draft, first: Candidate, second: Candidate): Generator<Candidate> {
  const [a] = first.made
  const [b] = second.made
  if (a === undefined || b === undefined) return
  const merged = mergedPieces(right.pieces, first.draft.pieces, second.draft.pieces)
  if (a.stage === 'data' && b.stage === 'data' && merged !== null) {
    yield { draft: { ...right, pieces: merged }, made: [a, b], data: joinPieces(merged) }
    return
  }
  const [forth] = with1(first, b)
  if (forth !== undefined) yield forth
  if (a.stage !== 'data' || b.stage !== 'data') return
  const [back] = with1(second, a)
  if (back === undefined || (forth !== undefined && sameBytes(forth.data, back.data))) return
  yield { ...back, made: [b, a] }
}

/** The changes of both if they changed different pieces, so that their order does not matter. */
function mergedPieces(
  right: readonly Piece[],
  first: readonly Piece[],
  second: readonly Piece[],
): readonly Piece[] | null {
  if (first.length !== right.length || second.length !== right.length) return null
  const merged = [...first]
  for (const [at, piece] of second.entries()) {
    if (piece === right[at]) continue
    if (first[at] !== right[at]) return null
    merged[at] = piece
  }
  return merged
}

function with1(candidate: Candidate, mistake: KnownMistake): Candidate[] {
  const draft = mistake.apply(candidate.draft)
  if (draft === null) return []
  const data = draft.pieces === candidate.draft.pieces ? candidate.data : joinPieces(draft.pieces)
  return [{ draft, made: [...candidate.made, mistake], data }]
}

/** A way to explain a received signature by a candidate: each explanation is a list of mistakes. */
export type Explain = (candidate: Candidate) => KnownMistake[][]

/** Explains by computing the signature of a candidate; `worthwhile` skips slow candidates that cannot fit. */
export function byComputing(
  received: string,
  after: readonly KnownMistake[],
  worthwhile: (candidate: Candidate) => boolean,
): Explain {
  const isPossible = canEndIn(received)
  return (candidate) => {
    if (!worthwhile(candidate)) return []
    const { draft, made, data } = candidate
    const whole = wholeSignature(draft, data)
    const isLikely = isPossible(whole)
    // An ending that loses information can only be found by trying; there are few of them.
    const isWorthTrying = made.length < 2 && made.every(isFrequent)
    if (!isLikely && !isWorthTrying) return []
    const most = made.length === 0 || isLikely ? 2 : 1
    return endingsOf(draft, whole, received, { after, most }).map((ending) => [...made, ...ending])
  }
}

/** Every explanation with at most one mistake before the computation; only those with the fewest mistakes are kept. */
export function searchSingles(right: Draft, repertoire: Repertoire, explain: Explain): KnownMistake[][] {
  return fewest([...singlesOf(right, repertoire)].flatMap(explain))
}

/** The first explanation by several mistakes, or by another time. */
export function searchSeveral(
  stages: readonly ((right: Draft, repertoire: Repertoire) => Iterable<Candidate>)[],
  right: Draft,
  repertoire: Repertoire,
  explain: Explain,
): KnownMistake[][] {
  for (const candidates of stages) {
    const found = firstOf(candidates(right, repertoire), explain)
    if (found.length > 0) return found
  }
  return []
}

/** The first explanation without a further mistake in the ending, otherwise the first one. */
function firstOf(candidates: Iterable<Candidate>, explain: Explain): KnownMistake[][] {
  let longer: KnownMistake[][] = []
  for (const candidate of candidates) {
    const found = fewest(explain(candidate))
    if (found[0]?.length === candidate.made.length) return found.slice(0, 1)
    if (longer.length === 0) longer = found.slice(0, 1)
  }
  return longer
}

/** Those with as few mistakes as possible. */
export function fewest(explanations: readonly KnownMistake[][]): KnownMistake[][] {
  const least = Math.min(...explanations.map(({ length }) => length))
  return explanations.filter(({ length }) => length === least)
}
