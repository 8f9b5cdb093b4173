/** Looks for the mistakes, alone and together, with which a signature comes out as it was received. */
import {
  concat,
  fromBase64Loose,
  fromHex,
  fromLatin1,
  fromUtf8,
  latin1,
  percentDecoded,
  sameBytes,
  toBase64,
} from '../engine/signer/bytes.ts'
import { type Draft, joinPieces, type Piece, wholeSignature } from '../engine/signer/draft.ts'
import { ed25519Matcher, publicKeyOfSeed, withLowS } from '../engine/signer/ed25519.ts'
import { type KnownMistake, knownMistake, mistakeById, spellingIds } from '../engine/signer/mistakes.ts'

/** A draft with the mistakes that were made in it. */
interface Candidate {
  readonly draft: Draft
  readonly made: readonly KnownMistake[]
  readonly data: Uint8Array
}

/** What is looked for. Only `after` applies after the bytes of the signature are computed. */
interface Repertoire {
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

/**
 * Explanations of a signature, likeliest first, each a list of mistakes that were made together.
 *
 * @param shape what the form of the signature shows; it is tried before the long search
 */
export function search(
  right: Draft,
  signature: string,
  repertoire: Repertoire,
  shape: () => KnownMistake | null,
): KnownMistake[][] {
  const none: Candidate = { draft: right, made: [], data: joinPieces(right.pieces) }
  const decoded = signaturesIn(signature)
  const readings = decoded.length
  const verify = byVerifying(signature, decoded, repertoire.after)
  // Making an Ed25519 signature takes a hundred times as long as a MAC, so it is done only where verifying cannot decide.
  const compute = byComputing(signature, repertoire.after, readings > 0 ? 0 : 1)
  // A lost last byte is guessed, which makes many signatures of one: then only ordinary mistakes are tried.
  const simple = { ...repertoire, rare: [], alone: [], times: repertoire.nearTimes, nearTimes: [] }
  const verified = readings === 0 ? [] : [...singlesOf(none, readings > 2 ? simple : repertoire)].flatMap(verify)
  const singles = fewest([...verified, ...[...singlesOf(none, repertoire)].flatMap(compute)])
  if (singles.length > 0) return singles
  const byLooks = shape()
  if (byLooks !== null) return [[byLooks]]
  if (right.around.key.kind === 'secret' || readings === 0)
    return firstOf(
      [pairsOf, timesOf, triplesOf, bodiesOf].map((list) => list(none, repertoire)),
      compute,
    )
  return readings > 2 ? [] : firstOf([timesOf(none, simple), pairsOf(none, simple)], verify)
}

/** No mistake, then one. */
function* singlesOf(none: Candidate, { before, rare, alone }: Repertoire): Generator<Candidate> {
  yield none
  for (const mistake of [...before, ...rare, ...alone]) yield* with1(none, mistake)
}

/** Two ordinary mistakes; a rare one with a frequent one; one in the body with one around it; or a body that is written again and then changed. */
function* pairsOf(none: Candidate, { before, rare }: Repertoire): Generator<Candidate> {
  const ordinary = before.flatMap((mistake) => with1(none, mistake))
  for (const [at, first] of ordinary.entries()) {
    for (const second of ordinary.slice(at + 1)) yield* pairOf(none, first, second)
  }
  const unusual = rare.flatMap((mistake) => with1(none, mistake))
  const frequent = ordinary.filter(({ made }) => made.every(isFrequent))
  for (const first of unusual) {
    for (const second of frequent) yield* pairOf(none, first, second)
  }
  const others = [...ordinary.filter((one) => !frequent.includes(one)), ...unusual]
  for (const [at, first] of others.entries()) {
    for (const second of others.slice(at + 1))
      if (!ordinary.includes(second) && goTogether(first, second)) yield* pairOf(none, first, second)
  }
}

/** Longer bodies are tried in fewer forms, because it would take seconds. In bytes. */
const longBody = 4096

/** The body written again and then changed once more, with a mistake in what stands around it. */
function* bodiesOf(none: Candidate, { before, rare }: Repertoire): Generator<Candidate> {
  if (none.draft.algorithm.kind !== 'mac' || none.data.length > longBody) return
  const singles = [...before, ...rare].flatMap((mistake) => with1(none, mistake))
  const changes = singles.filter(isOfBody)
  const later = changes.flatMap(({ made }) => made.filter(isLater))
  // With another scheme too there would be twice as many.
  const around = singles.filter((one) => isAroundBody(one) && !one.made.some(isOfScheme))
  const bodies = new Set(changes.map(({ data }) => fromLatin1(data)))
  for (const written of changes.filter(isSpelling)) {
    for (const twice of later.flatMap((change) => with1(written, change))) {
      const text = fromLatin1(twice.data)
      if (bodies.has(text)) continue
      bodies.add(text)
      for (const one of around) yield* pairOf(none, twice, one)
    }
  }
}

/** A time other than the header's, alone and, if it is near, with one common mistake. */
function* timesOf(none: Candidate, { before, times, nearTimes }: Repertoire): Generator<Candidate> {
  for (const time of times) yield* with1(none, time)
  const common = before.filter(isCommon)
  for (const near of nearTimes.flatMap((time) => with1(none, time))) {
    for (const mistake of common) yield* with1(near, mistake)
  }
}

/** Three common mistakes, each of a different family. */
function* triplesOf(none: Candidate, { before, rare }: Repertoire): Generator<Candidate> {
  const common = [...before, ...rare].filter(isCommon)
  for (const [at, first] of common.entries()) {
    const others = common.slice(at + 1).filter((other) => areOfDifferentFamilies(first, other))
    for (const one of with1(none, first))
      for (const [place, second] of others.entries())
        for (const two of with1(one, second))
          for (const third of others.slice(place + 1))
            if (areOfDifferentFamilies(second, third)) yield* with1(two, third)
  }
}

/** Both orders if they differ: doubling and then changing is not the same as changing and then doubling. */
function* pairOf({ draft: right }: Candidate, first: Candidate, second: Candidate): Generator<Candidate> {
  const isOfData = [...first.made, ...second.made].every(({ stage }) => stage === 'data')
  const merged = isOfData ? mergedPieces(right.pieces, first.draft.pieces, second.draft.pieces) : null
  if (merged !== null) {
    yield { draft: { ...right, pieces: merged }, made: [...first.made, ...second.made], data: joinPieces(merged) }
    return
  }
  const [forth] = withAll(first, second.made)
  if (forth !== undefined) yield forth
  if (!isOfData) return
  const [back] = withAll(second, first.made)
  if (back !== undefined && (forth === undefined || !sameBytes(forth.data, back.data))) yield back
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

const withAll = (candidate: Candidate, mistakes: readonly KnownMistake[]): Candidate[] =>
  mistakes.reduce((made, mistake) => made.flatMap((one) => with1(one, mistake)), [candidate])

/** A way to explain a received signature by a candidate: each explanation is a list of mistakes. */
type Explain = (candidate: Candidate) => KnownMistake[][]

/** Explains by computing the signature of a candidate. @param mostBeforeEd25519 with more mistakes, no Ed25519 signature is made */
function byComputing(received: string, after: readonly KnownMistake[], mostBeforeEd25519: number): Explain {
  const isPossible = canEndIn(received)
  return ({ draft, made, data }) => {
    if (draft.algorithm.kind !== 'mac' && (draft.key.length !== 32 || made.length > mostBeforeEd25519)) return []
    const whole = wholeSignature(draft, data)
    const isLikely = isPossible(whole)
    // An ending that loses information can only be found by trying; there are few of them.
    const isWorthTrying = made.length < 2 && made.every(isFrequent)
    if (!isLikely && !isWorthTrying) return []
    const most = made.length === 0 || isLikely ? 2 : 1
    return endingsOf(draft, whole, received, { after, most }).map((ending) => [...made, ...ending])
  }
}

/** At most one explanation, from the first list that has any. One that needs no further mistake in the ending is preferred. */
function firstOf(lists: readonly Iterable<Candidate>[], explain: Explain): KnownMistake[][] {
  for (const candidates of lists) {
    let longer: KnownMistake[][] = []
    for (const candidate of candidates) {
      const found = fewest(explain(candidate))
      if (found[0]?.length === candidate.made.length) return found.slice(0, 1)
      if (longer.length === 0) longer = found.slice(0, 1)
    }
    if (longer.length > 0) return longer
  }
  return []
}

/** Those with as few mistakes as possible. */
function fewest(explanations: readonly KnownMistake[][]): KnownMistake[][] {
  const least = Math.min(...explanations.map(({ length }) => length))
  return explanations.filter(({ length }) => length === least)
}

// ---- which mistakes are made most often

/**
 * The mistakes that are made most often, by what they touch: three of them at once are looked for, one of each family. The first two of a
 * family are also looked for together with rare mistakes.
 */

const ofData: readonly (readonly string[])[] = [
  ['without-final-newline', 'with-crlf', 'without-line-feeds', 'with-doubled-newline'],
  ['with-lowercase-method', 'without-method'],
  ['with-full-url', 'with-base-path', 'with-path-without-slash', 'with-trailing-slash', 'without-uri'],
  ['with-nonce-without-padding', 'with-padded-nonce', 'with-decoded-nonce', 'with-nonce-as-python-bytes'],
  ['with-timestamp-in-seconds', 'with-timestamp-as-float', 'with-timestamp-in-milliseconds'],
  ['with-commas', 'with-colons', 'with-newlines-for-semicolons', 'without-separators'],
  ['with-body-compact', 'with-body-spaced', 'with-body-python-escapes', 'with-body-sorted', 'with-empty-body'],
]

const ofKeys = ['hex-decoded', 'base64-decoded', 'with-newline', 'hashed']
const ofAlgorithms = ['sha1', 'sha512', 'arguments-swapped', 'plain-hash', 'hmac-over-hash', 'cut-hex']

const families = [
  ...ofData.map((words) => words.map((word) => `data/${word}`)),
  ofKeys.map((word) => `key/${word}`),
  ofAlgorithms.map((word) => `signature/${word}`),
]
const familyOf = new Map(families.flatMap((ids, family) => ids.map((id): [string, number] => [id, family])))
const frequent = new Set(families.flatMap((ids) => ids.slice(0, 2)))

const isCommon = ({ id }: KnownMistake): boolean => familyOf.has(id)
const isFrequent = ({ id }: KnownMistake): boolean => frequent.has(id)

// ---- which mistakes are made by a client that writes its JSON again

/** Such a client may have other times, line ends and schemes, too. */
const aroundBody = ['request-line-feeds', 'timestamp', 'data-to-sign'].map((it) => `signatures/${it}`)
const isOfScheme = ({ requirement }: KnownMistake): boolean => requirement === 'signatures/data-to-sign'

const isSpelling = ({ made }: Candidate): boolean => made.every(({ id }) => spellingIds.has(id))
/** In the body; no guess at one request. */
const isOfBody = (one: Candidate): boolean =>
  isSpelling(one) ||
  one.made.every((mistake) => isOfTable(mistake) && mistake.requirement === 'signatures/request-body')
const isAroundBody = ({ made }: Candidate): boolean =>
  made.every((mistake) => isOfTable(mistake) && aroundBody.includes(mistake.requirement))
/** What such a client may do besides: leave members out, print the value by other means than JSON, send other letters. */
const isLater = ({ id }: KnownMistake): boolean =>
  spellingIds.has(id) || /nulls$|printed-by|-bits$|latin-1|windows|question-marks$/.test(id)
const isOfTable = (mistake: KnownMistake): boolean => mistake.stage === 'data' && mistakeById(mistake.id) === mistake

/** Whether to try two mistakes together: one in the body with one around it, or a body that is written again and then changed. */
function goTogether(one: Candidate, other: Candidate): boolean {
  if (isOfBody(one) && isOfBody(other)) return isSpelling(one) !== isSpelling(other)
  return (isOfBody(one) && isAroundBody(other)) || (isAroundBody(one) && isOfBody(other))
}

/** Whether two mistakes touch different things. */
function areOfDifferentFamilies(one: KnownMistake, other: KnownMistake): boolean {
  return familyOf.get(one.id) !== familyOf.get(other.id)
}

// ---- from computed bytes to the text in the header: which mistakes in cut and encoding lead to the text that was received?

/**
 * Every way, with at most `most` mistakes, in which the computed bytes become the received text.
 *
 * @param options `isInAnyOrder`: not only in the order of the table
 */
function endingsOf(
  draft: Draft,
  whole: Uint8Array,
  received: string,
  { after, most, isInAnyOrder = false }: { after: readonly KnownMistake[]; most: number; isInAnyOrder?: boolean },
): KnownMistake[][] {
  const found: KnownMistake[][] = draft.encode(draft.cut(whole)) === received ? [[]] : []
  if (most === 0) return found
  const longer = after.flatMap((first, at) => {
    const one = first.apply(draft)
    if (one === null) return []
    const others = isInAnyOrder ? after.toSpliced(at, 1) : after.slice(at + 1)
    const rest = endingsOf(one, whole, received, { after: others, most: most - 1, isInAnyOrder })
    return rest.map((ending) => [first, ...ending])
  })
  return [...found, ...longer]
}

/**
 * A quick look at computed bytes: can the received text come from them at all? Decides by three bytes at the places where a cut may
 * begin, so that the slow way through all endings is taken for one candidate in a million. Endings that lose information
 * (`signature/lower-case`) are not found.
 */
function canEndIn(received: string): (whole: Uint8Array) => boolean {
  const starts = new Set<number>()
  for (const bytes of bytesIn(received)) {
    if (bytes.length < 3) continue
    starts.add(threeBytes(bytes, 0))
    starts.add(threeBytes(Uint8Array.from(bytes).reverse(), 0))
  }
  return (whole) =>
    starts.has(threeBytes(whole, 0)) ||
    starts.has(threeBytes(whole, 1)) ||
    starts.has(threeBytes(whole, Math.max(0, whole.length - 20)))
}

function threeBytes(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)
}

/** The bytes that a text may stand for, decoded once and twice. */
function bytesIn(received: string): Uint8Array[] {
  const bare = received.replace(/^b?(["'])(.*)\1$/, '$2')
  const texts = [received, bare, bare.replaceAll(' ', '+'), percentDecoded(bare).replaceAll(' ', '+')]
  const once = texts.flatMap(decode)
  const raw = (of: string): Uint8Array[] => [latin1(of)].filter((bytes) => bytes !== null)
  const twice = once.flatMap((bytes) => {
    const text = fromUtf8(bytes)
    return text === null ? [] : [...decode(text), ...raw(text)]
  })
  return [...once, ...twice, ...raw(received)]
}

function decode(text: string): Uint8Array[] {
  const numbers = /^\d{1,3}(,\d{1,3})+$/.test(text) ? Uint8Array.from(text.split(','), Number) : null
  return [fromHex(text), fromBase64Loose(text), numbers]
    .filter((bytes) => bytes !== null)
    .filter(({ length }) => length > 0)
}

// ---- where the signature may be an Ed25519 one, it is checked against each candidate, so the public key is enough

/** More mistakes after the signing are not looked for together. */
const mostAfterSigning = 3

/** Explains by checking the signatures that a text may stand for against the data of a candidate. */
function byVerifying(received: string, signatures: readonly Signature[], after: readonly KnownMistake[]): Explain {
  const matchers = new Map<string, ReturnType<typeof ed25519Matcher>>()
  const matcherOf = (publicKey: Uint8Array, signature: Uint8Array) => {
    const name = toBase64(publicKey) + toBase64(signature)
    const known = matchers.get(name) ?? ed25519Matcher(publicKey, signature)
    matchers.set(name, known)
    return known
  }
  return ({ draft, made, data }) => {
    const { algorithm } = draft
    const publicKey = publicKeyFor(draft)
    if (algorithm.kind !== 'ed25519' || publicKey === null) return []
    const endings = signatures
      .filter(({ bytes }) => matcherOf(publicKey, bytes)(algorithm.message(data), algorithm.domain))
      .flatMap(({ bytes, surplus }) => {
        for (let most = 0; most <= mostAfterSigning; most++) {
          const found = endingsOf(draft, bytes, received, { after, most, isInAnyOrder: true })
          if (found.length > 0) return found
        }
        return surplus === 0 ? [] : [[knownMistake(`signature/${surplus === 1 ? 'one-byte-long' : 'attached'}`)]]
      })
    return fewest(endings).map((ending) => [...made, ...ending])
  }
}

/** The key that checks what a draft signs: a wrong seed has another public key. */
function publicKeyFor({ key, around }: Draft): Uint8Array | null {
  if (key.length === 32) return publicKeyOfSeed(key)
  return around.key.kind === 'ed25519-public' ? around.key.publicKey : null
}

/** 64 bytes as they were computed, and how many more stand behind them. */
interface Signature {
  bytes: Uint8Array
  surplus: number
}

/** The signatures that a text may stand for: many where a lost last byte must be guessed. S is below L, so it is 16 at most. */
function signaturesIn(received: string): Signature[] {
  const decoded = bytesIn(received)
  const whole = decoded.filter(({ length }) => length === 64)
  const lastBytes = Array.from({ length: 17 }, (_, last) => Uint8Array.of(last))
  const others = decoded.flatMap((bytes) =>
    bytes.length === 63 ? lastBytes.map((last) => concat(bytes, last)) : bytes.length > 64 ? [bytes] : [],
  )
  const found = (whole.length > 0 ? whole : others).map((all): Signature => {
    const bytes = all.slice(0, 64)
    return { bytes: withLowS(bytes) ?? bytes, surplus: all.length - 64 }
  })
  return [...new Map(found.map((one) => [toBase64(one.bytes), one])).values()]
}
