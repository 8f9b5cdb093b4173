import { beforeAll, describe, expect, test } from 'vitest'
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { buildReport } from '../report/build.ts'
import type { Report } from '../report/report.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { bundledTarget, profileChoices } from '../targets/bundled.ts'
import { madeUpMeta } from './made-up.ts'

const corpus = await openCorpus()
const { requirements, questions } = corpus
const unprovable = new Set(
  requirements.filter(({ untestable }) => untestable && !untestable.without).map(({ id }) => id),
)

let outcomes: CaseOutcome[]
let report: Report

beforeAll(async () => {
  outcomes = await runAll({ target: bundledTarget(), corpus })
  report = buildReport({ meta: madeUpMeta, outcomes, corpus, known: [], options: { strict: true, partial: null } })
})

test('the reference server conforms, and nothing is left open', () => {
  expect(report.cases.filter(({ verdict }) => verdict !== 'passed').map(({ key }) => key)).toEqual([])
  expect({ verdict: report.verdict, exitCode: report.exitCode }).toEqual({ verdict: 'conforms', exitCode: 0 })
  expect(report.requirements.filter(({ gap }) => gap)).toEqual([])
})

describe('every requirement', () => {
  test('is proved by a scenario, or has a written reason why it cannot be', () => {
    const proved = new Set(allItems(corpus).flatMap(provesOf))
    expect(requirements.map(({ id }) => id).filter((id) => !proved.has(id) && !unprovable.has(id))).toEqual([])
    expect([...unprovable].filter((id) => proved.has(id))).toEqual([])
  })

  test('was shown to hold by the reference server', () => {
    const open = report.requirements.filter(({ id, verdict }) => verdict !== 'passed' && !unprovable.has(id))
    expect(open.map(({ id, verdict }) => `${verdict} ${id}`)).toEqual([])
  })

  test('that is a guard was shown from both sides', () => {
    const sides = (id: string) => [...new Set(outcomes.flatMap((outcome) => outcome.sides[id] ?? []))].sort()
    const guards = requirements.filter(({ id, kind }) => kind === 'guard' && !unprovable.has(id))
    const halves = guards.filter(({ id }) => sides(id).join() !== 'accepted,refused')
    expect(halves.map(({ id }) => `${id}: ${sides(id).join()}`)).toEqual([])
    expect(guards.length).toBeGreaterThan(60)
  })

  test('has no reason of only one word', () => {
    const reasons = requirements.flatMap(({ untestable }) => untestable?.reason ?? [])
    expect(reasons.filter((reason) => reason.length < 30)).toEqual([])
  })
})

describe('every open question', () => {
  test('is observed, or has a reason why it is not', () => {
    const observed = new Set(outcomes.flatMap(({ observations }) => observations.map(({ question }) => question)))
    const silent = questions.filter(({ id, unobserved }) => observed.has(id) === (unobserved !== undefined))
    expect(silent.map(({ id, unobserved }) => `${id}: ${unobserved ?? 'never observed'}`)).toEqual([])
  })

  test('names switches that the reference server has, and every switch answers a question or is about the way to it', () => {
    const named = questions.flatMap((question) => question.switch?.split(', ') ?? [])
    expect(named.filter((name) => !(name in profileChoices))).toEqual([])
    const transport = ['basePath', 'scheme', 'delayMs', 'closeConnections', 'clockOffsetMs']
    // Nothing is judged within a second of an expiry, so no case can be made.
    const unasked = [...transport, 'expiryRounding']
    const silent = Object.keys(profileChoices).filter((name) => !named.includes(name) && !unasked.includes(name))
    expect(silent).toEqual([])
  })
})
