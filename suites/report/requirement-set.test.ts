import { expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Requirement } from '../engine/language/fixture-types.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { readRequirementSet, requirementSets } from '../run/inputs.ts'
import { junitProblems } from '../self/junit-rules.ts'
import { madeUpCase, madeUpCorpus, madeUpFinding, madeUpMeta, madeUpRun } from '../self/made-up-report.ts'
import { freezeSet } from '../self/sources.ts'
import { runRenderers } from './formats.ts'
import { renderHtml } from './html.ts'
import type { Report } from './report.ts'

const { text: renderText, ...render } = runRenderers()
const requirement = (id: string, level: 'must' | 'implied' = 'must') =>
  ({ id, level, kind: 'shape', part: '1', text: `Sentence of ${id}` }) as const
/** The scenarios with the requirements that each of them proves. */
const corpusOf = (requirements: Requirement[], scenarios: { [id: string]: string }) => {
  const all = Object.entries(scenarios).map(([id, proves]): [string, string[]] => [id, proves.split(' ')])
  return madeUpCorpus({ requirements, scenarios: all })
}
const [one, two, three] = [requirement('a/one'), requirement('a/two'), requirement('a/three')]
const then = corpusOf([one, requirement('a/two', 'implied')], { 'old/one': 'a/one', 'old/two': 'a/two' })
/** A later suite: a case and a requirement more, and an implied requirement that became a must. */
const laterCases = { 'old/one': 'a/one a/three', 'old/two': 'a/two', 'new/case': 'a/one a/three' }
const now = corpusOf([one, two, three], laterCases)
const set = freezeSet('1.0', then)
const finding = { ...madeUpFinding, id: 'found/a/one/fact', requirement: 'a/one' }

const ofOne = { key: 'old/one', proves: ['a/one', 'a/three'] }
const passed = [ofOne, { key: 'old/two', proves: ['a/two'] }].map(madeUpCase)
const judge = (outcomes: CaseOutcome[], bySet: boolean, findings: (typeof finding)[] = []): Report => {
  const meta = { ...madeUpMeta, set: bySet ? '1.0' : 'current' }
  return madeUpRun(outcomes, { meta, corpus: now, findings, set: bySet ? set : null })
}

test('an added case changes no verdict, and is reported separately', () => {
  const outcomes = [...passed, madeUpCase({ key: 'new/case', verdict: 'failed', proves: ['a/one', 'a/three'] })]
  expect([judge(outcomes, false).verdict, judge(outcomes, false).exitCode]).toEqual(['does-not-conform', 1])
  const report = judge(outcomes, true)
  expect([report.verdict, report.exitCode, report.summary.failed]).toEqual(['conforms', 0, 0])
  expect(report.requirements.map(({ id, verdict }) => `${id} ${verdict}`)).toEqual(['a/one passed', 'a/two passed'])
  expect(report.newer.cases.map(({ key, verdict }) => [key, verdict])).toEqual([['new/case', 'failed']])
  expect(report.conclusion).toContain('Newer checks found 1 problem that set 1.0 does not judge')
  const text = renderText(report, { colour: false })
  expect(text).toContain('Found by newer checks, which are not in set 1.0')
  expect(text).toContain('✗ new/case\n')
  expect(renderHtml(report)).toContain('id="newer/new/case"')
  expect(render.markdown(report)).toContain('Found by newer checks')
  const junit = render.junit(report)
  expect(junitProblems(junit)).toEqual([])
  expect(junit).not.toContain('<failure')
  const skipped = '<testcase classname="newer checks.new.case" name="The claim of new/case" time="0.001"><skipped'
  expect(junit).toContain(skipped)
  const { summary, tests } = JSON.parse(render.ctrf(report)).results
  expect(summary).toMatchObject({ tests: 3, passed: 2, failed: 0, skipped: 1 })
  expect(tests.at(-1)).toMatchObject({
    testId: 'newer: new/case',
    status: 'skipped',
    rawStatus: 'failed',
    suite: ['newer checks', 'new', 'case'],
    message: expect.stringContaining('which is not in set 1.0'),
  })
})

test('a finding of a walk changes no verdict either', () => {
  expect(judge(passed, false, [finding]).exitCode).toBe(1)
  const report = judge(passed, true, [finding])
  expect(report).toMatchObject({ verdict: 'conforms', exitCode: 0, findings: [], newer: { findings: [{}] } })
  expect(renderText(report, { colour: false })).toContain('✗ found/a/one/fact')
  expect(render.junit(report)).toContain('<testcase classname="newer checks.findings" name="found/a/one/fact"')
  expect(JSON.parse(render.ctrf(report)).results.tests.at(-1).testId).toBe('newer: found/a/one/fact')
})

test('a requirement that a case proves since then does not count for it; a case of the set that fails still fails', () => {
  const [one, two] = passed as [CaseOutcome, CaseOutcome]
  const broken = (id: string): CaseOutcome[] => [
    { ...one, verdict: 'failed', requirements: { 'a/one': 'passed', 'a/three': 'passed', [id]: 'failed' } },
    two,
  ]
  const report = judge(broken('a/three'), true)
  expect([report.verdict, report.cases.find(({ key }) => key === 'old/one')?.verdict]).toEqual(['conforms', 'passed'])
  expect(report.newer.cases.map(({ key }) => key)).toEqual(['old/one'])
  expect(judge(broken('a/one'), true).exitCode).toBe(1)
})

test('a requirement has the level that it had then, and is open if its case was removed', () => {
  const [one, two] = passed as [CaseOutcome, CaseOutcome]
  const report = judge([one, { ...two, verdict: 'failed', requirements: { 'a/two': 'failed' } }], true)
  expect(report.requirements[1]).toMatchObject({ level: 'implied', verdict: 'warned' })
  expect([report.verdict, report.exitCode, report.summary.warned]).toEqual(['conforms', 0, 1])
  expect(judge([one], true).requirements[1]).toMatchObject({ id: 'a/two', verdict: 'not-testable' })
})

test.each(requirementSets())(
  'every requirement and case of set %s is still there, and judges the same',
  async (version) => {
    const corpus = await openCorpus()
    const today = new Map(freezeSet(version, corpus).requirements.map((one) => [one.id, one.cases]))
    const frozen = readRequirementSet(version)
    const lost = (frozen?.requirements ?? []).flatMap(({ id, cases }) =>
      cases.filter((key) => today.get(id)?.includes(key) !== true).map((key) => `${id}: ${key}`),
    )
    const advice = 'Keep the id of a case; for a set that was not released, run "npm run freeze -- VERSION --again"'
    expect(lost, advice).toEqual([])
    expect(allItems(corpus).length).toBeGreaterThan(0)
  },
)
