import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

/** What a matcher may need to know about time: the server's clock around the call, and how well it is known. All in ms. */
export interface Moment {
  sentAtMs: number
  answeredAtMs: number
  uncertaintyMs: number
}

/** Servers may round an expiry to the second, so a moment is never judged more sharply than this. */
export const roundingMs = 1000

const ajv = new Ajv2020({ strict: false, allErrors: false })
const compiled = new Map<string, ValidateFunction>()

/**
 * Compares a value with a matcher of the fixture language (references already resolved).
 *
 * @returns undefined where it matches, else `expected …, got …` without the path
 */
export function mismatch(actual: unknown, matcher: unknown, moment: Moment): string | undefined {
  const rule = ruleOf(matcher)
  const got = show(actual)
  switch (rule.word) {
    case 'equals':
      return same(actual, rule.value) ? undefined : `expected ${show(rule.value)}, got ${got}`
    case 'not':
      return actual === undefined || same(actual, rule.value)
        ? `expected something other than ${show(rule.value)}, got ${got}`
        : undefined
    case 'contains':
      return includes(actual, rule.value) ? undefined : `expected it to contain ${show(rule.value)}, got ${got}`
    case 'excludes':
      return lengthOf(actual) === undefined || includes(actual, rule.value)
        ? `expected a text or a list without ${show(rule.value)}, got ${got}`
        : undefined
    case 'matches':
      return typeof actual === 'string' && new RegExp(String(rule.value), 'u').test(actual)
        ? undefined
        : `expected a string that matches ${rule.value}, got ${got}`
    case 'length':
      return lengthOf(actual) === rule.value ? undefined : `expected a length of ${rule.value}, got ${got}`
    case 'at-most':
      return isOrdered(actual, rule.value) && isAtMost(actual, rule.value as typeof actual)
        ? undefined
        : `expected at most ${show(rule.value)}, got ${got}`
    case 'at-least':
      return isOrdered(actual, rule.value) && isAtMost(rule.value as typeof actual, actual)
        ? undefined
        : `expected at least ${show(rule.value)}, got ${got}`
    case 'in':
      return mismatchInTime(actual, Number(rule.value), rule.giveOrTakeMs, moment)
    case 'is':
      return mismatchSchema(actual, rule.value)
  }
}

const words = ['equals', 'not', 'contains', 'excludes', 'matches', 'length', 'at-most', 'at-least', 'in', 'is'] as const
type Word = (typeof words)[number]

interface Rule {
  word: Word
  value: unknown
  giveOrTakeMs: number
}

function ruleOf(matcher: unknown): Rule {
  if (typeof matcher === 'object' && matcher !== null && !Array.isArray(matcher)) {
    const entries = matcher as { [word: string]: unknown }
    const word = words.find((candidate) => candidate in entries)
    if (word !== undefined) {
      const giveOrTake = entries['give-or-take']
      return { word, value: entries[word], giveOrTakeMs: giveOrTake === undefined ? 0 : Number(giveOrTake) }
    }
  }
  return { word: 'equals', value: matcher, giveOrTakeMs: 0 }
}

function mismatchInTime(actual: unknown, inMs: number, giveOrTakeMs: number, moment: Moment): string | undefined {
  if (typeof actual !== 'number') return `expected a moment in ms, got ${show(actual)}`
  const tolerance = roundingMs + moment.uncertaintyMs + giveOrTakeMs
  const earliest = moment.sentAtMs + inMs - tolerance
  const latest = moment.answeredAtMs + inMs + tolerance
  if (actual >= earliest && actual <= latest) return undefined
  const off = actual - (moment.answeredAtMs + inMs)
  return `expected a moment ${inMs} ms from now, got ${actual}, which is ${Math.abs(Math.round(off))} ms ${off > 0 ? 'later' : 'earlier'} than that`
}

/** @returns undefined where the value fits the JSON Schema, else `expected …, got …` with the path inside the value */
export function mismatchSchema(actual: unknown, schema: unknown): string | undefined {
  const key = JSON.stringify(schema)
  let validate = compiled.get(key)
  if (validate === undefined) {
    validate = ajv.compile(schema as object)
    compiled.set(key, validate)
  }
  if (validate(actual)) return undefined
  const error = validate.errors?.[0]
  const place = error?.instancePath ? ` at ${error.instancePath}` : ''
  return `expected a value that ${error?.message ?? 'fits the schema'}${place}, got ${show(actual)}`
}

function same(left: unknown, right: unknown): boolean {
  return left === right || stable(left) === stable(right)
}

/** JSON with sorted members, so that the order of members never decides. */
function stable(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  )
}

function includes(actual: unknown, part: unknown): boolean {
  if (typeof actual === 'string') return actual.includes(String(part))
  return Array.isArray(actual) && actual.some((item) => same(item, part))
}

function lengthOf(actual: unknown): number | undefined {
  return typeof actual === 'string' || Array.isArray(actual) ? actual.length : undefined
}

function isOrdered(actual: unknown, bound: unknown): actual is number | string {
  return typeof actual === typeof bound && (typeof actual === 'number' || typeof actual === 'string')
}

/** Numbers from here on are moments in ms since 1970, of 13 digits as the document has them. */
const leastMoment = 1e12

/** Of two moments one may have been rounded, or read from the clock a little later; all else is compared exactly. */
function isAtMost<Value extends number | string>(lower: Value, upper: Value): boolean {
  if (typeof lower === 'number' && typeof upper === 'number' && Math.min(lower, upper) >= leastMoment) {
    return lower <= upper + roundingMs
  }
  return lower <= upper
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value)
  return text.length > 120 ? `${text.slice(0, 117)}…` : text
}

/** Reads `result.a.0.b` in an object; undefined where there is no such thing. */
export function valueAt(root: unknown, path: string): unknown {
  let value: unknown = root
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as { [key: string]: unknown })[part]
  }
  return value
}
