import { isObject } from '../json.ts'
import { schemaCheck } from './compiled-schemas.ts'
import { firstTimestampMs, roundingMs } from './margins.ts'
import type { Mismatch } from './problem.ts'
import { showJson } from './show-json.ts'

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
export function mismatchSchema(actual: unknown, schema: unknown): Mismatch | undefined {
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
