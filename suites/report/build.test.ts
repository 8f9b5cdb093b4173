import { describe, expect, test } from 'vitest'
import type { CaseOutcome, ProblemFacts, Verdict } from '../engine/judge/problem.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { madeUpCase, madeUpCorpus, madeUpFinding, madeUpMeta, madeUpReport, problemOf } from '../self/made-up-report.ts'
import { buildReport, everyAnswer, mergeReports, updatedKnown } from './build.ts'
import type { KnownEntry, Report } from './report.ts'

const guard: Requirement = { id: 'a/guard', level: 'must', kind: 'guard', part: '1', text: 'A guard' }
const implied: Requirement = { ...guard, id: 'a/implied', level: 'implied', kind: 'shape' }
const sides = { 'a/guard': ['accepted' as const, 'refused' as const] }
const known = (more: Partial<KnownEntry> = {}): KnownEntry => ({ scenario: 'one', reason: 'r', issue: null, ...more })

type Input = Parameters<typeof buildReport>[0]

interface Given extends Omit<Partial<Input>, 'options' | 'meta'> {
  requirements?: Requirement[]
  /** Cases that are in no outcome. */
  planned?: string[]
  options?: Partial<Input['options']>
  meta?: Partial<Input['meta']>
}

/** Everything not given is empty; every case is in a scenario that proves what it proves. */
function build(outcomes: readonly CaseOutcome[], given: Given = {}): Report {
  const { requirements = [guard], planned = [], options = {}, meta = {}, ...more } = given
  const scenarios = new Map([
    ...planned.map((key): [string, string[]] => [key, ['a/guard']]),
    ...outcomes.map(({ key, proves }): [string, string[]] => [key, proves]),
  ])
  return buildReport({
    corpus: madeUpCorpus({ requirements, scenarios: [...scenarios], questions: ['q/one', 'q/two'] }),
    outcomes,
    known: [],
    ...more,
    meta: { ...madeUpMeta, ...meta },
    options: { strict: false, partial: null, ...options },
  })
}

/** A case that proves both sides of the guard. */
const judged = (key: string, verdict: Verdict = 'passed', more: Partial<CaseOutcome> = {}): CaseOutcome =>
  madeUpCase({ key, verdict, proves: ['a/guard'], sides, ...more })

/** `one:passed two:failed` */
const cases = (text: string): CaseOutcome[] =>
  text
    .split(' ')
    .filter(Boolean)
    .map((word) => judged(word.split(':')[0] ?? '', word.split(':')[1] as Verdict))

/** How a run ends. */
const endOf = (report: Report) => [report.verdict, report.exitCode]

