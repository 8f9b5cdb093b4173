import { describe, expect, test } from 'vitest'
import type { ProofLine } from './explore-proof.ts'
import { missedGoals, proofSummary } from './explore-proof-tables.ts'
import type { ProofFinding } from './proof-model.ts'

const finding: ProofFinding = {
  by: 'model',
  requirement: 'basic/credentials',
  level: 'must',
  id: 'found/basic/credentials/let-in',
  message: '',
  again: '3/3',
  steps: 1,
  fixture: null,
}
const line = (id: string, breaks: string, found: ProofFinding[], way: 'run' | 'explore' = 'run'): ProofLine => ({
  way,
  id,
  breaks,
  seed: 1,
  calls: 1,
  ms: 1,
  found,
})
const caught = Array.from({ length: 19 }, (_, at) => line(`caught-${at}`, 'basic/credentials', [finding]))

describe('the goals', () => {
  test('hold where 95 of 100 are found by a run, and no conforming server is accused', () => {
    expect(missedGoals([...caught, line('missed', 'basic/credentials', []), line('right', '', [])])).toEqual([])
  })

  test('are missed with one more', () => {
    const lines = [...caught, line('one', 'basic/credentials', []), line('two', 'basic/credentials', [])]
    expect(missedGoals(lines)).toEqual(['A run finds less than 95 %'])
    const explored = lines.slice(1).map((one) => ({ ...one, way: 'explore' as const }))
    expect(missedGoals(explored)).toEqual(['"explore" finds less than 98 %'])
  })

  test.each(['model', 'listening'] as const)('are missed where the %s accuses a conforming server', (by) => {
    const warning: ProofFinding = { ...finding, by, level: 'implied' }
    expect(missedGoals([line('right', '', [warning])])).toEqual(['1 false alarm'])
    expect(missedGoals([line('right', '', [{ ...warning, by: 'case' }])])).toEqual([])
  })
})

test('the sets are printed apart', () => {
  const text = proofSummary(
    [line('old', 'basic/credentials', [finding]), line('new', 'basic/credentials', [])],
    new Map([
      ['first', new Set(['old'])],
      ['second', new Set(['new'])],
    ]),
  )
  expect(text).toContain('The first set:')
  expect(text).toContain('| the same, then the model: a disposable run | 0 of 1 (0.0 %) |')
  expect(text).toContain('Missed by a disposable run: `new`.')
})

test('a set without broken servers has counts of false alarms only', () => {
  const text = proofSummary(
    [line('right', '', []), line('accused', '', [finding])],
    new Map([['sixth', new Set(['right', 'accused'])]]),
  )
  expect(text).toContain('The sixth set:')
  expect(text).toContain('| the same, then the model: a disposable run | – | 0 | 1 of 2 |')
  expect(text).not.toContain('Missed by')
})
