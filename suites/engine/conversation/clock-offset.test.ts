import { expect, test } from 'vitest'
import { narrowOffset, offsetMs, offsetUncertaintyMs, signingOffsetMs } from './clock-offset.ts'

const at = (ms: number): string => new Date(ms).toUTCString()
const now = Date.parse('2026-01-01T00:00:00.400Z')

test('a clock that may agree counts as agreeing', () => {
  const offset = narrowOffset(undefined, at(now), now - 20, now + 20)
  expect(offsetMs(offset)).toBe(0)
  expect(offsetUncertaintyMs(offset)).toBeLessThanOrEqual(1000)
})

test('a clock that is five minutes ahead is found within the second of its Date header', () => {
  const ahead = 5 * 60_000
  const offset = narrowOffset(undefined, at(now + ahead), now, now + 50)
  expect(Math.abs(offsetMs(offset) - ahead)).toBeLessThanOrEqual(1000)
})

test('every further answer narrows it', () => {
  const ahead = 300_250
  let offset = narrowOffset(undefined, at(now + ahead), now, now + 5)
  const before = offsetUncertaintyMs(offset)
  for (let step = 1; step <= 10; step += 1) {
    const sent = now + step * 1087
    offset = narrowOffset(offset, at(sent + ahead), sent, sent + 5)
  }
  expect(offsetUncertaintyMs(offset)).toBeLessThan(before)
  expect(Math.abs(offsetMs(offset) - ahead)).toBeLessThan(200)
})

test('a Date header of full minutes may name the last one', () => {
  const midnight = Date.parse('2026-01-01T00:00:00Z')
  let offset = narrowOffset(undefined, at(midnight), midnight + 40_000, midnight + 40_010)
  for (const ms of [50_000, 59_900, 60_100, 75_000]) {
    const date = at(midnight + Math.floor(ms / 60_000) * 60_000)
    offset = narrowOffset(offset, date, midnight + ms, midnight + ms + 10)
  }
  expect(offsetMs(offset)).toBe(0)
  expect(offsetUncertaintyMs(offset)).toBeLessThan(1000)
})

test('after the clock was set, its new time is used', () => {
  const offset = narrowOffset(undefined, at(now), now, now)
  const stepped = narrowOffset(offset, at(now + 60_000), now, now)
  expect(offsetMs(stepped)).toBeGreaterThan(59_000)
})

test('a missing or unreadable Date changes nothing', () => {
  expect(narrowOffset(undefined, undefined, now, now)).toBeUndefined()
  expect(narrowOffset(undefined, 'today', now, now)).toBeUndefined()
  expect(offsetMs(undefined)).toBe(0)
})

test('of two Date headers the first counts, and text that is not a date is ignored', () => {
  const known = narrowOffset(undefined, at(now), now - 20, now + 20)
  expect(narrowOffset(undefined, `${at(now)}, ${at(now - 3_600_000)}`, now - 20, now + 20)).toEqual(known)
  expect(narrowOffset(known, 'yesterday', now, now)).toBe(known)
  expect(narrowOffset(known, undefined, now, now)).toBe(known)
})

test('signed timestamps are never in the future, and at most a second old', () => {
  for (const ahead of [-200_500, -1, 0, 1, 300_250]) {
    const offset = narrowOffset(undefined, at(now + ahead), now - 20, now + 20)
    expect(signingOffsetMs(offset)).toBeLessThanOrEqual(ahead)
    expect(signingOffsetMs(offset)).toBeGreaterThan(ahead - 1100)
  }
  expect(signingOffsetMs(undefined)).toBe(0)
})