describe('verdict and exit code', () => {
  const oneKnown = { known: [known()] }
  const twoKnown = { known: [known(), known({ scenario: 'two' })] }
  const strict = { options: { strict: true } }
  const only = { partial: 'only' as const, strict: false }
  test.each<[string, string, Parameters<typeof build>[1], string, number]>([
    ['all passed', 'one:passed', {}, 'conforms', 0],
    ['warned', 'one:warned', {}, 'conforms', 0],
    ['warned, strict', 'one:warned', strict, 'conforms', 1],
    ['failed', 'one:failed', {}, 'does-not-conform', 1],
    ['failed and blocked', 'one:failed two:blocked', {}, 'does-not-conform', 1],
    ['blocked', 'one:passed two:blocked', {}, 'inconclusive', 1],
    ['blocked and known', 'one:failed two:blocked', oneKnown, 'inconclusive', 1],
    ['known', 'one:failed', oneKnown, 'does-not-conform', 0],
    ['stale and known', 'one:failed two:passed', twoKnown, 'does-not-conform', 1],
    ['stale', 'one:passed', oneKnown, 'conforms', 1],
    ['an occasional failure is never stale', 'one:passed', { known: [known({ sometimes: true })] }, 'conforms', 0],
    ['an occasional failure is known', 'one:failed', { known: [known({ sometimes: true })] }, 'does-not-conform', 0],
    ['listed but blocked is not stale', 'one:blocked', oneKnown, 'inconclusive', 1],
    ['listed but not run is not stale', 'two:passed', oneKnown, 'conforms', 0],
    ['a must not testable', 'one:not-testable', {}, 'inconclusive', 0],
    ['a must not testable, strict', 'one:not-testable', strict, 'inconclusive', 1],
    ['a must partly not testable', 'one:passed two:not-testable', {}, 'inconclusive', 0],
    ['nothing selected for a must', '', { planned: ['one'], options: only }, 'inconclusive', 0],
    ['the same, strict', '', { planned: ['one'], options: { ...only, strict: true } }, 'inconclusive', 0],
    ['nothing run for a must, strict', '', { planned: ['one'], ...strict }, 'inconclusive', 1],
    ['stopped early', 'one:passed', { meta: { stopped: 'it went away' } }, 'inconclusive', 0],
  ])('%s', (_, outcomes, more, verdict, exitCode) => {
    expect(endOf(build(cases(outcomes), more))).toEqual([verdict, exitCode])
  })

  test('a guard needs both of its sides, from whichever case', () => {
    const side = (key: string, one: 'accepted' | 'refused') => judged(key, 'passed', { sides: { 'a/guard': [one] } })
    const [accepting, refusing] = [side('one', 'accepted'), side('two', 'refused')]
    expect(build([accepting, refusing]).verdict).toBe('conforms')
    const half = build([accepting])
    const reason = expect.stringContaining('No refused call')
    expect(half.requirements[0]).toMatchObject({ verdict: 'blocked', reason })
    expect(endOf(half)).toEqual(['inconclusive', 1])
    const partial = build([accepting], { planned: ['two'], options: { partial: 'only', strict: true } })
    expect(partial.exitCode).toBe(0)
  })

  test('requirements that --only leaves out are only counted next to the verdict', () => {
    expect(build([], { planned: ['one'], options: { partial: 'only' } }).conclusion).toEqual([
      '1 must was not selected: run without --only for a verdict on the whole document',
    ])
  })

  test('calls that were throttled are counted in the conclusion', () => {
    const throttled = (...numbers: number[]) => {
      const outcomes = numbers.map((number, index) => judged(`case-${index}`, 'passed', { throttled: number }))
      return build(outcomes).conclusion.filter((line) => line.includes('throttled'))
    }
    expect(throttled(0, 0)).toEqual([])
    expect(throttled(1, 2)).toEqual([expect.stringMatching(/^3 calls were throttled/)])
  })

  test('a run that ended early names what was not run, and does not blame a preparation', () => {
    const ended = (problems: ProblemFacts[], ownExitCode: number | null) =>
      build(
        problems.map((facts, index) => judged(`case-${index}`, 'blocked', { problem: problemOf(facts) })),
        { meta: { stopped: 'the run was interrupted' }, options: { partial: 'only', ownExitCode } },
      )
    const notRun = { kind: 'not-run', because: { kind: 'interrupted', during: 'run' } } as const
    const interrupted = ended([notRun, notRun], 130)
    expect(interrupted.conclusion).toEqual([
      'Ended after 0 of 5 cases, because the run was interrupted; 5 cases were not run, so they prove nothing',
    ])
    expect(interrupted.requirements[0]?.verdict).toBe('not-run')
    // Those that were not run would have brought more answers.
    const open = { verdict: 'not-run', problem: { kind: 'not-run', exchanges: [] } }
    expect(interrupted.cases.find(({ id }) => id === everyAnswer)).toMatchObject(open)
    const both = ended([notRun, { kind: 'throttled', status: 429 }], null)
    expect(both.exitCode).toBe(1)
    expect(both.conclusion.slice(0, 2)).toEqual([
      'Ended after 1 of 5 cases, because the run was interrupted; 4 cases were not run, so they prove nothing',
      '1 case blocked: a preparation or a control did not work, so it proves nothing',
    ])
  })
})

