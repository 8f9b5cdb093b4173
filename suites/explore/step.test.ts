import { expect, test } from 'vitest'
import { fixtureText } from './fixture-text.ts'
import {
  atOnce,
  type CallStep,
  type Candidate,
  crowdOf,
  grant,
  list,
  named,
  pause,
  type Shown,
  type Step,
  token,
} from './step.ts'
import { headline } from './words.ts'

const session = (name: string): CallStep => grant('root', ['solution', `session:${name}`], { as: name })
const calls = Array.from({ length: 20 }, (_, at) => session(`crowd9x${at}`))
const burst = atOnce(calls, 'new')
const usesOf = (count: number): Step[] => Array.from({ length: count }, (_, at) => list(token(`crowd9x${at}`)))
const shown = (steps: readonly Step[], refused: readonly number[] = []): Shown => ({
  steps,
  outcomes: steps.map((_, at) => (refused.includes(at) ? 'refused' : 'accepted')),
})

test('a crowd is known by its grants and uses, whatever sessions came before', () => {
  const older = named(session('o1$unique'), 'crowd1o')
  expect(crowdOf(shown([older, pause(1300), burst, ...usesOf(17)]))).toEqual({ burst, live: 17 })
})

test.each<[string, Shown]>([
  ['no uses', shown([burst])],
  ['no more uses than may live', shown([burst, ...usesOf(16)])],
  ['one session used twice', shown([burst, ...usesOf(16), list(token('crowd9x3'))])],
  ['one of seventeen refused', shown([burst, ...usesOf(17)], [5])],
  ['a use of another pair', shown([burst, ...usesOf(17), list(token('pair1'))])],
  ['another grant before', shown([session('pair1'), burst, ...usesOf(17)])],
  ['no more grants than may live', shown([atOnce(calls.slice(4), 'new'), ...usesOf(17)])],
  ['grants of two scopes', shown([atOnce([...calls, grant('root', ['session:a'])], 'new'), ...usesOf(17)])],
])('steps are not one with %s', (_what, steps) => {
  expect(crowdOf(steps)).toBeUndefined()
})

test('a session of a crowd that is refused is told and written as a refusal', () => {
  const { steps, outcomes } = shown([burst, ...usesOf(18)], [18])
  const message = 'A call of solution/listSolutions with an access token was refused'
  const candidate = { kind: 'refused', requirement: 'sessions/created', message } as Candidate
  expect(headline(candidate, { steps, outcomes })).toMatch(/^A call of solution\/listSolutions .* was refused$/)
  const input = { requirement: 'sessions/created', part: '2', sentence: 'A sentence', message, steps, outcomes }
  expect(fixtureText({ ...input, expect: 'accepted' }).fixture).toBeNull()
})
