import { describe, expect, test } from 'vitest'
import type { ProblemFacts, Verdict } from '../engine/judge/problem.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { madeUpCase, madeUpCorpus, madeUpMeta } from '../self/made-up.ts'
import { guard, implied, known, report, sides } from '../self/made-up-build.ts'
import { buildReport } from './build.ts'
import { verdictLine } from './explain.ts'

const oneOfTwo = madeUpCorpus({
  requirements: [guard],
  scenarios: [
    ['one', ['a/guard']],
    ['two', ['a/guard']],
  ],
})

describe('verdict and exit code', () => {
  test.each<[string, Parameters<typeof report>, string, number]>([
    ['all passed', [[['one', 'passed']]], 'conforms', 0],
    ['warned', [[['one', 'warned']]], 'conforms', 0],
    ['warned, strict', [[['one', 'warned']], { strict: true }], 'conforms', 1],
    ['failed', [[['one', 'failed']]], 'does-not-conform', 1],
    [
      'failed and blocked',
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
      'blocked and known',
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
      'stale and known',
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
    [
      'a guard whose other side --only leaves out, strict',
      [[['one', 'passed']], { noSides: true, partial: 'only', strict: true, corpus: oneOfTwo }],
      'inconclusive',
      0,
    ],
  ])('%s', (_, input, verdict, exitCode) => {
    const { verdict: seen, exitCode: code } = report(...input)
    expect([seen, code]).toEqual([verdict, exitCode])
  })

  test('requirements that --only leaves out are only counted next to the verdict', () => {
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

  test('names the cases that were not run, and does not blame a preparation', () => {
    const notRun = { kind: 'not-run', because: { kind: 'interrupted', during: 'run' } } as const
    const interrupted = ended([notRun, notRun], 130)
    expect(verdictLine(interrupted)).toBe('Verdict: inconclusive (exit code 130)')
    expect(interrupted.summary).toMatchObject({ blocked: 0, notRun: 2 })
    expect(interrupted.conclusion.slice(0, 2)).toEqual([
      'The run stopped early: The run was interrupted',
      '2 cases were not run, so they prove nothing',
    ])
    const both = ended([notRun, { kind: 'throttled', status: 429 }], null)
    expect(verdictLine(both)).toBe('Verdict: inconclusive (exit code 1)')
    expect(both.conclusion.slice(1, 3)).toEqual([
      '1 case was not run, so it proves nothing',
      '1 case blocked: a preparation or a control did not work, so it proves nothing',
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

  test('a requirement with a written reason and no cases is not testable, and not a gap', () => {
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
    expect(half.requirements[0]?.reason).toContain('No refused call was seen')
    const partial = buildReport({ ...input, outcomes: [one], options: { strict: false, partial: 'only' } })
    expect(partial.requirements[0]).toMatchObject({ verdict: 'not-testable', reason: 'Not selected by --only' })
    expect(partial.exitCode).toBe(0)
  })

  test('if --only selects cases without an accepted answer, there are no cases about every answer', () => {
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

  test('skipped cases have a reason', () => {
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
