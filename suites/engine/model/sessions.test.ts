import { describe, expect, test } from 'vitest'
import {
  accepted,
  at,
  grantCall,
  judged,
  listWith,
  lost,
  newState,
  pairAnswer,
  refreshCall,
  refused,
  tokenHeader,
  tokensOf,
} from '../../self/made-up-calls.ts'
import { learn } from './learn.ts'
import type { Touch } from './sessions.ts'
import { addSession, everySessionTable, liveness, touchSession } from './sessions.ts'
import type { State } from './state.ts'

/** Sessions created one after another, this many ms apart, on a target whose clock is known. */
function withSessions(names: readonly string[], apartMs: number): State {
  const start: State = { ...newState(), tokenClock: { from: -1000, to: 1000 } }
  return names.reduce((state, name, index) => {
    const made = at(index * apartMs)
    return learn(state, grantCall(['solution', `session:${name}`]), pairAnswer(name, ['solution'], made), made)
  }, start)
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, n) => `s${n}`)
const use = (name: string) => listWith(tokenHeader(name))

describe('sixteen sessions', () => {
  test('live, and the seventeenth removes the oldest', () => {
    const sixteen = withSessions(numbered(16), 100)
    expect(judged(sixteen, use('s0'), at(2000)).is).toBe('accepted')
    const one = learn(withSessions(['s0'], 0), use('s0'), accepted(), at(10))
    const names = numbered(17).slice(1)
    let state = one
    names.forEach((name, n) => {
      state = learn(
        state,
        grantCall(['solution', `session:${name}`]),
        pairAnswer(name, ['solution'], at(3000 + n)),
        at(3000 + n),
      )
    })
    expect(judged(state, use('s0'), at(5000))).toMatchObject({ is: 'refused', requirement: 'sessions/oldest-removed' })
    expect(judged(state, refreshCall(tokensOf('s0').refresh), at(5000))).toMatchObject({
      is: 'refused',
      requirement: 'sessions/removed-refresh',
    })
    expect(judged(state, use('s16'), at(5000)).is).toBe('accepted')
  })

  test('made within a second: one is gone, but it is unknown which is the oldest', () => {
    let state = withSessions(numbered(17), 10)
    expect(judged(state, use('s0'), at(300)).is).toBe('open')
    for (const name of numbered(15)) state = learn(state, use(name), accepted(), at(400))
    expect(judged(state, use('s16'), at(500)).is).toBe('accepted')
    expect(judged(state, use('s15'), at(500)).is).toBe('refused')
  })

  test('made at once: the one whose answer came last may have been created first', () => {
    const state = withSessions(numbered(17), 1)
    expect(judged(state, use('s16'), at(300)).is).toBe('open')
  })

  test('of twenty-four simultaneous ones eight are gone', () => {
    let state = withSessions(numbered(24), 1)
    for (const name of numbered(24).slice(8)) state = learn(state, use(name), accepted(), at(200))
    expect(judged(state, use('s0'), at(300)).is).toBe('refused')
  })
})

describe('the readings of the open questions', () => {
  test('each combination is a table of its own', () => {
    const tables = everySessionTable()
    expect(tables).toHaveLength(5 * 3 * 6)
    expect(new Set(tables.map(({ reading }) => JSON.stringify(reading))).size).toBe(tables.length)
  })

  test('an answer drops those that it contradicts', () => {
    let state = withSessions(['s0'], 0)
    for (let n = 0; n < 16; n++)
      state = learn(state, grantCall(['solution']), pairAnswer(`u${n}`, [], at(2000 + n)), at(2000 + n))
    expect(judged(state, use('s0'), at(4000)).is).toBe('open')
    const counted = learn(state, use('s0'), accepted(), at(4000))
    expect(counted.sessions.length).toBeLessThan(state.sessions.length)
    expect(counted.sessions.every(({ reading }) => reading.unnamed !== 'each')).toBe(true)
  })

  test('one session is older than another if it was created, refreshed and used before it', () => {
    const who = (line: number) => ({ key: 'k', line, name: `n${line}`, keyName: '', isRoot: false })
    const sixteen = everySessionTable().map((table) =>
      Array.from({ length: 16 }, (_, line) => line).reduce(
        (one, line) => addSession(one, who(line), at(line * 2000)),
        table,
      ),
    )
    const seen = (lines: readonly number[], how: Touch) =>
      new Set(
        sixteen
          .map((table) =>
            lines.reduce((one, line, turn) => touchSession(one, who(line), how, at(40_000 + turn * 2000)), table),
          )
          .map((table) => addSession(table, who(16), at(44_000)))
          .map((table) => `${liveness(table, who(0))} ${liveness(table, who(1))}`),
      )
    expect(seen([], 'used')).toEqual(new Set(['dead live']))
    // Whether a use that was refused for its scope counts as one is open, too.
    for (const how of ['used', 'perhaps used', 'refreshed'] as const)
      expect(seen([0], how)).toEqual(new Set(['unknown unknown']))
    expect(seen([0, 1], 'used')).toEqual(new Set(['unknown live']))
    expect(seen([1], 'refreshed')).toEqual(new Set(['dead live']))
  })

  test('a name used again replaces, joins or adds', () => {
    const tables = everySessionTable().map((table) => {
      const first = addSession(table, { key: 'k', line: 1, name: 'n', keyName: '', isRoot: false }, at(0))
      return addSession(first, { key: 'k', line: 2, name: 'n', keyName: '', isRoot: false }, at(10))
    })
    const old = (reading: string) =>
      tables
        .filter((table) => table.reading.reusedName === reading)
        .map((table) => liveness(table, { key: 'k', line: 1, name: 'n', keyName: '', isRoot: false }))
    expect(new Set(old('replaces'))).toEqual(new Set(['dead']))
    expect(new Set(old('joins'))).toEqual(new Set(['live']))
    expect(new Set(old('adds'))).toEqual(new Set(['live']))
  })

  test('if no reading is left, nothing more is judged for this user', () => {
    const state = withSessions(['s0'], 0)
    const contradicted = learn(state, use('s0'), refused, at(500))
    expect(judged(contradicted, use('s0'), at(600)).is).toBe('open')
  })

  test('a name of a grant whose answer was lost may have been used', () => {
    const start: State = { ...newState(), tokenClock: { from: -1000, to: 1000 } }
    const again = grantCall(['solution', 'session:s0'])
    const other = grantCall(['solution', 'session:s1'])
    const after = learn(start, again, lost, at(10))
    expect(judged(after, again, at(8000)).is).toBe('open')
    expect(judged(after, other, at(8000)).is).toBe(judged(start, again, at(8000)).is)
    expect(judged(start, again, at(8000)).is).toBe('accepted')
  })

  test('a session may end before its tokens: after ten seconds it is open', () => {
    expect(judged(withSessions(['s0'], 0), use('s0'), at(12_000)).is).toBe('open')
  })
})
