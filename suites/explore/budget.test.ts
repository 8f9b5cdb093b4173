import { expect, test } from 'vitest'
import { likelyCalls, sizesFor } from './budget.ts'

const minute = { maxCalls: 150_000, made: 60, timeLeftMs: 58_000 }

test('a server that is far away gets the sequences of few calls, and one nearby those of many', () => {
  expect(sizesFor(likelyCalls({ ...minute, callMs: 100 })).firstTurns).toBe(sizesFor(1000).firstTurns)
  expect(sizesFor(likelyCalls({ ...minute, callMs: 2 })).storms).toBe(sizesFor(150_000).storms)
})

test('a budget of calls is never exceeded', () => {
  expect(likelyCalls({ ...minute, maxCalls: 800, callMs: 2 })).toBe(800)
  expect(likelyCalls({ ...minute, maxCalls: 800, callMs: 0 })).toBe(800)
})
