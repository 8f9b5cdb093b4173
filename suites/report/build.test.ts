import { describe, expect, test } from 'vitest'
import type { Corpus, Requirement } from '../engine/fixture/model.ts'
import type { ProblemFacts } from '../engine/judge/problem.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import { madeUpCase, madeUpCorpus, madeUpMeta } from '../self/made-up.ts'
import { buildReport } from './build.ts'
import { verdictLine } from './explain.ts'
import { updatedKnown } from './known.ts'
import type { KnownEntry, Report } from './model.ts'

const sides = { 'a/guard': ['accepted' as const, 'refused' as const] }
const report = (
  cases: [key: string, verdict: Verdict][],
  more: {
    known?: KnownEntry[]
    strict?: boolean
    partial?: 'only' | 'shard' | null
    corpus?: Corpus
    noSides?: boolean
    stopped?: string
  } = {},
) =>
  buildReport({
    meta: { ...madeUpMeta, stopped: more.stopped ?? null },
    outcomes: cases.map(([key, verdict]) =>
      madeUpCase({ key, verdict, proves: ['a/guard'], sides: more.noSides ? {} : sides }),
    ),
    corpus: more.corpus ?? madeUpCorpus({ requirements: [guard], scenarios: [['one', ['a/guard']]] }),
    known: more.known ?? [],
    options: { strict: more.strict ?? false, partial: more.partial ?? null },
  })

const guard: Requirement = { id: 'a/guard', level: 'must', kind: 'guard', part: '1', text: 'A guard' }
const implied: Requirement = { id: 'a/implied', level: 'implied', kind: 'shape', part: '1', text: 'An implied one' }
const known = (more: Partial<KnownEntry> = {}): KnownEntry => ({ scenario: 'one', reason: 'r', issue: null, ...more })

describe('verdict and exit code', () => {
  test.each<[string, Parameters<typeof report>, string, number]>([
    ['all passed', [[['one', 'passed']]], 'conforms', 0],
    ['warned', [[['one', 'warned']]], 'conforms', 0],
    ['warned, strict', [[['one', 'warned']], { strict: true }], 'conforms', 1],
    ['failed', [[['one', 'failed']]], 'does-not-conform', 1],
    [
      'failed beside blocked',
      [
        [
          ['one', 'failed'],
          ['two', 'blocked'],
        ],
      ],
      'does-not-conform',
      1,
    ],
    [
      'blocked',
      [
        [
          ['one', 'passed'],
          ['two', 'blocked'],
        ],
      ],
      'inconclusive',
      1,
    ],
    [
      'blocked beside known',
      [
        [
          ['one', 'failed'],
          ['two', 'blocked'],
        ],
        { known: [known()] },
      ],
      'inconclusive',
      1,
    ],
    ['known', [[['one', 'failed']], { known: [known()] }], 'does-not-conform', 0],
    [
      'stale beside known',
      [
        [
          ['one', 'failed'],
          ['two', 'passed'],
        ],
        { known: [known(), known({ scenario: 'two' })] },
      ],
      'does-not-conform',
      1,
    ],
    ['stale', [[['one', 'passed']], { known: [known()] }], 'conforms', 1],
    ['listed but blocked is not stale', [[['one', 'blocked']], { known: [known()] }], 'inconclusive', 1],
    ['listed but not run is not stale', [[['two', 'passed']], { known: [known()] }], 'conforms', 0],
    ['a must not testable', [[['one', 'not-testable']]], 'inconclusive', 0],
    ['a must not testable, strict', [[['one', 'not-testable']], { strict: true }], 'inconclusive', 1],
    [
      'a must partly not testable',
      [
        [
          ['one', 'passed'],
          ['two', 'not-testable'],
        ],
      ],
      'inconclusive',
      0,
    ],
    ['nothing selected for a must', [[], { partial: 'only' }], 'inconclusive', 0],
    ['nothing selected for a must, strict with --only', [[], { partial: 'only', strict: true }], 'inconclusive', 0],
    ['nothing run for a must, strict', [[], { strict: true }], 'inconclusive', 1],
    ['stopped early', [[['one', 'passed']], { stopped: 'it went away' }], 'inconclusive', 0],
    ['a guard with one side only', [[['one', 'passed']], { noSides: true }], 'inconclusive', 1],
  ])('%s', (_, input, verdict, exitCode) => {
    const { verdict: seen, exitCode: code } = report(...input)
    expect([seen, code]).toEqual([verdict, exitCode])
  })

  test('what --only leaves out is a number beside the verdict', () => {
    expect(report([], { partial: 'only' }).conclusion).toEqual([
      '1 must was not selected: run without --only for a verdict on the whole document',
    ])
  })

  test('calls that were throttled are counted in the conclusion', () => {
    const throttled = (numbers: number[]) =>
      buildReport({
        meta: madeUpMeta,
        outcomes: numbers.map((number, index) => madeUpCase({ key: `case-${index}`, throttled: number })),
        corpus: madeUpCorpus({ requirements: [], scenarios: [] }),
        known: [],
        options: { strict: false, partial: null },
      }).conclusion.filter((line) => line.includes('throttled'))
    expect(throttled([0, 0])).toEqual([])
    expect(throttled([1, 2])).toEqual([expect.stringMatching(/^3 calls were throttled/)])
  })

  test('the summary counts cases, the three of the envelope included', () => {
    const { summary } = report(
      [
        ['one', 'passed'],
        ['two', 'warned'],
        ['three', 'failed'],
        ['four', 'blocked'],
        ['five', 'not-testable'],
        ['six', 'failed'],
      ],
      { known: [known({ scenario: 'six' }), known({ scenario: 'one' })] },
    )
    expect(summary).toEqual({
      passed: 4,
      failed: 1,
      warned: 1,
      blocked: 1,
      notTestable: 1,
      notApplicable: 0,
      notRun: 0,
      known: 1,
      stale: 1,
    })
  })
})

