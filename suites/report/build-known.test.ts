import { describe, expect, test } from 'vitest'
import { madeUpCase, madeUpCorpus, madeUpMeta } from '../self/made-up.ts'
import { guard, implied, known, report, sides } from '../self/made-up-build.ts'
import { buildReport } from './build.ts'
import { updatedKnown } from './outcomes.ts'
import type { KnownEntry, Report } from './report.ts'

describe('known failures', () => {
  const caseOne = (seen: Report) => seen.cases.find((testCase) => testCase.key === 'one')

  const two = { ...madeUpCase({ key: 'one', verdict: 'failed', proves: ['a/guard', 'a/other'] }) }
  const judge = (entries: KnownEntry[]) =>
    buildReport({
      meta: madeUpMeta,
      outcomes: [two],
      corpus: madeUpCorpus({
        requirements: [guard, { ...guard, id: 'a/other' }],
        scenarios: [['one', ['a/guard', 'a/other']]],
      }),
      known: entries,
      options: { strict: false, partial: null },
    })

  test('a case with one failure that is not listed stays failed', () => {
    const seen = judge([known({ requirement: 'a/guard' })])
    expect(caseOne(seen)?.verdict).toBe('failed')
    expect(seen.requirements.map((one) => one.verdict)).toEqual(['known', 'failed'])
  })

  test('an entry without requirement covers all failures of the case', () => {
    expect(caseOne(judge([known()]))).toMatchObject({ verdict: 'known', known: { reason: 'r' } })
  })

  test('a case is named by its name or by the last part of its key', () => {
    const testCase = madeUpCase({ key: 'one/all-32-bytes', id: 'one', case: 'all 32 bytes', verdict: 'failed' })
    for (const name of ['all 32 bytes', 'all-32-bytes'])
      expect(applyTo(testCase, known({ case: name })), name).toBe('known')
    expect(applyTo(testCase, known({ case: 'another' }))).toBe('failed')
  })

  const applyTo = (testCase: ReturnType<typeof madeUpCase>, entry: KnownEntry) =>
    buildReport({
      meta: madeUpMeta,
      outcomes: [testCase],
      corpus: madeUpCorpus({ requirements: [], scenarios: [] }),
      known: [entry],
      options: { strict: false, partial: null },
    }).cases.find((one) => one.id === 'one')?.verdict
})

describe('findings', () => {
  const finding = {
    id: 'found/a/guard/secret-fits',
    case: 'table/token/token',
    requirement: 'a/guard',
    level: 'must' as const,
    message: 'A call with a wrong secret was accepted',
    steps: ['root grants a token with a wrong secret: accepted'],
    reproduced: { failed: 3, tries: 3 },
    fixture: null,
    exchanges: [],
    history: [],
  }
  const seen = (more: Partial<typeof finding> | { level: 'implied' }, entries: KnownEntry[] = [], strict = false) =>
    buildReport({
      meta: madeUpMeta,
      outcomes: [madeUpCase({ key: 'one', proves: ['a/guard'], sides })],
      corpus: madeUpCorpus({ requirements: [guard], scenarios: [['one', ['a/guard']]] }),
      findings: [{ ...finding, ...more }],
      known: entries,
      options: { strict, partial: null },
    })

  test('a finding about a must fails its requirement and the run', () => {
    const report = seen({})
    expect([report.requirements[0]?.verdict, report.verdict, report.exitCode]).toEqual([
      'failed',
      'does-not-conform',
      1,
    ])
    expect(report.conclusion).toEqual(['The model found 1 answer that the document does not allow'])
  })

  test('a finding about something implied is a warning', () => {
    const report = seen({ level: 'implied' })
    expect([report.requirements[0]?.verdict, report.verdict, report.exitCode]).toEqual(['warned', 'conforms', 0])
    expect(seen({ level: 'implied' }, [], true).exitCode).toBe(1)
  })

  test('a baseline names it by its id, and an update adds it', () => {
    const entry = known({ scenario: finding.id })
    const report = seen({}, [entry])
    expect([report.requirements[0]?.verdict, report.verdict, report.exitCode]).toEqual(['known', 'does-not-conform', 0])
    expect(report.findings[0]?.known).toEqual({ reason: 'r', issue: null })
    expect(updatedKnown(seen({}), [])).toEqual([
      { scenario: finding.id, requirement: 'a/guard', reason: 'not explained yet', issue: null },
    ])
  })
})