describe('requirements', () => {
  test('a requirement has the worst of its cases', () => {
    const order: Verdict[] = ['failed', 'blocked', 'warned', 'not-testable', 'passed']
    for (const [index, worse] of order.entries())
      for (const better of order.slice(index))
        expect(build(cases(`one:${better} two:${worse}`)).requirements[0]?.verdict, `${worse}, ${better}`).toBe(worse)
  })

  test('cases that lack just the need of a written reason are no gap, cases that lack another need are one', () => {
    const verdictWith = (needs: 'cleanup' | 'sessions') =>
      build(cases('one:not-testable'), {
        corpus: madeUpCorpus({
          requirements: [{ ...guard, untestable: { without: 'cleanup', reason: 'No method deletes' } }],
          scenarios: [['one', ['a/guard'], [needs]]],
        }),
      }).verdict
    expect([verdictWith('cleanup'), verdictWith('sessions')]).toEqual(['conforms', 'inconclusive'])
  })

  test('a failing step fails only what it proves, and a known one does not block the run', () => {
    const verdicts = { 'a/guard': 'failed', 'a/implied': 'blocked' } as const
    const proves = ['a/guard', 'a/implied']
    const outcome = madeUpCase({ key: 'one', verdict: 'failed', proves, requirements: verdicts })
    const requirements = [guard, implied]
    const seen = build([outcome], { requirements, known: [known({ requirement: 'a/guard' })] })
    expect([seen.requirements[0]?.verdict, seen.verdict, seen.exitCode]).toEqual(['known', 'does-not-conform', 0])
  })

  test('skipped cases have a reason', () => {
    const skipped = [{ id: 'one', reason: 'it is slow' }]
    const seen = build([], { planned: ['one'], options: { strict: true, skipped } })
    expect(seen.requirements[0]).toMatchObject({ verdict: 'not-testable', reason: 'Skipped: it is slow', gap: true })
  })

  test('an area that is declared absent is named, and its cases do not count against a requirement', () => {
    const three = madeUpCase({ key: 'three', proves: ['a/implied'], verdict: 'not-applicable' })
    const outcomes = [judged('one'), judged('two', 'not-applicable'), three]
    const seen = build(outcomes, { requirements: [guard, implied], meta: { absent: ['inbox', 'stream'] } })
    expect(seen.requirements.map(({ verdict }) => verdict)).toEqual(['passed', 'not-applicable'])
    expect(seen.conclusion.at(-1)).toContain('declares absent: inbox, stream')
  })

  test('observations are merged by question, with distinct answers', () => {
    const refused = { question: 'q/one', answer: 'refused' }
    const outcomes = [
      madeUpCase({ key: 'one', case: 'first', observations: [refused] }),
      madeUpCase({ key: 'two', observations: [refused, { question: 'q/one', answer: 'accepted', step: 'once more' }] }),
    ]
    const accepted = { answer: 'accepted', cases: ['two'], asked: ['once more'] }
    const answers = [accepted, { answer: 'refused', cases: ['one', 'two'], asked: ['first', 'two'] }]
    const told = { question: 'q/one', text: 'Question q/one?', reference: 'refused', answer: 'accepted; refused' }
    expect(build(outcomes).observations).toEqual([{ ...told, answers }])
  })
})

describe('the envelope of every answer', () => {
  const exchange = { request: ['POST /api'], answer: ['HTTP 200'] }
  const wrongId = (sent: number, got: number) => ({ kind: 'wrong-id', sent: `${sent}`, got: `${got}` }) as const
  const note = (sent: number, got: number) => ({ problem: wrongId(sent, got), exchange })
  const envelope = (outcomes: Parameters<typeof madeUpCase>[0][]) =>
    build(outcomes.map(madeUpCase), { requirements: [{ ...guard, id: 'envelope/id-echo', kind: 'shape' }] })

  test('departures fail once, with their number and the first few exchanges', () => {
    const seen = envelope([
      { key: 'one', envelope: [note(3, 7), note(4, 8)], envelopeAnswers: 6 },
      { key: 'two', envelope: [note(5, 9), note(6, 10)], envelopeAnswers: 4 },
    ])
    const testCase = seen.cases.find((one) => one.key === 'envelope/every-answer/id')
    expect(testCase).toMatchObject({ verdict: 'failed', case: 'id' })
    const wrong = [3, 4, 5].map((sent) => `expected the id ${sent} of the request, got ${sent + 4}`)
    expect(testCase?.problem?.message).toBe(`4 of 10 successful answers: ${wrong.join('; ')}; and 1 more like these`)
    expect(testCase?.problem?.exchanges).toHaveLength(3)
    expect(testCase?.again).toContain('--only envelope/id-echo --trace')
    expect(seen.cases.find((one) => one.key === 'envelope/every-answer/jsonrpc')?.verdict).toBe('passed')
  })

  test('without a successful answer there is nothing to judge', () => {
    expect(envelope([{ key: 'one', envelopeAnswers: 0 }]).requirements[0]?.verdict).toBe('blocked')
    expect(envelope([]).requirements[0]?.verdict).toBe('not-testable')
  })
})