describe('a run that ended early', () => {
  const blockedBy = (key: string, facts: ProblemFacts) =>
    madeUpCase({
      key,
      verdict: 'blocked',
      proves: ['a/guard'],
      problem: { ...facts, requirements: [], step: '', exchanges: [] },
    })
  const ended = (problems: ProblemFacts[], ownExitCode: number | null) =>
    buildReport({
      meta: { ...madeUpMeta, stopped: 'The run was interrupted' },
      outcomes: problems.map((problem, index) => blockedBy(`case-${index}`, problem)),
      corpus: madeUpCorpus({ requirements: [guard], scenarios: [['case-0', ['a/guard']]] }),
      known: [],
      options: { strict: false, partial: 'only', ownExitCode },
    })

  test('says which cases were not run, and does not put it down to a preparation', () => {
    const notRun = { kind: 'not-run', because: { kind: 'interrupted', during: 'run' } } as const
    const interrupted = ended([notRun, notRun], 130)
    expect(verdictLine(interrupted)).toBe('Verdict: inconclusive (exit code 130)')
    expect(interrupted.summary).toMatchObject({ blocked: 0, notRun: 2 })
    expect(interrupted.conclusion.slice(0, 2)).toEqual([
      'The run stopped early: The run was interrupted',
      '2 cases were not run, so nothing is known about what they ask',
    ])
    const both = ended([notRun, { kind: 'throttled', status: 429 }], null)
    expect(verdictLine(both)).toBe('Verdict: inconclusive (exit code 1)')
    expect(both.conclusion.slice(1, 3)).toEqual([
      '1 case was not run, so nothing is known about what it asks',
      '1 case blocked: a preparation or a control did not work, so nothing is known about what it asks',
    ])
  })
})

