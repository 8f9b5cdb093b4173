import { describe, expect, test } from 'vitest'
import { problemWith } from '../engine/language/schemas.ts'
import { probes } from '../facts/measure.ts'
import { allKeyProbes } from '../facts/measure-keys.ts'
import { planFacts } from '../facts/plan.ts'
import { renderFacts } from '../facts/text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import type { Profile } from '../targets/bundled.ts'
import { type MockProof, proveMock } from './mock-of.ts'

const calls = 60
const profiles: [name: string, profile: Partial<Profile>][] = [
  ['the reference server', {}],
  ['a narrow window, nonces that can be used again', { timeWindowMs: 30_000, nonceReuse: 'accepted' }],
  ['HTTP statuses and another word before tokens', { refusalStatus: 'http', tokenPrefix: 'Token' }],
  [
    'short lifetimes, every grant a session, a trusted proxy',
    { accessLifeMs: 30_000, unnamedCountAsSessions: true, trustProxy: true, methodCheckedFirst: false },
  ],
]

describe.each(profiles)('the facts of %s', (_name, profile) => {
  let proof: MockProof
  test('reproduce the switches, and make a mock that answers as the server does', async () => {
    proof = await proveMock({ profile }, {}, calls)
    expect(proof.sheet.profile).toMatchObject(profile)
    expect(proof.differences.length, JSON.stringify(proof.differences, null, 2)).toBeLessThanOrEqual(calls * 0.05)
    // The control: without the facts, these calls tell the two servers apart.
    if (Object.keys(profile).length > 0) expect(proof.differences.length).toBeLessThan(proof.withoutFacts.length)
  })

  test('fit the schema, answer open questions and are printed', async () => {
    const meta = { version: '1', target: 'http://a', started: 'now', allow: ['sessions'], node: 'v20' }
    expect(problemWith({ meta, ...proof.sheet }, 'facts')).toBeUndefined()
    const known = new Set((await openCorpus()).questions.map(({ id }) => id))
    expect(proof.sheet.facts.filter(({ question }) => !known.has(question))).toEqual([])
    expect(renderFacts(proof.sheet, 'http://a')).toContain('time window, the past')
  })
})

test('a sheet without a question does not fit the schema', () => {
  expect(problemWith({ facts: [{ value: 1 }] }, 'facts')).toBeDefined()
})

test('refusals of grants tell an unknown key from a wrong secret at the reference server', async () => {
  const { sheet } = await proveMock({}, {}, 0)
  expect(sheet.givesAway).toContainEqual({ one: 'an unknown key', other: 'a wrong secret', where: 'grant', by: 'code' })
  expect(sheet.givesAway).toContainEqual({ one: 'an unknown key', other: 'a wrong secret', where: 'Basic', by: 'no' })
})

test('without a permission no token is granted, and the plan names what is left out', () => {
  const plan = planFacts([], true)
  expect(plan.grants).toBe(0)
  expect([...plan.left.values()].flat()).toEqual(
    [...probes, ...allKeyProbes].filter(({ needs }) => needs.length > 0).map(({ name }) => name),
  )
})

test('a sheet shows no secret, even where the server repeats it in a name', async () => {
  const secret = 'a-secret-that-nobody-may-read'
  const server = {
    rootKey: { secret },
    rules: {
      resultMember: (_method: string, result: unknown) => (isListing(result) ? { [secret]: 1, ...result } : result),
    },
  }
  const { sheet } = await proveMock(server, {}, 0)
  expect(sheet.facts.find(({ question }) => question === 'solutions/list-result')?.value).toContain('list')
  expect(JSON.stringify(sheet)).not.toContain(secret)
})

const isListing = (result: unknown): result is object =>
  typeof result === 'object' && result !== null && 'list' in result
