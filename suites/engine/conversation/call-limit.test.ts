import { expect, test } from 'vitest'
import type { WireAnswer } from '../target.ts'
import { createCallLimit } from './call-limit.ts'

const answered: WireAnswer = { kind: 'answer', status: 200, headers: {}, body: new Uint8Array() }
const lost: WireAnswer = { kind: 'none', reason: 'reset', refusedConnection: false, stale: false }

function hear(limit: ReturnType<typeof createCallLimit>, times: number, tookMs: number): void {
  for (let heard = 0; heard < times; heard += 1) limit.hear(tookMs, answered)
}

test('at most as many calls are under way as the limit allows, and they start in the order of their requests', async () => {
  const limit = createCallLimit(2)
  const events: string[] = []
  const ends: (() => void)[] = []
  const made = ['one', 'two', 'three', 'four'].map((name) =>
    limit.run(() => {
      events.push(name)
      return new Promise<void>((end) => ends.push(end))
    }),
  )
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  await settle()
  expect(events).toEqual(['one', 'two'])
  ends[1]?.()
  await settle()
  expect(events).toEqual(['one', 'two', 'three'])
  for (const end of ends) end()
  await settle()
  for (const end of ends) end()
  await Promise.all(made)
  expect(events).toEqual(['one', 'two', 'three', 'four'])
})

test('the limit grows up to sixteen while answers stay quick', () => {
  const limit = createCallLimit(null)
  expect(limit.atOnce).toBe(4)
  hear(limit, 8, 100)
  expect(limit.atOnce).toBe(6)
  hear(limit, 1000, 110)
  expect(limit.atOnce).toBe(16)
})

test('the limit shrinks when answers become slower, but not below the first one', () => {
  const limit = createCallLimit(null)
  hear(limit, 8 + 12 + 18, 100)
  expect(limit.atOnce).toBe(13)
  hear(limit, 26, 200)
  expect(limit.atOnce).toBe(9)
  hear(limit, 200, 200)
  expect(limit.atOnce).toBe(4)
})

test('a few slow answers change nothing', () => {
  const limit = createCallLimit(null)
  hear(limit, 8, 100)
  for (let round = 0; round < 6; round += 1) {
    hear(limit, 1, 100)
    hear(limit, 1, 600)
  }
  expect(limit.atOnce).toBe(9)
})

test('the limit shrinks when an answer is lost or throttled, until answers come again', () => {
  const limit = createCallLimit(null)
  limit.hear(5, lost)
  expect(limit.atOnce).toBe(2)
  limit.hear(5, { ...answered, status: 429 })
  limit.hear(5, { ...answered, status: 429 })
  expect(limit.atOnce).toBe(1)
  hear(limit, 8, 200)
  expect(limit.atOnce).toBe(3)
})

test('a given number stays, and a rate bounds it', () => {
  const fixed = createCallLimit(3)
  hear(fixed, 100, 1)
  fixed.hear(1, lost)
  expect(fixed.atOnce).toBe(3)
  expect(createCallLimit(null, 2).atOnce).toBe(2)
})

test('an urgent call goes before the others that wait', async () => {
  const limit = createCallLimit(1)
  const events: string[] = []
  const call = (name: string, isUrgent?: boolean): Promise<void> =>
    limit.run(async () => void events.push(name), isUrgent)
  await Promise.all([call('first'), call('second'), call('third'), call('urgent', true)])
  expect(events).toEqual(['first', 'urgent', 'second', 'third'])
})