describe('requirements', () => {
  test('a requirement has the worst of its cases', () => {
    const order: Verdict[] = ['failed', 'blocked', 'warned', 'not-testable', 'passed']
    for (const [index, worse] of order.entries())
      for (const better of order.slice(index)) {
        const [one] = report([
          ['one', better],
          ['two', worse],
        ]).requirements
        expect(one?.verdict, `${worse} beside ${better}`).toBe(worse)
      }
  })

  test('a written reason without cases is not testable and no gap', () => {
    const reason = 'No method shows it'
    const corpus = madeUpCorpus({
      requirements: [guard, { ...guard, id: 'a/never', untestable: { reason } }],
      scenarios: [['one', ['a/guard']]],
    })
    const seen = report([['one', 'passed']], { corpus })
    expect(seen.requirements[1]).toMatchObject({ verdict: 'not-testable', reason, gap: false })
    expect(seen.verdict).toBe('conforms')
  })

  test('cases that lack just the need of a written reason are no gap, cases that lack another need are one', () => {
    const withNeed = (needs: 'cleanup' | 'sessions') =>
      madeUpCorpus({
        requirements: [{ ...guard, untestable: { without: 'cleanup', reason: 'No method deletes' } }],
        scenarios: [['one', ['a/guard'], [needs]]],
      })
    expect(report([['one', 'not-testable']], { corpus: withNeed('cleanup') }).verdict).toBe('conforms')
    expect(report([['one', 'not-testable']], { corpus: withNeed('sessions') }).verdict).toBe('inconclusive')
  })

  test('a guard takes its two sides from all of its cases', () => {
    const input = {
      meta: madeUpMeta,
      corpus: madeUpCorpus({
        requirements: [guard],
        scenarios: [
          ['one', ['a/guard']],
          ['two', ['a/guard']],
        ],
      }),
      known: [],
      options: { strict: false, partial: null },
    } as const
    const one = madeUpCase({ key: 'one', proves: ['a/guard'], sides: { 'a/guard': ['accepted'] } })
    const two = madeUpCase({ key: 'two', proves: ['a/guard'], sides: { 'a/guard': ['refused'] } })
    expect(buildReport({ ...input, outcomes: [one, two] }).requirements[0]?.verdict).toBe('passed')
    const half = buildReport({ ...input, outcomes: [one, { ...two, sides: { 'a/guard': ['accepted'] } }] })
    expect(half.requirements[0]).toMatchObject({ verdict: 'blocked' })
    expect(half.requirements[0]?.reason).toContain('Nothing refused was shown')
    const partial = buildReport({ ...input, outcomes: [one], options: { strict: false, partial: 'only' } })
    expect(partial.requirements[0]).toMatchObject({ verdict: 'not-testable', reason: 'Not selected by --only' })
    expect(partial.exitCode).toBe(0)
  })

  test('where --only selects cases without an accepted answer, nothing is said about every answer', () => {
    const idEcho: Requirement = { ...guard, id: 'envelope/id-echo', kind: 'shape' }
    const base = {
      meta: madeUpMeta,
      outcomes: [{ ...madeUpCase({ key: 'one', proves: ['a/guard'], sides }), envelopeAnswers: 0 }],
      corpus: madeUpCorpus({ requirements: [guard, idEcho], scenarios: [['one', ['a/guard']]] }),
      known: [],
    }
    const only = buildReport({ ...base, options: { strict: false, partial: 'only' } })
    expect(only.cases.map(({ key }) => key)).toEqual(['one'])
    expect(only.requirements[1]).toMatchObject({ verdict: 'not-testable', reason: 'Not selected by --only' })
    expect(only.exitCode).toBe(0)
    const whole = buildReport({ ...base, options: { strict: false, partial: null } })
    expect(whole.requirements[1]?.verdict).toBe('blocked')
  })

  test('a failing step fails only what it proves, and a known one does not block the run', () => {
    const corpus = madeUpCorpus({
      requirements: [guard, implied],
      scenarios: [['one', ['a/guard', 'a/implied']]],
    })
    const outcome = {
      ...madeUpCase({ key: 'one', verdict: 'failed', proves: ['a/guard', 'a/implied'] }),
      requirements: { 'a/guard': 'failed', 'a/implied': 'blocked' } as const,
    }
    const base = { meta: madeUpMeta, outcomes: [outcome], corpus, options: { strict: false, partial: null } } as const
    expect(buildReport({ ...base, known: [] }).requirements.map((one) => one.verdict)).toEqual(['failed', 'blocked'])
    const seen = buildReport({ ...base, known: [known({ requirement: 'a/guard' })] })
    expect([seen.requirements[0]?.verdict, seen.verdict, seen.exitCode]).toEqual(['known', 'does-not-conform', 0])
  })

  test('skipped cases say why', () => {
    const seen = buildReport({
      meta: madeUpMeta,
      outcomes: [],
      corpus: madeUpCorpus({ requirements: [guard], scenarios: [['one', ['a/guard']]] }),
      known: [],
      options: { strict: true, partial: null, skipped: [{ id: 'one', reason: 'it is slow' }] },
    })
    expect(seen.requirements[0]).toMatchObject({ verdict: 'not-testable', reason: 'Skipped: it is slow', gap: true })
    expect(seen.exitCode).toBe(1)
  })
})

