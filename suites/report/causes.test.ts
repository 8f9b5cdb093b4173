import { describe, expect, test } from 'vitest'
import type { Hint, Problem, ProblemFacts, Verdict } from '../engine/judge/problem.ts'
import { madeUpCase } from '../self/made-up-report.ts'
import { blockersOf, groupByCause } from './causes.ts'
import type { CaseReport } from './report.ts'

const requirements = [
  { id: 'envelope/post-api', level: 'must', kind: 'shape' },
  { id: 'grants/credentials', level: 'must', kind: 'guard' },
  { id: 'signatures/hmac', level: 'must', kind: 'guard' },
] as const

const refused = {
  kind: 'wrong-outcome',
  expected: 'accepted',
  got: { outcome: 'refused', status: 200, code: 24876 },
} as const
const accepted = { kind: 'wrong-outcome', expected: 'refused', got: { outcome: 'accepted' } } as const
const wrongType = {
  kind: 'wrong-value',
  path: 'result.id',
  mismatch: { rule: 'schema', wanted: 'must be string', place: '', got: '1' },
} as const

type Change = Partial<Pick<Problem, 'requirements' | 'exchanges' | 'hint' | 'inPreparation'>>

function testCase(
  key: string,
  facts: ProblemFacts = refused,
  change: Change = {},
  verdict: Verdict = 'failed',
): CaseReport {
  const problem = { ...facts, requirements: ['grants/credentials'], step: 'manager/auth', exchanges: [], ...change }
  return { ...madeUpCase({ key, verdict }), problem } as unknown as CaseReport
}

function call(method: string, params: object, authorization?: string): Problem['exchanges'] {
  const head = authorization === undefined ? [] : [`authorization: ${authorization} …`]
  return [{ request: ['POST /api', ...head, JSON.stringify({ method, params })], answer: ['HTTP 200'] }]
}

function keysOf(cases: CaseReport[]): string[][] {
  return groupByCause(requirements, cases).map(({ first, others }) => [first.key, ...others.map(({ key }) => key)])
}

describe('cases of what looks like one cause', () => {
  test('are those whose same call got the same answer; the most telling one comes first', () => {
    const exchanges = call('manager/auth', { grantType: 'api_key_credentials', scope: ['solution'] })
    const cases = [
      testCase('envelope/post-grant', refused, { requirements: ['envelope/post-api'], exchanges }),
      testCase('grants/accepted', refused, { exchanges }),
    ]
    expect(keysOf(cases)).toEqual([['grants/accepted', 'envelope/post-grant']])
  })

  test.each([
    ['another restriction', call('manager/auth', { grantType: 'g', scope: ['solution', 'session:a'] })],
    ['another param', call('manager/auth', { grantType: 'g', scope: ['solution'], more: 1 })],
    ['another method', call('solution/listSolutions', {})],
    ['another kind of caller', call('manager/auth', { grantType: 'g', scope: ['solution'] }, 'Basic')],
  ])('are not those with %s', (_what, exchanges) => {
    const usual = call('manager/auth', { grantType: 'g', scope: ['solution'] })
    const cases = [testCase('one', refused, { exchanges: usual }), testCase('two', refused, { exchanges })]
    expect(keysOf(cases)).toEqual([['one'], ['two']])
  })

  test('are those that break one sentence in one way, and not those that break another one', () => {
    const cases = [
      testCase('basic/one', accepted),
      testCase('basic/two', accepted),
      testCase('signatures/one', accepted, { requirements: ['signatures/hmac'] }),
      testCase('basic/three', wrongType),
    ]
    expect(keysOf(cases)).toEqual([['basic/one', 'basic/two'], ['signatures/one'], ['basic/three']])
  })

  test('are those that differ only in the received value', () => {
    const other = { ...wrongType, mismatch: { ...wrongType.mismatch, got: '-12' } }
    expect(keysOf([testCase('a', wrongType), testCase('b', other)])).toEqual([['a', 'b']])
  })

  test('are those for which the same mistake was found', () => {
    const hint = { kind: 'server-mistake', mistake: 'signature/untruncated' } as const
    expect(keysOf([testCase('a', accepted, { hint }), testCase('b', wrongType, { hint })])).toEqual([['a', 'b']])
  })

  test('are those that are blocked for one reason, even if they prove different requirements', () => {
    const blocked = (key: string, id: string) =>
      testCase(key, { kind: 'no-way-to-create' }, { requirements: [id] }, 'blocked')
    expect(keysOf([blocked('a', 'envelope/post-api'), blocked('b', 'signatures/hmac')])).toEqual([['b', 'a']])
  })

  test('are led by the case whose own claim broke', () => {
    const chain = { ...testCase('grants/chain', accepted), proves: ['grants/credentials', 'signatures/hmac'] }
    const own = { ...testCase('grants/own', accepted), proves: ['grants/credentials'] }
    expect(keysOf([chain, own])).toEqual([['grants/own', 'grants/chain']])
    const namesake = { ...testCase('grants/credentials', accepted), proves: ['grants/credentials'] }
    expect(keysOf([chain, own, namesake])[0]?.[0]).toBe('grants/credentials')
  })

  test('are led by a case about signatures only if their hint is about signatures', () => {
    const leaderWith = (hint: Hint): string | undefined => {
      const cases = ['signatures/hmac-accepted', 'grants/credentials'].map((id) => ({
        ...testCase(id, refused, { hint }),
        id,
      }))
      return keysOf(cases)[0]?.[0]
    }
    expect(leaderWith({ kind: 'server-mistake', mistake: 'signature/untruncated' })).toBe('signatures/hmac-accepted')
    expect(leaderWith({ kind: 'perhaps-not-fresh' })).toBe('grants/credentials')
  })
})

