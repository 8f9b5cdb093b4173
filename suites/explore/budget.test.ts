import { expect, test } from 'vitest'
import { sizesFor } from './budget.ts'

const minute = { maxCalls: 150_000, made: 60, timeLeftMs: 58_000, waits: true }
const least = sizesFor({ ...minute, maxCalls: 1000, callMs: 1 })
const most = sizesFor({ ...minute, callMs: 0, waits: false })

test('a server that is far away gets the sequences of few calls, and one nearby those of many', () => {
  expect(sizesFor({ ...minute, callMs: 100 }).firstTurns).toBe(least.firstTurns)
  expect(sizesFor({ ...minute, callMs: 1 }).storms).toBe(most.storms)
})

test('pauses count: a short exploration of a fast server makes few sessions, and keeps time for the other sequences', () => {
  const short = sizesFor({ ...minute, callMs: 1, timeLeftMs: 28_000 })
  expect(short.storms).toBe(least.storms)
  expect(short.sequencesMs).toBeGreaterThan(2000)
  expect(most.sequencesMs).toBe(0)
})

test('the last stages keep calls and time, but no more than a fifth of the time, and no call of very few', () => {
  expect(sizesFor({ ...minute, maxCalls: 1000, callMs: 1 }).reserved).toBe(0)
  expect(sizesFor({ ...minute, maxCalls: 5000, callMs: 1 }).reserved).toBeGreaterThan(200)
  expect(sizesFor({ ...minute, callMs: 5 }).reservedMs).toBeGreaterThan(2000)
  expect(sizesFor({ ...minute, callMs: 1000 }).reservedMs).toBeLessThanOrEqual(minute.timeLeftMs / 5)
})

test('where the clock is moved, a short time still keeps most of it for the sequences', () => {
  const short = sizesFor({ ...minute, callMs: 0, timeLeftMs: 3000, waits: false })
  expect(short.storms).toBe(most.storms)
  expect(short.reservedMs).toBeLessThanOrEqual(600)
})

test('a small budget has the least sizes, however much time is left, and so has a server that answers slowly', () => {
  const small = { ...minute, maxCalls: 800, waits: false }
  const least = { column: 0, reserved: 0 }
  for (const callMs of [0, 2]) expect(sizesFor({ ...small, callMs })).toMatchObject(least)
  expect(sizesFor({ ...minute, callMs: 100 })).toMatchObject(least)
})