describe('the envelope of every answer', () => {
  const exchange = { request: ['POST /api'], answer: ['HTTP 200'] }
  const note = (sent: number, got: number) => ({
    problem: { kind: 'wrong-id' as const, sent: `${sent}`, got: `${got}` },
    exchange,
  })
  const envelope = (cases: Parameters<typeof madeUpCase>[0][]) =>
    buildReport({
      meta: madeUpMeta,
      outcomes: cases.map(madeUpCase),
      corpus: madeUpCorpus({ requirements: [{ ...guard, id: 'envelope/id-echo', kind: 'shape' }], scenarios: [] }),
      known: [],
      options: { strict: false, partial: null },
    })

  test('departures fail once, with their number and the first few exchanges', () => {
    const seen = envelope([
      { key: 'one', envelope: [note(3, 7), note(4, 8)], envelopeAnswers: 6 },
      { key: 'two', envelope: [note(5, 9), note(6, 10)], envelopeAnswers: 4 },
    ])
    const testCase = seen.cases.find((one) => one.key === 'envelope/every-answer/id')
    expect(testCase).toMatchObject({ verdict: 'failed', case: 'id' })
    expect(testCase?.problem?.message).toBe(
      [
        '4 of 10 successful answers: expected the id 3 of the request, got 7',
        'expected the id 4 of the request, got 8',
        'expected the id 5 of the request, got 9',
        'and 1 more like these',
      ].join('; '),
    )
    expect(testCase?.problem?.exchanges).toHaveLength(3)
    expect(testCase?.again).toContain('--only envelope/id-echo --trace')
    expect(seen.requirements[0]?.verdict).toBe('failed')
    expect(seen.cases.find((one) => one.key === 'envelope/every-answer/jsonrpc')?.verdict).toBe('passed')
  })

  test('without a successful answer there is nothing to judge', () => {
    expect(envelope([{ key: 'one', envelopeAnswers: 0 }]).requirements[0]?.verdict).toBe('blocked')
    expect(envelope([]).requirements[0]?.verdict).toBe('not-testable')
  })
})

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

  test('one about what is only implied is a warning', () => {
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

test('what fails now and then is never stale', () => {
  const entry = known({ sometimes: true })
  expect(report([['one', 'passed']], { known: [entry] }).exitCode).toBe(0)
  expect(report([['one', 'failed']], { known: [entry] }).exitCode).toBe(0)
})

test('an area that is declared absent is named, and its cases take nothing from a requirement', () => {
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

test('what a known failure blocks does not fail the run, what another one blocks does', () => {
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
