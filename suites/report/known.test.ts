import { describe, expect, test } from 'vitest'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import { madeUpCase, madeUpCorpus, madeUpMeta } from '../self/made-up.ts'
import { buildReport } from './build.ts'
import { updatedKnown } from './known.ts'
import { parseKnown, renderKnown } from './known-file.ts'
import type { KnownEntry } from './model.ts'

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

describe('the file', () => {
  test('reads back what was written, whatever is in it', () => {
    const entries: KnownEntry[] = [
      {
        scenario: 'tokens/expiry',
        case: 'a: "b" #c',
        requirement: 'tokens/expire',
        reason: "line\nbreak 'quoted' ü",
        issue: 'https://tracker.example/1#x',
      },
      { scenario: 'tokens/refresh', reason: '- no', issue: null, sometimes: true },
      { scenario: 'found/tokens/expire/used-after-its-end', reason: 'r', issue: null },
    ]
    expect(parseKnown(renderKnown(entries), 'known.yaml', corpus)).toEqual(entries)
    expect(parseKnown(renderKnown([]), 'known.yaml', corpus)).toEqual([])
    expect(parseKnown('# nothing yet\n', 'known.yaml', corpus)).toEqual([])
  })

  test.each([
    [
      '- scenario: tokens/expiri\n  reason: r',
      'known.yaml:1:13: unknown scenario "tokens/expiri", did you mean "tokens/expiry"?',
    ],
    [
      '- scenario: tokens/expiry\n  reason: r\n  requirement: tokens/expires',
      'known.yaml:3:16: unknown requirement "tokens/expires", did you mean "tokens/expire"?',
    ],
    ['- scenario: tokens/expiry\n  reson: r', 'known.yaml:2:3: unknown key "reson", did you mean "reason"?'],
    ['- scenario: tokens/expiry', 'missing key "reason" in a known failure'],
    ['scenario: tokens/expiry', 'is not a list of known failures'],
  ])('%s', (text, message) => {
    expect(() => parseKnown(`${text}\n`, 'known.yaml', corpus)).toThrow(message)
  })
})
