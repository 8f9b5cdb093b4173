/** How precisely times are judged. All in ms. */

import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js'
import { isObject } from '../json.ts'
import type { CallStep, Expect, SendStep, Tally, Where } from '../language/fixture-types.ts'
import { packageRoot } from '../language/package-root.ts'
import { type Names, resolve, valueAt } from '../language/resolve.ts'
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
  const { word, value } = ruleOf(matcher)
  if (word === 'in') return mismatchInTime(actual, Number(value), time)
  if (word === 'is') return mismatchSchema(actual, value)
  return holds(actual, word, value) ? undefined : { rule: word, wanted: showJson(value), got: showJson(actual) }
}

function holds(actual: unknown, word: Exclude<Word, 'in' | 'is'>, value: unknown): boolean {
  switch (word) {
    case 'equals':
      return same(actual, value)
    case 'not':
      return actual !== undefined && !same(actual, value)
    case 'includes':
      return includes(actual, value)
    case 'excludes':
      return (typeof actual === 'string' || Array.isArray(actual)) && !includes(actual, value)
    case 'at-most':
      return isOrdered(actual, value) && isAtMost(actual, value as typeof actual)
    case 'at-least':
      return isOrdered(actual, value) && isAtMost(value as typeof actual, actual)
  }
}

const words = ['not', 'includes', 'excludes', 'at-most', 'at-least', 'in', 'is'] as const
type Word = (typeof words)[number] | 'equals'

