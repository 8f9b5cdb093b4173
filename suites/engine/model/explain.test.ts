import { describe, expect, test } from 'vitest'
import {
  accepted,
  afterGrants,
  at,
  correctHistory,
  lost,
  newState,
  pairAnswer,
  refreshCall,
  refused,
  tokensOf,
  use,
} from '../../self/made-up-calls.ts'
import { seededRandom } from '../signer/random.ts'
import { type Exchange, explain } from './explain.ts'
import { forgetSessions } from './learn.ts'
import type { Answer, Call } from './state.ts'

const during = (call: Call, answer: Answer, from: number, to: number): Exchange => ({
  call,
  answer,
  span: { from: at(from).from, to: at(to).from },
  like: `${call.body} ${call.authorization ?? ''} ${answer.kind}`,
})

const state = afterGrants(newState(), ['p'], ['solution'])
const useOld = use('p')
const refreshOld = refreshCall(tokensOf('p').refresh)

describe('a refresh beside other calls', () => {
  test('an old token may be accepted while the refresh is under way, but not after its answer', () => {
    const taken = during(refreshOld, pairAnswer('q', ['solution'], at(100)), 100, 200)
    expect(explain(state, [taken, during(useOld, accepted(), 150, 160)]).is).toBe('explained')
    expect(explain(state, [taken, during(useOld, accepted(), 210, 220)]).is).toBe('impossible')
    expect(explain(state, [taken, during(useOld, refused, 90, 95)]).is).toBe('impossible')
  })

  test('the old token is refused because of it, and not because of what is not known of sessions', () => {
    const unknown = forgetSessions(state, at(50))
    const all = [
      during(useOld, refused, 100, 200),
      during(refreshOld, pairAnswer('q', ['solution'], at(100)), 100, 200),
      during(useOld, refused, 100, 200),
    ]
    const found = explain(unknown, all)
    expect(found).toMatchObject({ is: 'explained', order: [1, 0, 2] })
    expect(found.is === 'explained' && found.state.sessions.length).toBe(unknown.sessions.length)
  })

  test('of simultaneous refreshes one succeeds', () => {
    const win = (name: string) => during(refreshOld, pairAnswer(name, ['solution'], at(100)), 100, 200)
    const lose = during(refreshOld, refused, 100, 200)
    expect(explain(state, [lose, win('q'), lose, lose]).is).toBe('explained')
    const twice = explain(state, [win('q'), lose, lose, win('r'), lose])
    expect(twice).toEqual({ is: 'impossible', part: [0, 3] })
    expect(explain(state, [lose, lose]).is).toBe('impossible')
  })

  test('a lost answer may have happened or not, then or later', () => {
    const gone = during(refreshOld, lost, 100, 110)
    expect(explain(state, [gone, during(useOld, accepted(), 200, 210)]).is).toBe('explained')
    expect(explain(state, [gone, during(useOld, refused, 200, 210)]).is).toBe('explained')
    expect(explain(state, [during(useOld, refused, 10, 20), gone]).is).toBe('impossible')
  })

  test('thirty equal calls take no time', () => {
    const lose = during(refreshOld, refused, 100, 200)
    const all = [...Array.from({ length: 28 }, () => lose), during(refreshOld, pairAnswer('q', [], at(100)), 100, 200)]
    expect(explain(state, all).is).toBe('explained')
    expect(explain(state, [...all, during(refreshOld, pairAnswer('r', [], at(100)), 100, 200)]).is).toBe('impossible')
  })
})

test('raises no alarm in 40 correct histories; half of them lose a tenth of their answers', () => {
  const random = seededRandom(11)
  for (let round = 0; round < 40; round++) {
    const start = afterGrants(newState(), ['a', 'b', 'c'], ['solution'])
    const how = { random, reading: round % start.sessions.length, lossy: round % 2 === 0, calls: 12 }
    expect(explain(start, correctHistory(start, how)).is).not.toBe('impossible')
  }
})
