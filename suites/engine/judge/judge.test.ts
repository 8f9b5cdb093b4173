import { describe, expect, test } from 'vitest'
import type { Requirement } from '../language/fixture-types.ts'
import type { WireAnswer } from '../target.ts'
import { classify, describe as tell } from './classify.ts'
import { judgeRequirement, mismatch } from './judge-case.ts'
import type { Verdict } from './problem.ts'

const answer = (status: number, body: unknown, headers: { [name: string]: string } = {}): WireAnswer => ({
  kind: 'answer',
  status,
  headers,
  body: new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
})
const result = { jsonrpc: '2.0', id: 1, result: {} }
const error = { jsonrpc: '2.0', id: 1, error: { code: 5, message: 'no' } }

describe('how an answer counts', () => {
  test.each([
    ['a result', 200, result, 'accepted'],
    ['a result with HTTP 201', 201, result, 'accepted'],
    ['a result of another type', 200, { result: null }, 'accepted'],
    ['a result without jsonrpc and id', 200, { result: [] }, 'accepted'],
    ['a result and an error that is null', 200, { ...result, error: null }, 'accepted'],
    ['a result and an error', 200, { ...result, ...error }, 'refused'],
    ['an error', 200, error, 'refused'],
    ['an error without a code', 200, { error: 'no' }, 'refused'],
    ['HTTP 401 without a body', 401, '', 'refused'],
    ['HTTP 404 with a page', 404, '<html>', 'refused'],
    ['HTTP 403 with a result', 403, result, 'refused'],
    ['HTTP 500 with an error', 500, error, 'refused'],
    ['HTTP 500 with a result', 500, result, 'broken'],
    ['HTTP 500 without a body', 500, '', 'broken'],
    ['HTTP 503 without Retry-After', 503, '', 'broken'],
    ['HTTP 200 without a body', 200, '', 'broken'],
    ['JSON nested 100,000 deep', 200, `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'broken'],
    ['brackets in a string', 200, { result: { text: '['.repeat(1000) } }, 'accepted'],
    ['a number beyond all numbers', 200, '{"result":{},"id":1e400}', 'accepted'],
    ['a byte order mark before JSON', 200, '\ufeff{"result":{}}', 'accepted'],
    ['NUL before JSON', 200, '\u0000{"result":{}}', 'broken'],
    ['half a surrogate pair', 200, '{"result":{"text":"\\ud800"}}', 'accepted'],
    ['a member twice, the last one counts', 200, '{"error":{},"error":null,"result":{}}', 'accepted'],
    ['HTTP 200 with a page', 200, '<html>', 'broken'],
    ['HTTP 200 with an array', 200, [result], 'broken'],
    ['HTTP 200 with neither', 200, { jsonrpc: '2.0', id: 1 }, 'broken'],
    ['HTTP 204', 204, '', 'broken'],
    ['a redirection', 302, result, 'broken'],
    ['HTTP 429', 429, error, 'throttled'],
  ] as const)('%s', (_what, status, body, outcome) => {
    expect(classify(answer(status, body), 0).outcome).toBe(outcome)
  })

  test('a missing answer is broken, and shows whether the connection was refused', () => {
    const none = { kind: 'none', reason: 'gone', refusedConnection: true, stale: false } as const
    expect(classify(none, 0)).toMatchObject({ outcome: 'broken', status: null, refusedConnection: true })
  })
})

describe('how long a throttled call waits', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  test.each([
    ['seconds', { 'retry-after': '3' }, 3000],
    ['a fraction of a second', { 'retry-after': '0.2' }, 200],
    ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7000],
    ['a date that has passed', { 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, 0],
  ])('%s', (_what, headers, retryAfterMs) => {
    expect(classify(answer(429, '', headers), now)).toMatchObject({ outcome: 'throttled', retryAfterMs })
  })

  test.each([{ 'retry-after': 'soon' }, {}])('%j names no time to wait', (headers) => {
    expect(classify(answer(429, '', headers), now)).not.toHaveProperty('retryAfterMs')
  })

  test('HTTP 503 with Retry-After is throttled', () => {
    expect(classify(answer(503, '', { 'retry-after': '1' }), now).outcome).toBe('throttled')
  })
})

test('an answer is described in one phrase', () => {
  expect(tell(classify(answer(200, error), 0))).toBe('refused (error 5)')
  expect(tell(classify(answer(401, ''), 0))).toBe('refused (HTTP 401)')
  expect(tell(classify(answer(403, error), 0))).toBe('refused (HTTP 403, error 5)')
  expect(tell(classify(answer(200, ''), 0))).toBe('broken (HTTP 200 with an empty body)')
})

const time = { sentAtMs: 1_000_000, answeredAtMs: 1_000_100, uncertaintyMs: 0 }
const holds = (actual: unknown, matcher: unknown): boolean => mismatch(actual, matcher, time) === undefined

describe('matchers', () => {
  test.each([
    [5, 5, 6],
    [{ a: 1, b: [2] }, { b: [2], a: 1 }, { a: 1 }],
    ['b', { not: 'a' }, 'a'],
    [['x', 'y'], { includes: 'x' }, ['y']],
    ['a text', { includes: 'tex' }, 5],
    [['y'], { excludes: 'x' }, ['x']],
    [5, { 'at-most': 5 }, 6],
    [5, { 'at-least': 5 }, 4],
    ['text', { is: { type: 'string', minLength: 1 } }, 5],
  ])('%j matches %j, %j does not', (right, matcher, wrong) => {
    expect(holds(right, matcher)).toBe(true)
    expect(holds(wrong, matcher)).toBe(false)
  })

  // A value of another type lies within no bound; what is missing differs from nothing, and includes and excludes nothing.
  test.each<[unknown, object]>([
    ['5', { 'at-most': 6 }],
    [{ solution: true }, { excludes: 'context' }],
    ...[{ 'at-most': 6 }, { not: 'x' }, { includes: 'x' }, { excludes: 'x' }].map((one): [unknown, object] => [
      undefined,
      one,
    ]),
  ])('%j does not match %j', (wrong, matcher) => expect(holds(wrong, matcher)).toBe(false))

  test('a missing value is named', () => {
    expect(mismatch(undefined, 'Bearer', time)).toEqual({ rule: 'equals', wanted: '"Bearer"', got: 'nothing' })
  })

  test('where a member is missing, the names of the others are given, without their values', () => {
    const key = { type: 'object', required: ['secret'] }
    const got = (actual: unknown, is: object) => mismatch(actual, { is }, time)
    expect(got({ id: 'x'.repeat(200), name: 'b' }, key)).toMatchObject({ place: '', got: '{id, name}' })
    const inside = { type: 'object', properties: { 'a/b': { type: 'array', items: key } } }
    expect(got({ 'a/b': [{ secret: '1' }, { id: '2' }] }, inside)).toMatchObject({ place: '/a~1b/1', got: '{id}' })
    expect(got({ ['x'.repeat(500)]: 1 }, key)?.got).toHaveLength(303)
  })
})

describe('a time relative to now', () => {
  test('may be rounded to the second either way, and no more', () => {
    const at = (ms: number): boolean => holds(ms, { in: 5000 })
    expect(at(1_005_050)).toBe(true)
    expect(at(1_004_000)).toBe(true)
    expect(at(1_006_100)).toBe(true)
    expect(at(1_003_999)).toBe(false)
    expect(at(1_006_101)).toBe(false)
  })

  test('is judged no more sharply than the server clock is known', () => {
    const unsure = { ...time, uncertaintyMs: 500 }
    expect(mismatch(1_006_600, { in: 5000 }, unsure)).toBeUndefined()
    expect(mismatch(1_006_601, { in: 5000 }, unsure)).toMatchObject({ rule: 'in', offByMs: 1501 })
  })
})

test('a time that agrees with another clock of the server is right', () => {
  const witnesses = [{ earliestMs: 1000, latestMs: 1400 }]
  expect(mismatch(1_006_300, { in: 5000 }, time)).toBeDefined()
  expect(mismatch(1_006_300, { in: 5000 }, { ...time, witnesses })).toBeUndefined()
  expect(mismatch(1_008_000, { in: 5000 }, { ...time, witnesses })).toBeDefined()
})

test('of two times one may have been rounded to the second', () => {
  const at = 1_800_000_000_500
  for (const ms of [0, 1, 1000]) {
    expect(holds(at + ms, { 'at-most': at })).toBe(true)
    expect(holds(at - ms, { 'at-least': at })).toBe(true)
  }
  expect(holds(at + 1001, { 'at-most': at })).toBe(false)
  expect(holds(at - 1001, { 'at-least': at })).toBe(false)
})

const requirement: Requirement = {
  id: 'expires-in/enforced',
  level: 'must',
  kind: 'guard',
  part: '5.4',
  text: '',
  untestable: { without: 'clock-control', reason: 'Long lifetimes take long' },
}

type Judged = Parameters<typeof judgeRequirement>[1]

const made = (id: string, verdict: Verdict, ...sides: ('accepted' | 'refused')[]): Judged['cases'][number] =>
  ({ id, key: id, verdict, requirements: {}, sides: { [requirement.id]: sides }, problem: null }) as never

/** The case `long` needs a clock that can be moved. */
function judgedBy(...cases: Judged['cases'][number][]) {
  const needsOf: Judged['needsOf'] = (id) => (id === 'long' ? ['clock-control'] : [])
  const selection = { partial: null, skipReason: () => undefined }
  return judgeRequirement(requirement, { cases, missing: [], needsOf, selection })
}

const judged = (short: Verdict | null, long: Verdict) => {
  const both = ['accepted', 'refused'] as const
  return judgedBy(...(short === null ? [] : [made('short', short, ...both)]), made('long', long, ...both))
}

test('what a target cannot offer leaves nothing open where other cases show the requirement', () => {
  expect(judged('passed', 'not-testable').verdict).toBe('passed')
  expect(judged('failed', 'not-testable').verdict).toBe('failed')
  expect(judged('passed', 'failed').verdict).toBe('failed')
})

test('where no other case shows it, and where another one is open, it stays open', () => {
  expect(judged(null, 'not-testable')).toMatchObject({ verdict: 'not-testable', excused: true })
  expect(judged('not-testable', 'not-testable')).toMatchObject({ verdict: 'not-testable', excused: false })
})

test('a side that only absent API areas could show is not testable, and blocks nothing', () => {
  const guard = (other: Verdict) => judgedBy(made('one', 'passed', 'accepted'), made('other', other))
  expect(guard('passed').verdict).toBe('blocked')
  expect(guard('not-applicable')).toMatchObject({ verdict: 'not-testable', reasons: [{ kind: 'one-sided' }] })
})