test('the conclusion names what a case did not come to, because it failed before', () => {
  const later: Requirement = { ...guard, id: 'a/later', kind: 'shape' }
  const requirements = [guard, later, { ...later, id: 'a/stuck' }]
  const verdicts = { 'a/guard': 'failed', 'a/later': 'blocked' } as const
  const failed = judged('one', 'failed', { proves: ['a/guard', 'a/later'], requirements: verdicts })
  const about = (id: string, verdict: Verdict) =>
    judged('two', verdict, { proves: [id], requirements: { [id]: verdict } })
  const conclusion = (...more: CaseOutcome[]) => build([failed, ...more], { requirements }).conclusion
  const sentence = 'Not fully judged, because a case failed earlier: a/later'
  expect(conclusion()).toContain(sentence)
  // Another case that shows it does not make up for what this one did not try.
  expect(conclusion(about('a/later', 'passed'))).toContain(sentence)
  // Nor is it silent where another case is blocked, or was not run; what that one would have judged is named, too.
  const named = conclusion(about('a/stuck', 'blocked'))
  expect(named).toContain('  Not judged because of that: a/stuck')
  for (const verdict of ['blocked', 'not-run'] as const) expect(conclusion(judged('two', verdict))).toContain(sentence)
  expect(build([judged('one')]).conclusion.join()).not.toContain('Not fully judged')
})

test('the conclusion counts every must that is not tested, by what would change that', () => {
  const must = (id: string, more: Partial<Requirement> = {}): Requirement => ({ ...guard, id, kind: 'shape', ...more })
  const never = must('a/never', { untestable: { reason: 'No method shows it' } })
  const requirements = [
    must('a/tested'),
    must('a/here'),
    must('a/few', { untestable: { without: 'clock-control', reason: 'The clock cannot be moved' } }),
    never,
    must('a/implied', { level: 'implied' }),
  ]
  const problem = problemOf({ kind: 'needs-cleanup' })
  const ofHere = judged('two', 'not-testable', { proves: ['a/here', 'a/implied'], problem })
  const outcomes = [judged('one', 'passed', { proves: ['a/tested'] }), ofHere]
  const { conclusion } = build(outcomes, { requirements })
  expect(conclusion.slice(-2)).toEqual([
    '3 of 4 musts are not tested here: 1 needs what is named below; 1 needs what few servers offer; 1 can never be tested',
    expect.stringMatching(/^ {2}only a method of this deployment can remove .*: a\/here$/),
  ])
  // Cases that a defect of the suite loses hide no must, but of a run that was ended most are open.
  const lost = [...outcomes, judged('three', 'not-run', { proves: ['a/tested'] })]
  const isTold = (report: Report) => report.conclusion.some((line) => line.includes('musts are not tested here'))
  expect(isTold(build(lost, { requirements }))).toBe(true)
  expect(isTold(build(lost, { requirements, meta: { stopped: 'the run was interrupted' } }))).toBe(false)
  const conforming = build(outcomes.slice(0, 1), { requirements: [must('a/tested'), never] })
  const oneOfTwo = '1 of 2 musts is not tested here: 1 can never be tested'
  expect(conforming.conclusion).toEqual([oneOfTwo, 'Every must that can be tested holds'])
})

