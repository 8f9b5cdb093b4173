import { expect, test } from 'vitest'
import type { Answer } from '../engine/model/state.ts'
import type { Candidate, Explorer, Seen } from './explorer-types.ts'
import { cameBetween } from './findings.ts'
import { anyCall, basic, type CallStep, changed, create, grant, list, refresh, token } from './step.ts'

type Line = readonly ['accepted' | 'refused', CallStep]

/** What came before the last of these calls, each a second after the one before. */
function before(lines: readonly Line[], apartMs = 1000, steps: readonly CallStep[] = []) {
  const seenIn = (kind: string, step: CallStep) => [{ step, answer: { kind } as Answer } as Seen]
  const log = lines.map(([kind, step], at) => ({ step, seen: seenIn(kind, step), script: '', at: at * apartMs }))
  const kind = lines.at(-1)?.[0] ?? 'accepted'
  return cameBetween({ log } as unknown as Explorer, { kind, entry: log.length - 1 } as Candidate, steps)
}

const creation = (key: string): Line => ['accepted', create(basic('root'), { name: 'twin', scope: [] }, { as: key })]
const granted = (key: string, pair: string, scope = ['solution']): Line => ['accepted', grant(key, scope, { as: pair })]

test('the changes since the same call was answered rightly', () => {
  const found = before([
    creation('first'),
    ['accepted', list(basic('first'))],
    creation('second'),
    granted('second', 'pair1'),
    granted('first', 'pair2', ['context']),
    ['refused', list(token('pair2'))],
    ['refused', list(basic('first'))],
  ])
  expect(found).toEqual({
    from: 'The same call was accepted before',
    calls: [
      'A call of manager/createApiKey with Basic credentials of root, which made second with the name "twin": accepted',
      'A grant to first for the scope "context" as pair2: accepted',
      '1 other call with first',
    ],
  })
})

test('a call with another pair of the same grant is the same call, one with another scope is not', () => {
  const wrong: Line[] = [granted('root', 'pair3'), ['refused', list(token('pair3'))]]
  const same = before([granted('root', 'pair1'), ['accepted', list(token('pair1'))], ...wrong])
  expect(same).toMatchObject({ calls: ['A grant to root for the scope "solution" as pair3: accepted'] })
  const renewed: Line = ['accepted', refresh('pair1', { as: 'pair2' })]
  expect(before([granted('root', 'pair1'), renewed, ['accepted', list(token('pair2'))], ...wrong])).toBeUndefined()
  // That another pair was refused says nothing of one that must be.
  const revoked: Line[] = [renewed, ['refused', list(token('pair1'))]]
  const others: Line[] = [granted('root', 'pair3'), ['accepted', refresh('pair3', { as: 'pair4' })]]
  const last: Line = ['accepted', list(token('pair3'))]
  expect(before([granted('root', 'pair1'), ...revoked, ...others, last])).toBeUndefined()
  const narrow: Line[] = [granted('root', 'pair1', ['context']), ['accepted', list(token('pair1'))]]
  expect(before([...narrow, ...wrong])).toBeUndefined()
})

test('since its creation, if the call is right and never was accepted', () => {
  const grants = Array.from({ length: 8 }, (_, at) => granted('first', `pair${at}`))
  const { from, calls = [] } = before([creation('first'), ...grants, ['refused', list(basic('first'))]]) ?? {}
  expect(from).toBe('first was created before with the name "twin"')
  expect(calls).toHaveLength(7)
  expect(calls.at(-1)).toBe('2 other calls with first')
  const padded = list(basic('first'), { body: 'with-numbers' })
  expect(before([creation('first'), ...grants, ['refused', padded]])).toBeUndefined()
})

test('nothing that the steps of the finding tell, and no few calls alone', () => {
  const steps = [grant('root', ['solution'], { as: 'pair2' }), list(token('pair2'))]
  const right: Line[] = [granted('root', 'pair1'), ['accepted', list(token('pair1'))]]
  const wrong: Line[] = [granted('root', 'pair2'), ['refused', list(token('pair2'))]]
  const other: Line = ['accepted', list(basic('root'))]
  expect(before([...right, other, ...wrong], 1000, steps)).toBeUndefined()
  const many = before([...right, other, other, other, other, other, ...wrong], 1000, steps)
  expect(many?.calls).toEqual(['5 other calls with root'])
})

test('nothing, if a wrong call is accepted at its first time, or no other call was made', () => {
  const wrong = changed(list(basic('first')), { field: 'basic-secret', operation: 'upper-case' })
  expect(before([creation('first'), granted('first', 'pair1'), ['accepted', wrong]])).toBeUndefined()
  expect(before([creation('first'), ['refused', list(basic('first'))]])).toBeUndefined()
  expect(before([creation('first'), ['refused', wrong], granted('first', 'pair1'), ['accepted', wrong]])).toEqual({
    from: 'The same call was refused before',
    calls: ['A grant to first for the scope "solution" as pair1: accepted'],
  })
})

test('the time that passed, and the end of a key', () => {
  const end: Line = ['accepted', anyCall('manager/deleteApiKey', { id: '$other.id' }, basic('root'))]
  const [right, wrong]: [Line, Line] = [
    ['accepted', list(basic('root'))],
    ['refused', list(basic('root'))],
  ]
  const lines = [right, end, wrong]
  expect(before(lines, 2 * 3_600_000)?.calls).toEqual([
    'A call of manager/deleteApiKey with Basic credentials of root: accepted',
    '4 hours passed',
  ])
  expect(before(lines)?.calls).toHaveLength(1)
  expect(before([right, wrong], 180_000)?.calls).toEqual(['3 minutes passed'])
})