describe('a case is blocked by a failure', () => {
  const exchanges = call('manager/auth', { grantType: 'g', scope: ['solution'] })
  const blockerOf = (failed: CaseReport, facts: ProblemFacts, change: Change = {}) =>
    blockersOf(requirements, [failed, testCase('it', facts, { exchanges, ...change }, 'blocked')]).get('it')
  const inPreparation = true

  test('if its preparation failed in the same way', () => {
    const known = testCase('grants/accepted', refused, { exchanges }, 'known')
    expect(blockerOf(testCase('grants/accepted', refused, { exchanges }), refused, { inPreparation })).toBe(
      'grants/accepted',
    )
    expect(blockerOf(known, refused, { inPreparation })).toBe('grants/accepted')
  })

  test('if a hint was looked for in only one of them', () => {
    const hint = { kind: 'server-mistake', mistake: 'signature/untruncated' } as const
    expect(blockerOf(testCase('a', refused, { exchanges, hint }), refused, { inPreparation })).toBe('a')
  })

  test('if a field of its preparation is wrong in the same way', () => {
    expect(blockerOf(testCase('a', wrongType), wrongType, { inPreparation, requirements: [] })).toBe('a')
  })

  test('if a test key is missing, or no call is refused', () => {
    const missing: ProblemFacts = { kind: 'test-key-missing', testKey: 'bob', tried: [], fresh: true }
    expect(blockerOf(testCase('test-keys/bob'), missing)).toBe('test-keys/bob')
    const open = testCase('authorization/required', accepted, { requirements: ['authorization/required'] })
    expect(blockerOf(open, { kind: 'open-to-all', method: 'a/b' })).toBe('authorization/required')
    expect(blockerOf(open, { kind: 'junk-accepted', method: 'a/b' })).toBe('authorization/required')
  })

  test('and of failures of one cause, by the one that is reported in full', () => {
    const hint = { kind: 'perhaps-not-fresh' } as const
    const failures = ['test-keys/bob', 'test-keys/carol'].map((key) => testCase(key, refused, { hint }))
    const missing: ProblemFacts = { kind: 'test-key-missing', testKey: 'carol', tried: [], fresh: true }
    const it = testCase('it', missing, {}, 'blocked')
    expect(blockersOf(requirements, [...failures, it]).get('it')).toBe('test-keys/bob')
    const known = { ...testCase('test-keys/bob', refused, { hint }), verdict: 'known' as const }
    expect(blockersOf(requirements, [known, ...failures.slice(1), it]).get('it')).toBe('test-keys/carol')
  })

  test('if an expiry is not a timestamp', () => {
    const wrong = testCase('grants/result', wrongType, { requirements: ['grants/result-access-token-expiry'] })
    const seconds = { kind: 'expiry-not-a-timestamp', digits: 10 } as const
    expect(blockerOf(wrong, seconds)).toBe('grants/result')
    expect(
      blockerOf(testCase('refresh/own-expiry', accepted, { requirements: ['refresh/own-expiry'] }), seconds),
    ).toBeUndefined()
  })

  test.each<[string, CaseReport, ProblemFacts]>([
    ['another answer', testCase('a', { ...refused, got: { ...refused.got, code: 1 } }, { exchanges }), refused],
    ['another call', testCase('a', refused, { exchanges: call('solution/listSolutions', {}) }), refused],
    ['a warning', testCase('a', refused, { exchanges }, 'warned'), refused],
    [
      'another test key',
      testCase('test-keys/bob'),
      { kind: 'test-key-missing', testKey: 'carol', tried: [], fresh: true },
    ],
  ])('and not by %s', (_what, failed, facts) => {
    expect(blockerOf(failed, facts, { inPreparation })).toBeUndefined()
  })
})
