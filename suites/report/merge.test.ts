import { describe, expect, test } from 'vitest'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Corpus, Requirement } from '../engine/language/fixture-types.ts'
import { madeUpCase, madeUpCorpus, madeUpMeta } from '../self/made-up.ts'
import { madeUpReport } from '../self/made-up-report.ts'
import { buildReport, mergeReports } from './build.ts'
import { matrixOf, renderMatrixMarkdown, renderMatrixText } from './compare/tables.ts'
import type { KnownEntry, Report } from './report.ts'

const guard: Requirement = { id: 'a/guard', level: 'must', kind: 'guard', part: '1', text: 'A guard' }
const corpus: Corpus = madeUpCorpus({
  requirements: [guard, { ...guard, id: 'envelope/id-echo', kind: 'shape' }],
  scenarios: [
    ['a/one', ['a/guard']],
    ['a/two', ['a/guard']],
  ],
  questions: ['q/one'],
})

const shard = (index: number, count: number, outcomes: CaseOutcome[], known: KnownEntry[] = []): Report =>
  buildReport({
    meta: {
      ...madeUpMeta,
      shard: `${index}/${count}`,
      target: `http://127.0.0.1:900${index}`,
      durationMs: index * 1000,
    },
    outcomes,
    corpus,
    known,
    options: { strict: false, partial: 'shard' },
  })

const one = madeUpCase({
  key: 'a/one',
  proves: ['a/guard'],
  sides: { 'a/guard': ['accepted'] },
  observations: [{ question: 'q/one', answer: 'no' }],
})
const two = madeUpCase({
  key: 'a/two',
  proves: ['a/guard'],
  sides: { 'a/guard': ['refused'] },
  observations: [{ question: 'q/one', answer: 'yes' }],
})

describe('merging shards', () => {
  test('gives the report of the whole run', () => {
    const shards = [shard(1, 2, [one]), shard(2, 2, [two])]
    expect(shards.map(({ verdict, exitCode }) => [verdict, exitCode])).toEqual([
      ['inconclusive', 0],
      ['inconclusive', 0],
    ])
    const merged = mergeReports(shards, corpus, { strict: true })
    const whole = buildReport({
      meta: madeUpMeta,
      outcomes: [one, two],
      corpus,
      known: [],
      options: { strict: true, partial: null },
    })
    expect(merged).toEqual({
      ...whole,
      meta: { ...madeUpMeta, target: 'http://127.0.0.1:9001, http://127.0.0.1:9002', durationMs: 2000 },
      cases: whole.cases,
    })
    expect(merged.verdict).toBe('conforms')
  })

  test('a case that every shard has counts once, with its worst verdict', () => {
    const testKeys = (verdict: 'passed' | 'failed') =>
      madeUpCase({ key: 'test-keys/bob', verdict, proves: ['a/guard'] })
    const merged = mergeReports(
      [shard(1, 2, [one, testKeys('passed')]), shard(2, 2, [two, testKeys('failed')])],
      corpus,
      {
        strict: false,
      },
    )
    expect(
      merged.cases.filter((testCase) => testCase.key === 'test-keys/bob').map((testCase) => testCase.verdict),
    ).toEqual(['failed'])
    expect(merged.exitCode).toBe(1)
  })

  test('an entry is stale only when no shard saw the failure', () => {
    const known: KnownEntry[] = [{ scenario: 'test-keys/bob', reason: 'r', issue: null }]
    const testKeys = (verdict: 'passed' | 'failed') =>
      madeUpCase({ key: 'test-keys/bob', verdict, proves: ['a/guard'] })
    const merge = (first: 'passed' | 'failed') =>
      mergeReports(
        [shard(1, 2, [one, testKeys(first)], known), shard(2, 2, [two, testKeys('passed')], known)],
        corpus,
        {
          strict: false,
        },
      )
    expect(merge('passed').stale).toEqual(known)
    expect(merge('failed').stale).toEqual([])
  })

  test.each<[string, Report[], string]>([
    ['a missing shard', [shard(1, 3, [one]), shard(3, 3, [two])], 'Cannot merge the shards 1/3, 3/3: 2/3 is missing'],
    ['a shard twice', [shard(1, 2, [one]), shard(1, 2, [one]), shard(2, 2, [two])], '1/2 is there twice'],
    ['shards of two runs', [shard(1, 2, [one]), shard(2, 2, [two]), shard(1, 1, [two])], 'they are not of one run'],
    ['a whole run', [madeUpReport()], 'Cannot merge the report of a whole run'],
    [
      'two versions',
      [shard(1, 2, [one]), { ...shard(2, 2, [two]), meta: { ...madeUpMeta, version: '9.9.9' } }],
      'different versions: 0.1.0, 9.9.9',
    ],
  ])('%s is refused', (_, reports, message) => {
    expect(() => mergeReports(reports, corpus, { strict: false })).toThrow(message)
  })
})

describe('the matrix', () => {
  const failing = shard(2, 2, [{ ...two, verdict: 'failed', requirements: { 'a/guard': 'failed' } }])
  const matrix = matrixOf([shard(1, 2, [one]), failing], ['one.json', 'two.json'])

  test('has a column per report, differences first', () => {
    expect(renderMatrixText(matrix)).toBe(`A  one.json, http://127.0.0.1:9001, shard 1/2: inconclusive (4 passed)
B  two.json, http://127.0.0.1:9002, shard 2/2: does not conform (3 passed, 1 failed)

They differ on
  requirement  level  A  B
  a/guard      must   –  ✗

They agree on
  requirement       level  A  B
  envelope/id-echo  must   ✓  ✓

✗ failed, – not testable, ✓ passed
`)
  })

  test('is a table in markdown too', () => {
    expect(renderMatrixMarkdown(matrix)).toContain('| a/guard | must | – | ✗ |')
  })
})
