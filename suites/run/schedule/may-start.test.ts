import { describe, expect, test } from 'vitest'
import { type Claims, noClaims } from '../../engine/conversation/cases.ts'
import { type Board, type Entry, nextToStart } from './may-start.ts'

const entry = (key: string, claims: Partial<Claims> = {}, more: Partial<Entry> = {}): Entry => ({
  key,
  isTestKey: false,
  claims: { ...noClaims, ...claims },
  state: 'pending',
  isAgain: false,
  startedAs: 0,
  ...more,
})

const running = (key: string, claims: Partial<Claims> = {}, more: Partial<Entry> = {}): Entry =>
  entry(key, claims, { state: 'running', ...more })

const emptyBoard: Board = {
  entries: [],
  unnamedAreFree: false,
  sessionsPerKey: false,
  movesClock: false,
  isDoubted: false,
  grantsQueue: false,
}

function next(entries: Entry[], board: Partial<Board> = {}): string | undefined {
  return nextToStart({ ...emptyBoard, entries, ...board })?.key
}

describe('what may start', () => {
  const grants = { grants: 1 }
  const fills = { grants: 17, fills: 'sessions' } as const
  const fillsKeys = { makesKeys: true, fills: 'keys' } as const
  const testKey = { isTestKey: true }
  test.each<[string, Entry[], string | undefined]>([
    [
      'nothing together with the first test key',
      [running('a', {}, testKey), entry('b', {}, testKey), entry('c')],
      undefined,
    ],
    ['the next test key', [entry('a', {}, { ...testKey, state: 'done' }), entry('b', {}, testKey), entry('c')], 'b'],
    [
      'ordinary cases together with anything',
      [running('a', grants), running('b', { makesKeys: true }), entry('c')],
      'c',
    ],
    ['what waits before what does not', [entry('a', grants), entry('b', { waits: true })], 'b'],
    ['what takes sessions before what does not', [entry('a'), entry('b', grants)], 'b'],
    [
      'one that creates keys after another',
      [running('a', { makesKeys: true }), entry('b', { makesKeys: true })],
      undefined,
    ],
    ['nothing together with a race', [running('a', { races: true }), entry('b')], undefined],
    ['a race only alone', [running('a'), entry('b', { races: true })], undefined],
    ['a repeated case only alone', [running('a'), entry('b', {}, { isAgain: true })], undefined],
    ['a full house of sessions after the other sessions', [running('a', grants), entry('b', fills)], undefined],
    [
      'a case that fills the sessions together with one that has none',
      [running('a', { makesKeys: true }), entry('b', fills)],
      'b',
    ],
    [
      'no session while a case fills the sessions',
      [running('a', fills), entry('b', grants, { state: 'pending' })],
      undefined,
    ],
    [
      'a full house of sessions before a race of sessions, which runs alone',
      [running('a'), entry('race', { grants: 6, named: 4, races: true }), entry('b', fills)],
      'b',
    ],
    ['one full house after another', [running('a', fills), entry('b', fills)], undefined],
    ['a full house of keys after all else', [running('a'), entry('b', fillsKeys)], undefined],
    ['a full house of keys at the end', [entry('a', {}, { state: 'done' }), entry('b', fillsKeys)], 'b'],
  ])('%s', (_name, entries, key) => {
    expect(next(entries)).toBe(key)
  })
})

describe('no case takes the place of a session that another case still needs', () => {
  const waiting = running('a', { grants: 2, waits: true, users: ['root'] }, { startedAs: 2 })
  const other = entry('b', { grants: 3, users: ['root'] })
  const ended = (startedAs: number, claims: Partial<Claims>): Entry =>
    entry('c', { users: ['root'], ...claims }, { state: 'done', startedAs })

  test('where every grant may take one', () => {
    expect(next([waiting, other, ended(3, { grants: 11 })])).toBe('b')
    expect(next([waiting, other, ended(3, { grants: 12 })])).toBeUndefined()
    expect(next([waiting, other, ended(1, { grants: 12 })])).toBe('b')
    expect(next([{ ...waiting, state: 'done' }, other, ended(3, { grants: 12 })])).toBe('b')
  })

  test('where only sessions with a name take one', () => {
    const board = { unnamedAreFree: true }
    const filling = running('a', { grants: 17, named: 17, fills: 'sessions' })
    expect(next([waiting, other, ended(3, { grants: 100, named: 4 })], board)).toBe('b')
    expect(next([filling, other], board)).toBe('b')
    expect(next([filling, entry('b', { grants: 3, named: 1 })], board)).toBeUndefined()
  })

  test('where each key has its own', () => {
    const board = { sessionsPerKey: true }
    const fills = { grants: 17, named: 17, fills: 'sessions' } as const
    const ofRoot = running('a', { ...fills, users: ['root'] })
    expect(next([ofRoot, entry('b', { ...fills, users: ['erin'] })], board)).toBe('b')
    expect(next([ofRoot, entry('b', { ...fills, users: ['erin', 'root'] })], board)).toBeUndefined()
    expect(next([ofRoot, entry('b', { grants: 1, users: ['*'] })], board)).toBeUndefined()
    expect(next([waiting, other, ended(3, { grants: 12 })], board)).toBeUndefined()
    expect(next([waiting, other, ended(3, { grants: 12, users: ['erin'] })], board)).toBe('b')
  })

  test('until it is known which of this holds', () => {
    const observing = entry('b', { grants: 17, fills: 'sessions', observesCounting: true })
    expect(next([other, observing])).toBe('b')
    expect(next([other, { ...observing, state: 'running' }])).toBeUndefined()
    expect(next([entry('c'), { ...observing, state: 'running' }])).toBe('c')
  })
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
    entry('race', { races: true, grants: 20, fills: 'sessions' }),
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
    const started = nextToStart({ ...emptyBoard, entries })
    if (started === undefined) break
    started.state = 'done'
    order.push(started.key)
  }
  expect(order).toEqual(['test key', 'created', 'wait', 'session', 'race', 'keys'])
})

test('after a doubt no two cases with tokens run at the same time', () => {
  const entries = [running('a', { grants: 1 }), entry('b', { grants: 1 }), entry('c')]
  expect(next(entries)).toBe('b')
  expect(next(entries, { isDoubted: true })).toBe('c')
})

test('while grants queue only cases without tokens start', () => {
  const entries = [entry('a', { waits: true, grants: 1 }), entry('b', { grants: 1 }), entry('c')]
  expect(next(entries)).toBe('a')
  expect(next(entries, { grantsQueue: true })).toBe('c')
})