test('the conclusion says of how many causes failed cases seem to be, findings included', () => {
  const shape = { ...guard, id: 'a/shape', kind: 'shape' as const, consequences: ['a/guard', 'a/other'] }
  const requirements = [guard, { ...guard, id: 'a/other' }, shape]
  const failed = (key: string, id: string) => {
    const problem = problemOf({ kind: 'token-unsendable' }, { requirements: [id] })
    return judged(key, 'failed', { proves: [id], problem, requirements: { [id]: 'failed' } })
  }
  const outcomes = [failed('one', 'a/guard'), failed('two', 'a/other')]
  const found = { ...madeUpFinding, id: 'found/a/shape/shape', requirement: 'a/shape' }
  expect(build(outcomes, { requirements }).conclusion).toContain('2 cases failed')
  const ofOne = '2 cases failed, for what looks like 1 cause'
  expect(build(outcomes, { requirements, findings: [found] }).conclusion).toContain(ofOne)
})

test('if --only selects cases without an accepted answer, those about every answer are not testable, as the plan counts them', () => {
  const outcomes = [judged('one', 'passed', { envelopeAnswers: 0 })]
  const requirements = [guard, { ...guard, id: 'envelope/id-echo', kind: 'shape' as const }]
  const only = build(outcomes, { requirements, options: { partial: 'only', strict: true } })
  expect(only.summary).toMatchObject({ passed: 1, notTestable: 3 })
  expect(only.requirements[1]).toMatchObject({ verdict: 'not-testable', reason: 'Not selected by --only' })
  expect(only.exitCode).toBe(0)
})

describe('a lost race', async () => {
  const corpus = await openCorpus()
  const most = 'sessions/at-most-sixteen'
  const tooMany = { kind: 'wrong-count', side: 'accepted', wanted: 'at-most 16', calls: 100, counted: 35 } as const
  const outcome = (key: string, requirement: string, verdict: Verdict): CaseOutcome => {
    const problem = verdict === 'failed' ? { problem: problemOf(tooMany, { requirements: [requirement] }) } : {}
    return madeUpCase({ key, verdict, proves: [requirement], ...problem })
  }
  const reported = (outcomes: CaseOutcome[]) => {
    const { cases: all } = build(outcomes, { corpus, meta: { again: 'run --disposable' } })
    return all.find(({ key }) => key === outcomes[0]?.key)
  }
  const sentence = 'expected at most 16 of 100 calls to be accepted, 35 were'

  test('is reported as one if the limit holds for single calls, with the advice to use a fresh instance next time', () => {
    expect(reported([outcome('sessions/race', most, 'failed'), outcome(most, most, 'passed')])).toMatchObject({
      problem: { message: `${sentence}; this is a race: the requirement holds for one call at a time (${most})` },
      again: 'run --disposable --only sessions/race --trace # on a fresh instance',
    })
  })

  test('is none where the limit never holds; and a case that creates nothing is repeated anywhere', () => {
    const race = reported([outcome('sessions/race', most, 'failed'), outcome(most, most, 'failed')])
    expect(race?.problem?.message).toBe(sentence)
    const plain = reported([outcome('basic/credentials', 'basic/credentials', 'failed')])
    expect(plain?.again).toBe('run --disposable --only basic/credentials --trace')
    const traced = build([outcome('basic/credentials', 'basic/credentials', 'failed')], { options: { trace: true } })
    expect(traced.cases[0]?.again).toMatch(/ --only basic\/credentials$/)
    const other = build([outcome('basic/credentials', 'basic/credentials', 'failed')], { options: { again: 'run x' } })
    expect(other.cases[0]?.again).toBe('run x --only basic/credentials --trace')
  })
})

test.each([
  ['calls with a created key', 'keys/created-key-works', 'by signature', 9, true],
  ['calls with a created key, and places are free', 'keys/created-key-works', 'by signature', 8, false],
  ['needs no created key', 'basic/key-id', undefined, 9, false],
])('a case that %s is repeated where its keys find a place', async (_what, id, name, count, isFresh) => {
  const corpus = await openCorpus()
  const testCase = corpus.scenarios.find((one) => one.id === id)?.cases.find((one) => one.name === (name ?? one.name))
  const failed = { ...madeUpCase({ key: id, verdict: 'failed' }), id, case: testCase?.name ?? null }
  const left = Array.from({ length: count }, (_, at) => `API key ${at} ("one")`)
  const { cases } = build([failed], { corpus, left, meta: { again: 'run --disposable' } })
  expect(cases.find(({ key }) => key === id)?.again.endsWith('# on a fresh instance')).toBe(isFresh)
})

