import { expect, test } from 'vitest'
import { sizesFor } from './budget.ts'

const minute = { maxCalls: 150_000, made: 60, timeLeftMs: 58_000, waits: true }
const least = sizesFor({ ...minute, maxCalls: 1000, callMs: 1 })
const most = sizesFor({ ...minute, callMs: 0, waits: false })
const few = { column: 0, reserved: 0 }

test('a server that answers slowly, and a small budget, get the sequences of few calls, and one nearby those of many', () => {
  expect(sizesFor({ ...minute, callMs: 100 })).toMatchObject({ ...few, firstTurns: least.firstTurns })
  expect(sizesFor({ ...minute, callMs: 1 }).storms).toBe(most.storms)
  for (const callMs of [0, 2]) expect(sizesFor({ ...minute, maxCalls: 800, waits: false, callMs })).toMatchObject(few)
})

test('pauses count: a short exploration of a fast server makes few sessions, and keeps time for the other sequences', () => {
  const short = sizesFor({ ...minute, callMs: 1, timeLeftMs: 28_000 })
  expect(short.storms).toBe(least.storms)
  expect(short.sequencesMs).toBeGreaterThan(2000)
  expect(sizesFor({ ...minute, callMs: 1, timeLeftMs: 28_000, waits: false }).storms).toBe(most.storms)
})

test('the last stages keep calls and time, but no more than a fifth of the time, and no call of very few', () => {
  expect(sizesFor({ ...minute, maxCalls: 1000, callMs: 1 }).reserved).toBe(0)
  expect(sizesFor({ ...minute, maxCalls: 5000, callMs: 1 }).reserved).toBeGreaterThan(200)
  expect(sizesFor({ ...minute, callMs: 5 }).reservedMs).toBeGreaterThan(2000)
  expect(sizesFor({ ...minute, callMs: 1000 }).reservedMs).toBeLessThanOrEqual(minute.timeLeftMs / 5)
})
