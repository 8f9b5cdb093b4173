/** Whether the answers of a step are what it expects. Times are in ms. */
import { groupBy } from '../group.ts'
import { isObject } from '../json.ts'
import type { CallStep, Expect, SendStep, Tally, Where } from '../language/fixture-types.ts'
import { type Names, resolve, valueAt } from '../language/resolve.ts'
import { schemaCheck } from '../language/schemas.ts'
import type { WireAnswer, WireRequest } from '../target.ts'
import { type Classified, showJson, summarizeAnswer } from './classify.ts'
import type { AnswerSummary, Effect, EnvelopeProblem, Failure, Mismatch, Obstacle } from './problem.ts'

/** Servers may round a time to the second, so nothing is judged within this distance of one. */
export const roundingMs = 1000

/** 13-digit timestamps in milliseconds: from 2001 to 2286. Smaller numbers are not timestamps. */
export const firstTimestampMs = 1e12
export const endOfTimestampsMs = 1e13

/** When a call was sent and answered, on the server's clock, and how uncertain that is. In ms. */
export interface CallTime {
  sentAtMs: number
  answeredAtMs: number
  uncertaintyMs: number
  /** Other clocks that the server's expiries may follow, as offsets from this one. */
  witnesses?: readonly ClockWitness[]
}

/** How far another clock of the server is ahead. In ms. */
export interface ClockWitness {
  earliestMs: number
  latestMs: number
}

/** Compares a value with a matcher of the fixture language (references already resolved); undefined where it matches. */
export function mismatch(actual: unknown, matcher: unknown, time: CallTime): Mismatch | undefined {
  const { in: inMs, is: schema, ...others } = isObject(matcher) ? matcher : {}
  if (inMs !== undefined) return mismatchInTime(actual, Number(inMs), time)
  if (schema !== undefined) return mismatchSchema(actual, schema)
  const word = words.find((candidate) => candidate in others)
  // A plain value means `equals`.
  const [rule, wanted] = word === undefined ? (['equals', matcher] as const) : ([word, others[word]] as const)
  return rules[rule](actual, wanted) ? undefined : { rule, wanted: showJson(wanted), got: showJson(actual) }
}

const words = ['not', 'includes', 'excludes', 'at-most', 'at-least'] as const

const rules: { readonly [rule in 'equals' | (typeof words)[number]]: (actual: unknown, value: unknown) => boolean } = {
  equals: same,
  not: (actual, value) => actual !== undefined && !same(actual, value),
  includes,
  excludes: (actual, value) => (typeof actual === 'string' || Array.isArray(actual)) && !includes(actual, value),
  'at-most': isAtMost,
  'at-least': (actual, value) => isAtMost(value, actual),
}

function mismatchInTime(actual: unknown, inMs: number, time: CallTime): Mismatch | undefined {
  if (typeof actual !== 'number') return { rule: 'in', inMs, got: showJson(actual) }
  const tolerance = roundingMs + time.uncertaintyMs
  const earliest = time.sentAtMs + inMs - tolerance
  const latest = time.answeredAtMs + inMs + tolerance
  if (actual >= earliest && actual <= latest) return undefined
  const isWitnessed = (time.witnesses ?? []).some(
    (witness) => actual >= earliest + witness.earliestMs && actual <= latest + witness.latestMs,
  )
  if (isWitnessed) return undefined
  return { rule: 'in', inMs, got: showJson(actual), offByMs: Math.round(actual - (time.answeredAtMs + inMs)) }
}

/** Compares a value with a JSON Schema; undefined where it fits. */
function mismatchSchema(actual: unknown, schema: unknown): Mismatch | undefined {
  const validate = schemaCheck(schema as object)
  if (validate(actual)) return undefined
  const error = validate.errors?.[0]
  return {
    rule: 'schema',
    wanted: error?.message ?? 'fits the schema',
    place: error?.instancePath ?? '',
    got: showJson(actual),
  }
}

