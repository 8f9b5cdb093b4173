import { describe, expect, test } from 'vitest'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { madeUpCase, madeUpCorpus, madeUpMeta } from '../self/made-up.ts'
import { buildReport } from './build.ts'
import { updatedKnown } from './outcomes.ts'
import type { KnownEntry } from './report.ts'

const corpus = madeUpCorpus({
  requirements: [{ id: 'tokens/expire', level: 'must', kind: 'shape', part: '2', text: 'They expire' }],
  scenarios: [
    ['tokens/expiry', ['tokens/expire']],
    ['tokens/refresh', []],
  ],
})
const failed = (key: string, more: Partial<CaseOutcome> = {}) =>
  madeUpCase({ key, verdict: 'failed', proves: ['tokens/expire'], ...more })

const update = (outcomes: CaseOutcome[], known: KnownEntry[]): KnownEntry[] => {
  const report = buildReport({
    meta: madeUpMeta,
    outcomes,
    corpus,
    known,
    options: { strict: false, partial: null },
  })
  return updatedKnown(report, known)
}

describe('an update', () => {
  test('keeps reasons, adds what is new, drops what passes, keeps what was not judged', () => {
    const kept = { scenario: 'tokens/expiry', reason: 'The clock is coarse', issue: 'https://tracker.example/1' }
    const passes = { scenario: 'tokens/refresh', reason: 'Once', issue: null }
    const notRun = { scenario: 'tokens/other', reason: 'Elsewhere', issue: null }
    const blocked = { scenario: 'tokens/blocked', reason: 'Not now', issue: null }
    const outcomes = [
      failed('tokens/expiry'),
      madeUpCase({ key: 'tokens/refresh' }),
      madeUpCase({ key: 'tokens/blocked', verdict: 'blocked' }),
      failed('tokens/new/all-32-bytes', { id: 'tokens/new', case: 'all 32 bytes' }),
    ]
    expect(update(outcomes, [kept, passes, notRun, blocked])).toEqual([
      kept,
      notRun,
      blocked,
      {
        scenario: 'tokens/new',
        case: 'all 32 bytes',
        requirement: 'tokens/expire',
        reason: 'not explained yet',
        issue: null,
      },
    ])
  })

  test('leaves an entry that shows sometimes, whether it shows or not', () => {
    const sometimes: KnownEntry = { scenario: 'tokens/expiry', reason: 'A race', sometimes: true, issue: null }
    expect(update([madeUpCase({ key: 'tokens/expiry' })], [sometimes])).toEqual([sometimes])
    expect(update([failed('tokens/expiry')], [sometimes])).toEqual([sometimes])
  })

  test('then makes the same run exit with 0', () => {
    const outcomes = [failed('tokens/expiry'), failed('tokens/refresh')]
    const known = update(outcomes, [])
    const { exitCode, verdict } = buildReport({
      meta: madeUpMeta,
      outcomes,
      corpus,
      known,
      options: { strict: false, partial: null },
    })
    expect([exitCode, verdict]).toEqual([0, 'does-not-conform'])
  })
})