test('an entry for an occasional failure is never stale', () => {
  const entry = known({ sometimes: true })
  expect(report([['one', 'passed']], { known: [entry] }).exitCode).toBe(0)
  expect(report([['one', 'failed']], { known: [entry] }).exitCode).toBe(0)
})

test('an area that is declared absent is named, and its cases do not count against a requirement', () => {
  const seen = buildReport({
    meta: { ...madeUpMeta, absent: ['inbox', 'stream'] },
    outcomes: [
      madeUpCase({ key: 'one', proves: ['a/guard'], sides }),
      madeUpCase({ key: 'two', proves: ['a/guard'], verdict: 'not-applicable' }),
      madeUpCase({ key: 'three', proves: ['a/implied'], verdict: 'not-applicable' }),
    ],
    corpus: madeUpCorpus({ requirements: [guard, implied], scenarios: [['one', ['a/guard']]] }),
    known: [],
    options: { strict: false, partial: null },
  })
  expect(seen.requirements.map(({ verdict }) => verdict)).toEqual(['passed', 'not-applicable'])
  expect(seen.verdict).toBe('conforms')
  expect(seen.conclusion.at(-1)).toContain('declares absent: inbox, stream')
})

test('observations are merged by question, with distinct answers', () => {
  const seen = buildReport({
    meta: madeUpMeta,
    outcomes: [
      madeUpCase({ key: 'one', case: 'first', observations: [{ question: 'q/one', answer: 'refused' }] }),
      madeUpCase({
        key: 'two',
        observations: [
          { question: 'q/one', answer: 'refused' },
          { question: 'q/one', answer: 'accepted', step: 'once more' },
        ],
      }),
    ],
    corpus: madeUpCorpus({ requirements: [], scenarios: [], questions: ['q/one', 'q/two'] }),
    known: [],
    options: { strict: false, partial: null },
  })
  expect(seen.observations).toEqual([
    {
      question: 'q/one',
      answer: 'accepted; refused',
      answers: [
        { answer: 'accepted', cases: ['two'], asked: ['once more'] },
        { answer: 'refused', cases: ['one', 'two'], asked: ['first', 'two'] },
      ],
      text: 'Question q/one?',
      reference: 'refused',
    },
  ])
})

test('a case that a known failure blocks does not fail the run; any other blocked case does', () => {
  const wrong = { kind: 'wrong-outcome', expected: 'accepted', got: { outcome: 'refused', status: 200 } } as const
  const problem = { ...wrong, requirements: ['q/must'], step: 'solution/listSolutions', exchanges: [] }
  const blocked = { ...problem, requirements: [], inPreparation: true as const }
  const seen = (known: KnownEntry[]) =>
    buildReport({
      meta: madeUpMeta,
      outcomes: [
        madeUpCase({ key: 'one', verdict: 'failed', proves: ['q/must'], problem }),
        madeUpCase({ key: 'two', verdict: 'blocked', problem: blocked }),
      ],
      corpus: madeUpCorpus({
        requirements: [{ id: 'q/must', level: 'must', kind: 'shape', part: '1', text: 'It is so' }],
        scenarios: [['one', ['q/must']]],
      }),
      known,
      options: { strict: false, partial: null },
    })
  const judged = seen([{ scenario: 'one', reason: 'it waits', issue: null }])
  expect([judged.verdict, judged.exitCode]).toEqual(['does-not-conform', 0])
  expect(judged.cases.find(({ key }) => key === 'two')?.blockedBy).toBe('one')
  expect(judged.conclusion).toContain('1 case blocked by known failures')
  expect(seen([]).exitCode).toBe(1)
})