function same(left: unknown, right: unknown): boolean {
  return left === right || stable(left) === stable(right)
}

/** JSON with sorted members, so that the order of members never decides. */
function stable(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
    ) ?? 'undefined'
  )
}

function includes(actual: unknown, part: unknown): boolean {
  if (typeof actual === 'string') return actual.includes(String(part))
  return Array.isArray(actual) && actual.some((item) => same(item, part))
}

/** Compares times with a tolerance, because one may be rounded or read a little later; all other values exactly. */
function isAtMost(lower: unknown, upper: unknown): boolean {
  if (typeof lower === 'string') return typeof upper === 'string' && lower <= upper
  if (typeof lower !== 'number' || typeof upper !== 'number') return false
  return lower <= upper + (Math.min(lower, upper) >= firstTimestampMs ? roundingMs : 0)
}

/** Whether a call that must be refused was refused in effect, although its answer is broken. */
export type Confirmation =
  | { kind: 'confirmed' }
  | { kind: 'control-failed'; control: AnswerSummary }
  | { kind: 'effect-shown' | 'effect-unknown'; effect: Effect }

/** A request and its answer. */
export interface Delivered {
  answer: Classified
  request: WireRequest
  wire: WireAnswer
  /** On the server's clock. */
  time: CallTime
  /** On our clock, in ms since 1970. */
  ours: { sentAtMs: number; answeredAtMs: number }
  /** How often the server throttled the call. */
  throttled: number
}

/** A call as it is judged. */
export interface Called extends Delivered {
  /** Departures of a successful answer from the response envelope. */
  departures: EnvelopeProblem[]
  /** What a fixture may keep as `sent.*`. */
  sent: { id?: unknown; nonce?: string; timestamp?: string; header?: string; signature?: string; expiry?: number }
  /** The number of a requested `expiresIn:NUMBER`. */
  requestedLifeMs?: number
  /** Set after a broken answer to a call that must be refused: whether the call was refused in effect. */
  confirmation?: Confirmation
  /** For a call of a race: its round, from 0, and its connections. */
  race?: { round: number; connections: 'new' | 'warm' }
  /** When the token expires that the call uses or renews, if its grant reported that. */
  tokenExpiryMs?: number
}

export type Side = 'accepted' | 'refused'

/**
 * `held`: the sides that were shown. `broke`: what did not hold. `undecided`: the answer proves nothing, for example because it was
 * throttled to the end.
 */
export type Judgement =
  | { kind: 'held'; sides: Side[] }
  | { kind: 'broke'; problem: Failure; called: Called }
  | { kind: 'undecided'; problem: Obstacle; called: Called }

/** The named result schemas that `accepted: <schema>` may refer to. */
export type Schemas = { [name: string]: unknown }

/** The object in which the paths of `where` and `keep` are looked up. */
export function readable(called: Called): { [part: string]: unknown } {
  const { answer, sent } = called
  const common = { status: answer.status, headers: answer.headers, sent }
  if (answer.outcome === 'accepted') return { ...common, result: answer.result }
  return answer.outcome === 'refused' ? { ...common, error: answer.error } : common
}

/** Judges all answers of a step; undefined for a step that expects nothing. */
export function judgeAnswers(
  step: CallStep | SendStep,
  calls: Called[],
  names: Names,
  schemas: Schemas,
): Judgement | undefined {
  const { tally, expect } = step
  if (tally !== undefined) {
    // Every round of a race by itself; calls that did not race are one round.
    return together(groupBy(calls, ({ race }) => race?.round).values(), (round) => judgeTally(round, tally))
  }
  if (expect === undefined) return undefined
  return together(calls, (called) => judgeAnswer(called, expect, names, schemas))
}

/** The sides that all of them show; the first that did not hold. */
function together<Item>(items: Iterable<Item>, judge: (item: Item) => Judgement): Judgement {
  const sides = new Set<Side>()
  for (const item of items) {
    const judgement = judge(item)
    if (judgement.kind !== 'held') return judgement
    for (const side of judgement.sides) sides.add(side)
  }
  return held(...sides)
}