/** The word of a matcher; a plain value means `equals`. */
function ruleOf(matcher: unknown): { word: Word; value: unknown } {
  if (isObject(matcher)) {
    const entries = matcher as { [word: string]: unknown }
    const word = words.find((candidate) => candidate in entries)
    if (word !== undefined) return { word, value: entries[word] }
  }
  return { word: 'equals', value: matcher }
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

function isOrdered(actual: unknown, bound: unknown): actual is number | string {
  return typeof actual === typeof bound && (typeof actual === 'number' || typeof actual === 'string')
}

/** Compares times with a tolerance, because one may be rounded or read a little later; all other values exactly. */
function isAtMost<Value extends number | string>(lower: Value, upper: Value): boolean {
  if (typeof lower === 'number' && typeof upper === 'number' && Math.min(lower, upper) >= firstTimestampMs) {
    return lower <= upper + roundingMs
  }
  return lower <= upper
}

/** The JSON text of each schema of the corpus, with its check. `npm run build` writes it, because compiling them takes longer than all comparisons. */
export const compiledSchemasFile = join(packageRoot, 'dist', 'compiled-schemas.cjs')

/** The schema of fixtures checks the schemas in them, a test those of spec/. */
export const ajvSettings = { strict: false, allErrors: false, meta: false, validateSchema: false } as const

const require = createRequire(import.meta.url)
const compiled = new Map<string, ValidateFunction>()
let built: ReadonlyMap<string, ValidateFunction> | undefined
let ajv: Ajv2020 | undefined

/** Returns the function that tells whether a value fits a schema. One that the build did not meet is compiled when it is needed. */
function schemaCheck(schema: object): ValidateFunction {
  const text = JSON.stringify(schema)
  built ??= readBuilt()
  const known = built.get(text) ?? compiled.get(text)
  if (known !== undefined) return known
  const check = compile(schema)
  compiled.set(text, check)
  return check
}

/** Loads ajv first: a run of the corpus as it was built needs none of it. */
function compile(schema: object): ValidateFunction {
  const loaded: typeof import('ajv/dist/2020.js') = require('ajv/dist/2020.js')
  ajv ??= new loaded.Ajv2020(ajvSettings)
  return ajv.compile(schema)
}

/** Nothing where no build has been made: the tests run the sources. */
function readBuilt(): ReadonlyMap<string, ValidateFunction> {
  try {
    return require(compiledSchemasFile)
  } catch {
    return new Map()
  }
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

/** Whether the answers of a step are what it expects. */

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
  if (step.tally !== undefined) return judgeRounds(calls, step.tally)
  if (step.expect === undefined) return undefined
  const sides = new Set<Side>()
  for (const called of calls) {
    const judgement = judgeAnswer(called, step.expect, names, schemas)
    if (judgement.kind !== 'held') return judgement
    for (const side of judgement.sides) sides.add(side)
  }
  return { kind: 'held', sides: [...sides] }
}

function judgeAnswer(called: Called, expect: Expect, names: Names, schemas: Schemas): Judgement {
  const { answer } = called
  const unclear = judgeUnclear(called)
  if (unclear !== undefined) return unclear
  const mayBeRefused = expect !== 'accepted' && (expect === 'refused' || 'refused-or' in expect)
  if (mayBeRefused && answer.outcome === 'refused') return { kind: 'held', sides: ['refused'] }
  if (mayBeRefused && answer.outcome === 'broken') return judgeBroken(called)
  if (answer.outcome !== 'accepted' || expect === 'refused') {
    const expected = expect === 'refused' ? 'refused' : mayBeRefused ? 'refused or accepted' : 'accepted'
    return broke(called, { kind: 'wrong-outcome', expected, got: summarizeAnswer(answer) })
  }
  if (expect === 'accepted') return { kind: 'held', sides: ['accepted'] }
  const wanted = 'refused-or' in expect ? expect['refused-or'] : expect
  const wrong = wrongResult(called, wanted, names, schemas)
  return wrong === undefined ? { kind: 'held', sides: ['accepted'] } : broke(called, wrong)
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
      return { kind: 'held', sides: ['refused'] }
    case 'effect-shown':
      return broke(called, { kind: 'effect-shown', effect: confirmation.effect, got })
    case 'effect-unknown':
      return undecided(called, { kind: 'effect-unknown', effect: confirmation.effect, got })
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

/** Judges every round of calls by itself; calls that did not race are one round. */
function judgeRounds(calls: Called[], tally: Tally): Judgement {
  const sides = new Set<Side>()
  for (const round of new Set(calls.map(({ race }) => race?.round))) {
    const ofRound = calls.filter(({ race }) => race?.round === round)
    const judgement = judgeTally(ofRound, tally)
    if (judgement.kind !== 'held') return judgement
    for (const side of judgement.sides) sides.add(side)
  }
  return { kind: 'held', sides: [...sides] }
}

/** Judges several answers of one step by how many were accepted and refused. */
function judgeTally(calls: Called[], tally: Tally): Judgement {
  for (const called of calls) {
    const unclear = judgeUnclear(called)
    if (unclear !== undefined) return unclear
  }
  if (isEnough(calls, tally)) return { kind: 'held', sides: ['accepted'] }
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const judgements = broken.map(judgeBroken)
  const letIn = judgements.find(({ kind }) => kind === 'broke')
  if (letIn !== undefined) return judgeUnanswered(calls, broken) ?? letIn
  const accepted = calls.filter(({ answer }) => answer.outcome === 'accepted')
  const unknown = broken.filter((_called, index) => judgements[index]?.kind === 'undecided')
  const refused = calls.filter((called) => !accepted.includes(called) && !unknown.includes(called))
  for (const side of ['accepted', 'refused'] as const) {
    const wanted = tally[side]
    const counted = side === 'accepted' ? accepted.length : refused.length
    if (wanted === undefined || fits(counted, wanted)) continue
    const undecided = judgeMissing({ calls, broken, unknown, refused: refused.length }, side, counted, wanted)
    if (undecided !== undefined) return undecided
    const example = (isAbove(counted, wanted) === (side === 'accepted') ? accepted[0] : refused[0]) ?? calls[0]
    if (example !== undefined) return broke(example, wrongCount(calls, side, counted, wanted))
  }
  const sides = (['accepted', 'refused'] as const).filter(
    (side) => tally[side] !== undefined && (side === 'accepted' ? accepted : refused).length > 0,
  )
  return { kind: 'held', sides }
}

/** Whether enough calls were accepted, so that the others do not matter, answered or not. */
function isEnough(calls: Called[], { accepted, refused }: Tally): boolean {
  const count = calls.filter(({ answer }) => answer.outcome === 'accepted').length
  return refused === undefined && String(accepted).startsWith('at-least') && fits(count, accepted ?? 0)
}

function wrongCount(calls: Called[], side: Side, counted: number, wanted: number | string): Failure {
  const race = calls[0]?.race
  const common = { kind: 'wrong-count', side, wanted, calls: calls.length, counted } as const
  return race === undefined ? common : { ...common, round: race.round + 1, connections: race.connections }
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

const broke = (called: Called, problem: Failure): Judgement => ({ kind: 'broke', problem, called })

const undecided = (called: Called, problem: Obstacle): Judgement => ({ kind: 'undecided', problem, called })
