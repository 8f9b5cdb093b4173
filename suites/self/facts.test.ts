import { describe, expect, test } from 'vitest'
import { problemWith } from '../engine/language/schemas.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { observingItems } from '../run/observe.ts'
import type { Profile } from '../targets/bundled.ts'
import { type MockProof, proveMock } from './mock-of.ts'
import { lastingServer } from './proof-form.ts'

const short = { timeWindowMs: 30_000, accessLifeMs: 30_000 }
const profile: Partial<Profile> = { ...short, nonceReuse: 'accepted', refusalStatus: 'http', trustProxy: true }

describe('the facts of a narrow window, HTTP statuses, short lifetimes and a trusted proxy', () => {
  let proof: MockProof
  test('reproduce the switches, and make a mock that answers as the server does', async () => {
    proof = await proveMock({ profile }, {}, lastingServer)
    expect(proof.sheet.profile).toMatchObject(profile)
    expect(proof.differences.length, JSON.stringify(proof.differences, null, 2)).toBeLessThanOrEqual(proof.calls * 0.05)
  })

  test('fit the schema and answer open questions', async () => {
    const meta = { version: '1', target: 'http://a', started: 'now', allow: ['sessions'], node: 'v20' }
    expect(problemWith({ meta, ...proof.sheet }, 'facts')).toBeUndefined()
    const known = new Set((await openCorpus()).questions.map(({ id }) => id))
    expect(proof.sheet.facts.filter(({ question }) => !known.has(question))).toEqual([])
    expect(proof.sheet.givesAway.map(({ where, by }) => `${where}: ${by}`)).toContain('grant: code')
    expect(JSON.stringify(proof.sheet)).not.toMatch(/"secret"|svc-wrong/)
  })
})

test('a sheet without a question does not fit the schema', () => {
  expect(problemWith({ facts: [{ value: 1 }] }, 'facts')).toBeDefined()
})

test('each call that tells a switch is made by a case that observes', async () => {
  const corpus = await openCorpus()
  const asked = observingItems(corpus).flatMap((item) => {
    const steps = item.kind === 'case' ? item.scenario.steps : []
    return [item.key, ...steps.flatMap(({ step }) => (step === undefined ? [] : [`${item.key}#${step}`]))]
  })
  const told = corpus.questions.flatMap(({ tells }) => (tells === undefined ? [] : [tells.at]))
  expect(told.length).toBeGreaterThan(20)
  expect(told.filter((at) => !asked.includes(at))).toEqual([])
})
