import { expect, test } from 'vitest'
import { grant, inDocumentOrder, list, refresh, token } from './calls.ts'
import { fixtureText } from './fixture-text.ts'
import type { Step } from './step.ts'

const textOf = (steps: readonly Step[], requirement = 'refresh/revokes-access'): string =>
  fixtureText({
    requirement,
    part: '3',
    sentence: 'A refresh revokes the old access token',
    message: 'A call was accepted',
    steps,
    outcomes: steps.map(() => 'accepted'),
    expect: 'refused',
  }) ?? ''

const steps: readonly Step[] = [
  grant('by-ecc', ['solution'], { as: 'pair7' }),
  refresh('pair7', { as: 'pair8' }),
  list(token('pair7')),
]

test('grants and refreshes have short forms, and names that a reader can follow', () => {
  expect(textOf(steps.map(inDocumentOrder))).toContain(
    [
      '  - { grant: erin, scope: ["solution"], expect: accepted, keep: { pair: result } }',
      '  - { refresh: $pair, expect: accepted, keep: { pair-2: result } }',
    ].join('\n'),
  )
})

test('where the order of the params matters, they are written as they were sent', () => {
  const params = {
    scope: ['solution'],
    grantType: 'api_key_credentials',
    apiKeySecret: '$root.secret',
    apiKeyId: '$root.id',
  }
  const step: Step = { ...grant('root', ['solution'], { as: 'pair7' }), params }
  expect(textOf([step, ...steps.slice(2)])).toContain('params: { scope: ["solution"], grantType: "api_key_credentials"')
})

const race = (on: 'new' | 'warm'): Step => ({
  do: 'burst',
  on,
  calls: ['x1', 'x2', 'x3'].map((as) => refresh('pair7', { as })),
})

test('equal calls at once are written, as a preparation and as what is judged', () => {
  const [first, , last] = steps.map(inDocumentOrder)
  if (first === undefined || last === undefined) throw new Error('no steps')
  expect(textOf([first, race('warm'), last])).toContain('  - { refresh: $pair, parallel: 3, connections: warm }')
  expect(textOf([first, race('new')])).toContain(
    '  - { refresh: $pair, parallel: 3, connections: new, tally: { accepted: at-most 1 } }',
  )
})

test('there are no words for different calls at once, and for one result of many', () => {
  const [first] = steps.map(inDocumentOrder)
  if (first === undefined) throw new Error('no steps')
  const mixed: Step = { do: 'burst', on: 'new', calls: [refresh('pair7'), list(token('pair7'))] }
  expect(textOf([first, mixed])).toBe('')
  expect(textOf([first, mixed, list(token('pair7'))])).toBe('')
  expect(textOf([first, race('new'), list(token('x1'))])).toBe('')
})

test('a finding about sessions is written only where every reading has the same oldest session', () => {
  const session = (name: string, who = 'root'): Step =>
    grant(who, ['solution', `session:${name}`], { as: `pair${name}` })
  const last = list(token('paira'))
  const written = (steps: readonly Step[]): boolean => textOf([...steps, last], 'sessions/oldest-removed') !== ''
  expect(written([session('a'), session('b')])).toBe(true)
  // Used later, it is not the longest unused; what a name used again does is open, and whether other keys are other users.
  expect(written([session('a'), session('b'), last])).toBe(false)
  expect(written([session('a'), session('b'), refresh('paira', { as: 'next' })])).toBe(false)
  expect(written([session('a'), session('a')])).toBe(false)
  expect(written([session('a'), session('b', 'by-basic')])).toBe(false)
  expect(written([session('a'), grant('root', ['solution'], { as: 'plain' })])).toBe(false)
})
