import { describe, expect, test } from 'vitest'
import { mismatch } from './expectation.ts'

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

  test('a value of another type never lies within a bound', () => {
    expect(holds('5', { 'at-most': 6 })).toBe(false)
    expect(holds(undefined, { 'at-most': 6 })).toBe(false)
  })

  test('what is missing differs from nothing, includes nothing and excludes nothing', () => {
    expect(holds(undefined, { not: 'x' })).toBe(false)
    expect(holds(undefined, { includes: 'x' })).toBe(false)
    expect(holds(undefined, { excludes: 'x' })).toBe(false)
    expect(holds({ solution: true }, { excludes: 'context' })).toBe(false)
  })

  test('a missing value is named', () => {
    expect(mismatch(undefined, 'Bearer', time)).toEqual({ rule: 'equals', wanted: '"Bearer"', got: 'nothing' })
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
