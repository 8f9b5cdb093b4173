import { expect, test } from 'vitest'
import type { CaseOutcome, Verdict } from '../engine/judge/problem.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { madeUpMeta } from '../self/made-up.ts'
import { buildReport } from './build.ts'

const corpus = await openCorpus()

const outcome = (id: string, requirement: string, verdict: Verdict): CaseOutcome => ({
  id,
  case: null,
  key: id,
  title: id,
  verdict,
  proves: [requirement],
  requirements: { [requirement]: verdict },
  sides: {},
  problem:
    verdict === 'failed'
      ? {
          kind: 'wrong-count',
          side: 'accepted',
          wanted: 'at-most 16',
          calls: 100,
          counted: 35,
          requirements: [requirement],
          step: '',
          exchanges: [],
        }
      : null,
  observations: [],
  envelope: [],
  envelopeAnswers: 0,
  calls: 1,
  durationMs: 1,
})

function reportOn(outcomes: CaseOutcome[], id: string) {
  const meta = { ...madeUpMeta, target: 'http://127.0.0.1:8080', again: 'run --disposable' }
  const report = buildReport({ meta, corpus, outcomes, known: [], options: { strict: false, partial: null } })
  return report.cases.find(({ key }) => key === id)
}

const most = 'sessions/at-most-sixteen'

test('a lost race is reported as one if the limit holds for single calls, with the advice to use a fresh instance next time', () => {
  const race = outcome('sessions/race', most, 'failed')
  expect(reportOn([race, outcome(most, most, 'passed')], 'sessions/race')).toMatchObject({
    problem: {
      message: `expected at most 16 of 100 calls to be accepted, 35 were; this is a race: the requirement holds for one call at a time (${most})`,
    },
    again: 'run --disposable --only sessions/race --trace # on a fresh instance',
  })
})

test('where the limit never holds it is no race', () => {
  const race = outcome('sessions/race', most, 'failed')
  const report = reportOn([race, outcome(most, most, 'failed')], 'sessions/race')
  expect(report?.problem?.message).toBe('expected at most 16 of 100 calls to be accepted, 35 were')
})

test('a case that creates nothing is repeated anywhere', () => {
  const report = reportOn([outcome('basic/credentials', 'basic/credentials', 'failed')], 'basic/credentials')
  expect(report?.again).toBe('run --disposable --only basic/credentials --trace')
})