function judgeAnswer(called: Called, expect: Expect, names: Names, schemas: Schemas): Judgement {
  const { answer } = called
  const unclear = judgeUnclear(called)
  if (unclear !== undefined) return unclear
  const mayBeRefused = expect !== 'accepted' && (expect === 'refused' || 'refused-or' in expect)
  if (mayBeRefused && answer.outcome === 'refused') return held('refused')
  if (mayBeRefused && answer.outcome === 'broken') return judgeBroken(called)
  if (answer.outcome !== 'accepted' || expect === 'refused') {
    const expected = expect === 'refused' ? 'refused' : mayBeRefused ? 'refused or accepted' : 'accepted'
    return broke(called, { kind: 'wrong-outcome', expected, got: summarizeAnswer(answer) })
  }
  if (expect === 'accepted') return held('accepted')
  const wanted = 'refused-or' in expect ? expect['refused-or'] : expect
  const wrong = wrongResult(called, wanted, names, schemas)
  return wrong === undefined ? held('accepted') : broke(called, wrong)
}

/** Judges an answer that proves nothing; undefined for any other. */
function judgeUnclear(called: Called): Judgement | undefined {
  const { answer } = called
  if (answer.outcome === 'throttled') return undecided(called, { kind: 'throttled', status: answer.status })
  return answer.outcome === 'unread' ? undecided(called, { kind: 'unread', limitBytes: answer.limitBytes }) : undefined
}

/**
 * Judges a broken answer to a call that must be refused. It counts as a refusal if a control right after it was accepted and the
 * call had no effect.
 */
function judgeBroken(called: Called): Judgement {
  const got = summarizeAnswer(called.answer)
  const { confirmation } = called
  switch (confirmation?.kind) {
    case 'confirmed':
      return held('refused')
    case 'effect-shown':
      return broke(called, { ...confirmation, kind: 'effect-shown', got })
    case 'effect-unknown':
      return undecided(called, { ...confirmation, kind: 'effect-unknown', got })
    case 'control-failed':
      return undecided(called, { kind: 'control-after-broken', got, control: confirmation.control })
    case undefined:
      return broke(called, { kind: 'wrong-outcome', expected: 'refused', got })
  }
}

function wrongResult(
  called: Called,
  wanted: { accepted?: string | null; where?: Where },
  names: Names,
  schemas: Schemas,
): Failure | undefined {
  const source = readable(called)
  if (typeof wanted.accepted === 'string') {
    const wrong = mismatchSchema(source.result, schemas[wanted.accepted])
    if (wrong !== undefined) return { kind: 'wrong-value', path: 'result', mismatch: wrong }
  }
  for (const [path, matcher] of Object.entries(wanted.where ?? {})) {
    const wrong = mismatch(valueAt(source, path), resolve(matcher, names), called.time)
    if (wrong !== undefined) return { kind: 'wrong-value', path, mismatch: wrong }
  }
  return undefined
}

/** Judges several answers of one step by how many were accepted and refused. */
function judgeTally(calls: Called[], tally: Tally): Judgement {
  const unclear = calls.map(judgeUnclear).find((one) => one !== undefined)
  if (unclear !== undefined) return unclear
  if (isEnough(calls, tally)) return held('accepted')
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const judgements = broken.map(judgeBroken)
  const letIn = judgements.find(({ kind }) => kind === 'broke')
  if (letIn !== undefined) return judgeUnanswered(calls, broken) ?? letIn
  const unknown = broken.filter((_called, index) => judgements[index]?.kind === 'undecided')
  const accepted = calls.filter(({ answer }) => answer.outcome === 'accepted')
  const refused = calls.filter((called) => !accepted.includes(called) && !unknown.includes(called))
  const counted = { accepted, refused }
  const asked = (['accepted', 'refused'] as const).filter((side) => tally[side] !== undefined)
  for (const side of asked) {
    const wanted = tally[side] ?? 0
    const { length } = counted[side]
    if (fits(length, wanted)) continue
    const undecided = judgeMissing({ calls, broken, unknown, refused: refused.length }, side, length, wanted)
    if (undecided !== undefined) return undecided
    const example = (isAbove(length, wanted) === (side === 'accepted') ? accepted[0] : refused[0]) ?? calls[0]
    if (example !== undefined) return broke(example, wrongCount(calls, side, length, wanted))
  }
  return held(...asked.filter((side) => counted[side].length > 0))
}

