import { describe, expect, test } from 'vitest'
import type { Claims } from '../engine/case/claims.ts'
import { type Board, type Entry, nextToStart } from './may-start.ts'

const nothing: Claims = { grants: 0, makesKeys: false, fills: null, quiet: null, waits: false }

const entry = (key: string, claims: Partial<Claims> = {}, more: Partial<Entry> = {}): Entry => ({
  key,
  isTestKey: false,
  claims: { ...nothing, ...claims },
  state: 'pending',
  isAgain: false,
  startedAfterGrants: 0,
  ...more,
})

const running = (key: string, claims: Partial<Claims> = {}, more: Partial<Entry> = {}): Entry =>
  entry(key, claims, { state: 'running', ...more })

function next(entries: Entry[], board: Partial<Board> = {}): string | undefined {
  return nextToStart({ entries, grants: 0, movesClock: false, ...board })?.key
}

describe('what may start', () => {
  const grants = { grants: 1 }
  const fills = { grants: 17, fills: 'sessions' } as const
  const fillsKeys = { makesKeys: true, fills: 'keys' } as const
  const testKey = { isTestKey: true }
  test.each<[string, Entry[], string | undefined]>([
    ['nothing beside the first test key', [running('a', {}, testKey), entry('b', {}, testKey), entry('c')], undefined],
    ['the next test key', [entry('a', {}, { ...testKey, state: 'done' }), entry('b', {}, testKey), entry('c')], 'b'],
    ['ordinary cases beside anything', [running('a', grants), running('b', { makesKeys: true }), entry('c')], 'c'],
    ['what waits before what does not', [entry('a', grants), entry('b', { waits: true })], 'b'],
    ['what takes sessions before what does not', [entry('a'), entry('b', grants)], 'b'],
    [
      'one that creates keys after another',
      [running('a', { makesKeys: true }), entry('b', { makesKeys: true })],
      undefined,
    ],
    ['nothing beside a race', [running('a', { quiet: 'race' }), entry('b')], undefined],
    ['a race beside nothing', [running('a'), entry('b', { quiet: 'race' })], undefined],
    ['a case again beside nothing', [running('a'), entry('b', {}, { isAgain: true })], undefined],
    ['a full house of sessions after the other sessions', [running('a', grants), entry('b', fills)], undefined],
    ['a full house of sessions beside what has none', [running('a', { makesKeys: true }), entry('b', fills)], 'b'],
    ['no session beside a full house', [running('a', fills), entry('b', grants, { state: 'pending' })], undefined],
    ['one full house after another', [running('a', fills), entry('b', fills)], undefined],
    ['a full house of keys after all else', [running('a'), entry('b', fillsKeys)], undefined],
    ['a full house of keys at the end', [entry('a', {}, { state: 'done' }), entry('b', fillsKeys)], 'b'],
  ])('%s', (_name, entries, key) => {
    expect(next(entries)).toBe(key)
  })
})

test('nobody takes the place of a session that somebody still needs', () => {
  const waiting = running('a', { grants: 2, waits: true }, { startedAfterGrants: 4 })
  const other = entry('b', { grants: 3 })
  expect(next([waiting, other], { grants: 17 })).toBe('b')
  expect(next([waiting, other], { grants: 18 })).toBeUndefined()
  expect(next([{ ...waiting, state: 'done' }, other], { grants: 18 })).toBe('b')
})

test('where the clock is moved, what waits runs alone and in its order', () => {
  const board = { movesClock: true }
  expect(next([entry('a'), entry('b', { waits: true })], board)).toBe('a')
  expect(next([running('a'), entry('b', { waits: true })], board)).toBeUndefined()
  expect(next([running('a', { waits: true }), entry('b')], board)).toBeUndefined()
})

test('every case of a run comes to its turn', () => {
  const entries = [
    entry('keys', { makesKeys: true, fills: 'keys', grants: 2 }),
    entry('race', { quiet: 'race', grants: 20, fills: 'sessions' }),
    entry('session', { grants: 2 }),
    entry('created', { makesKeys: true, grants: 1 }),
    entry('wait', { waits: true, grants: 30 }),
    entry('test key', { makesKeys: true }, { isTestKey: true }),
  ].sort(
    (one, other) =>
      Number(other.isTestKey) - Number(one.isTestKey) ||
      Number(one.claims.fills === 'keys') - Number(other.claims.fills === 'keys'),
  )
  const order: string[] = []
  for (;;) {
    const started = nextToStart({ entries, grants: 0, movesClock: false })
    if (started === undefined) break
    started.state = 'done'
    order.push(started.key)
  }
  expect(order).toEqual(['test key', 'created', 'wait', 'session', 'race', 'keys'])
})