describe('a baseline', () => {
  const other = { ...guard, id: 'a/other' }
  const twice = madeUpCase({ key: 'one', verdict: 'failed', proves: ['a/guard', 'a/other'] })
  const caseOne = (entry: KnownEntry, outcome = twice) =>
    build([outcome], { requirements: [guard, other], known: [entry] }).cases.find(({ id }) => id === 'one')

  test('covers one failure of a case, or all', () => {
    const requirements = { 'a/guard': 'known', 'a/other': 'failed' }
    expect(caseOne(known({ requirement: 'a/guard' }))).toMatchObject({ verdict: 'failed', requirements })
    expect(caseOne(known())).toMatchObject({ verdict: 'known', known: { reason: 'r' } })
  })

  test.each([
    ['all 32 bytes', 'known'],
    ['all-32-bytes', 'known'],
    ['another', 'failed'],
  ])('names a case by its name or by the last part of its key: %s', (name, verdict) => {
    const named = madeUpCase({ key: 'one/all-32-bytes', id: 'one', case: 'all 32 bytes', verdict: 'failed' })
    expect(caseOne(known({ case: name }), named)?.verdict).toBe(verdict)
  })

  test('excuses a case that a known failure blocks; any other blocked case fails the run', () => {
    const wrong = { kind: 'wrong-outcome', expected: 'accepted', got: { outcome: 'refused', status: 200 } } as const
    const blocked = problemOf(wrong, { inPreparation: true })
    const outcomes = [
      judged('one', 'failed', { problem: problemOf(wrong, { requirements: ['a/guard'] }) }),
      madeUpCase({ key: 'two', verdict: 'blocked', problem: blocked }),
    ]
    const seen = build(outcomes, { known: [known()] })
    expect(endOf(seen)).toEqual(['does-not-conform', 0])
    expect(seen.conclusion).toContain('1 case blocked by known failures')
  })

  test('an update keeps reasons, adds what is new, drops what passes, keeps what was not judged', () => {
    const kept = known({ scenario: 'kept', reason: 'The clock is coarse', issue: 'https://tracker.example/1' })
    const passes = known({ scenario: 'passes' })
    const sometimes = known({ scenario: 'sometimes', sometimes: true })
    const notRun = known({ scenario: 'not-run' })
    const blocked = known({ scenario: 'blocked' })
    const entries = [kept, passes, sometimes, notRun, blocked]
    const outcomes = [
      ...cases('kept:failed passes:passed sometimes:passed blocked:blocked'),
      judged('new/all-32-bytes', 'failed', { id: 'new', case: 'all 32 bytes' }),
    ]
    const fresh = { reason: 'not explained yet', issue: null }
    const added = { scenario: 'new', case: 'all 32 bytes', requirement: 'a/guard', ...fresh }
    const updated = updatedKnown(build(outcomes, { known: entries }), entries)
    expect(updated).toEqual([kept, sometimes, notRun, blocked, added])
  })
})

describe('a finding of the model', () => {
  const finding = { ...madeUpFinding, id: 'found/a/guard/secret-fits', requirement: 'a/guard' }
  const seen = (level: 'must' | 'implied', entries: KnownEntry[] = [], strict = false) =>
    build(cases('one:passed'), { findings: [{ ...finding, level }], known: entries, options: { strict } })
  const entry = known({ scenario: finding.id })

  test.each([
    ['about a must fails the run', seen('must'), ['failed', 'does-not-conform', 1]],
    ['about something implied warns', seen('implied'), ['warned', 'conforms', 0]],
    ['about something implied fails a strict run', seen('implied', [], true), ['warned', 'conforms', 1]],
    ['is known if a baseline names its id', seen('must', [entry]), ['known', 'does-not-conform', 0]],
  ])('%s', (_, report, expected) => {
    expect([report.requirements[0]?.verdict, report.verdict, report.exitCode]).toEqual(expected)
  })

  test.each([
    [0, 30, 'conforms'],
    [1, 30, 'does-not-conform'],
    // A creation is not tried again.
    [0, 0, 'does-not-conform'],
  ])('that was seen %i times in %i further tries: %s', (failed, tries, verdict) => {
    const again = { ...finding, reproduced: { failed, tries } }
    expect(build(cases('one:passed'), { findings: [again] }).verdict).toBe(verdict)
  })

  test('is counted in the conclusion, and an update of the baseline adds it', () => {
    expect(seen('must').conclusion).toEqual(['The model found 1 answer that the document does not allow'])
    expect(seen('must', [entry]).findings[0]?.known).toEqual({ reason: 'r', issue: null })
    expect(updatedKnown(seen('must'), [])).toEqual([
      { scenario: finding.id, requirement: 'a/guard', reason: 'not explained yet', issue: null },
    ])
  })
})