/** Whether enough calls were accepted, so that the others do not matter, answered or not. */
function isEnough(calls: Called[], { accepted, refused }: Tally): boolean {
  const count = calls.filter(({ answer }) => answer.outcome === 'accepted').length
  return refused === undefined && String(accepted).startsWith('at-least') && fits(count, accepted ?? 0)
}

/** Of calls in turn, how many that were refused are named by their places. */
const shownPlaces = 4

function wrongCount(calls: Called[], side: Side, counted: number, wanted: number | string): Failure {
  const race = calls[0]?.race
  const common = { kind: 'wrong-count', side, wanted, calls: calls.length, counted } as const
  const refusedAt = calls.flatMap(({ answer }, index) => (answer.outcome === 'refused' ? [index + 1] : []))
  const isTelling = side === 'accepted' && refusedAt.length > 0 && refusedAt.length <= shownPlaces
  if (race === undefined) return isTelling ? { ...common, refusedAt } : common
  return { ...common, round: race.round + 1, connections: race.connections }
}

const isAbove = (counted: number, wanted: number | string): boolean =>
  counted > Number(/\d+$/.exec(String(wanted))?.[0])

/** Judges a wrong count when some calls were not answered. Those prove nothing, or are a failure by themselves. */
function judgeMissing(
  { calls, broken, unknown, refused }: { calls: Called[]; broken: Called[]; unknown: Called[]; refused: number },
  side: Side,
  counted: number,
  wanted: number | string,
): Judgement | undefined {
  if (isAbove(counted, wanted)) return side === 'refused' && refused > 0 ? judgeUnanswered(calls, broken) : undefined
  const [first] = unknown
  if (first !== undefined && canFit(counted, unknown.length, wanted)) return judgeBroken(first)
  return side === 'accepted' ? judgeUnanswered(calls, broken) : undefined
}

const canFit = (counted: number, more: number, wanted: number | string): boolean =>
  Array.from({ length: more + 1 }, (_nothing, added) => counted + added).some((count) => fits(count, wanted))

/**
 * Judges broken answers when acceptances are missing: dropped connections in a race prove nothing, every other broken answer is a failure.
 */
function judgeUnanswered(calls: Called[], broken: Called[]): Judgement | undefined {
  const [example] = broken
  if (example === undefined) return undefined
  const dropped = broken.filter(({ answer, race }) => answer.status === null && race !== undefined)
  const answered = broken.find((called) => !dropped.includes(called))
  if (answered === undefined)
    return undecided(example, { kind: 'calls-dropped', calls: calls.length, dropped: dropped.length })
  return broke(answered, { kind: 'call-not-answered', calls: calls.length, got: summarizeAnswer(answered.answer) })
}

function fits(count: number, wanted: number | string): boolean {
  const [, bound, number] = /^(at-most|at-least)? ?(\d+)$/.exec(String(wanted)) ?? []
  if (bound === 'at-most') return count <= Number(number)
  if (bound === 'at-least') return count >= Number(number)
  return count === Number(number)
}

const held = (...sides: Side[]): Judgement => ({ kind: 'held', sides })

const broke = (called: Called, problem: Failure): Judgement => ({ kind: 'broke', problem, called })

const undecided = (called: Called, problem: Obstacle): Judgement => ({ kind: 'undecided', problem, called })