describe('merging shards', () => {
  const corpus = madeUpCorpus({
    requirements: [guard, { ...guard, id: 'envelope/id-echo', kind: 'shape' }],
    scenarios: ['a/one', 'a/two'].map((id) => [id, ['a/guard']]),
    questions: ['q/one'],
  })
  const shard = (index: number, count: number, outcomes: CaseOutcome[], entries: KnownEntry[] = []): Report =>
    build(outcomes, {
      corpus,
      known: entries,
      meta: { shard: `${index}/${count}`, target: `http://127.0.0.1:900${index}`, durationMs: index * 1000 },
      options: { partial: 'shard' },
    })
  const half = (key: string, side: 'accepted' | 'refused', answer: string) =>
    judged(key, 'passed', { sides: { 'a/guard': [side] }, observations: [{ question: 'q/one', answer }] })
  const [one, two] = [half('a/one', 'accepted', 'no'), half('a/two', 'refused', 'yes')]
  const merge = (reports: Report[], strict = false) => mergeReports(reports, corpus, { strict })

  test('gives the report of the whole run', () => {
    const shards = [shard(1, 2, [one]), shard(2, 2, [two])]
    for (const each of shards) expect(endOf(each)).toEqual(['inconclusive', 0])
    const whole = build([one, two], { corpus, options: { strict: true } })
    const target = 'http://127.0.0.1:9001, http://127.0.0.1:9002'
    expect(merge(shards, true)).toEqual({ ...whole, meta: { ...madeUpMeta, target, durationMs: 2000 } })
  })

  test('counts a case of every shard once, with its worst verdict; an entry is stale only when no shard saw the failure', () => {
    const entries = [known({ scenario: 'test-keys/bob' })]
    const testKey = (verdict: Verdict) => madeUpCase({ key: 'test-keys/bob', verdict, proves: ['a/guard'] })
    const merged = (first: Verdict, listed: KnownEntry[]) =>
      merge([shard(1, 2, [one, testKey(first)], listed), shard(2, 2, [two, testKey('passed')], listed)])
    const bob = merged('failed', []).cases.filter(({ key }) => key === 'test-keys/bob')
    expect([bob.map(({ verdict }) => verdict), merged('failed', []).exitCode]).toEqual([['failed'], 1])
    expect(merged('passed', entries).stale).toEqual(entries)
    expect(merged('failed', entries).stale).toEqual([])
  })

  const newer = { ...shard(2, 2, [two]), meta: { ...madeUpMeta, version: '9.9.9' } }
  test.each<[string, Report[], string]>([
    ['a missing shard', [shard(1, 3, [one]), shard(3, 3, [two])], 'Cannot merge the shards 1/3, 3/3: 2/3 is missing'],
    ['a shard twice', [shard(1, 2, [one]), shard(1, 2, [one]), shard(2, 2, [two])], '1/2 is there twice'],
    ['shards of two runs', [shard(1, 2, [one]), shard(2, 2, [two]), shard(1, 1, [two])], 'they are not of one run'],
    ['a whole run', [madeUpReport()], 'Cannot merge the report of a whole run'],
    ['two versions', [shard(1, 2, [one]), newer], 'different versions: 0.1.0, 9.9.9'],
  ])('%s is refused', (_, reports, message) => {
    expect(() => merge(reports)).toThrow(message)
  })
})
