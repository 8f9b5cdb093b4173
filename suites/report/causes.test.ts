import { describe, expect, test } from 'vitest'
import type { CaseOutcome, Problem, Verdict } from '../engine/judge/outcome.ts'
import { madeUpCase } from '../self/made-up.ts'
import { blockersOf, groupByCause, type Levels } from './causes.ts'
import type { CaseReport } from './model.ts'

const requirements = [
  { id: 'envelope/post-api', level: 'must', kind: 'shape' },
  { id: 'grants/credentials', level: 'must', kind: 'guard' },
  { id: 'signatures/hmac', level: 'must', kind: 'guard' },
] as Levels

const refused = 'expected the call to be accepted, it was refused (error 24876)'
const taken = 'expected the call to be refused, it was accepted'

function testCase(key: string, problem: Partial<Problem>, verdict: Verdict = 'failed'): CaseReport {
  const whole = {
    requirements: ['grants/credentials'],
    step: 'manager/auth',
    message: refused,
    exchanges: [],
    ...problem,
  }
  return {
    ...madeUpCase({ key, verdict } as Partial<CaseOutcome> & { key: string }),
    problem: whole,
  } as unknown as CaseReport
}

function call(method: string, params: object, authorization?: string): Problem['exchanges'] {
  const head = authorization === undefined ? [] : [`authorization: ${authorization} …`]
  return [{ request: ['POST /api', ...head, JSON.stringify({ method, params })], answer: ['HTTP 200'] }]
}

function keysOf(cases: CaseReport[]): string[][] {
  return groupByCause(requirements, cases).map(({ first, others }) => [first.key, ...others.map(({ key }) => key)])
}

describe('cases of what looks like one cause', () => {
  test('are those whose same call got the same answer; what says most is told', () => {
    const exchanges = call('manager/auth', { grantType: 'api_key_credentials', scope: ['solution'] })
    const cases = [
      testCase('envelope/post-grant', { requirements: ['envelope/post-api'], exchanges }),
      testCase('grants/accepted', { exchanges }),
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
    expect(keysOf([testCase('one', { exchanges: usual }), testCase('two', { exchanges })])).toEqual([['one'], ['two']])
  })

  test('are those that break one sentence in one way, and not those that break another one', () => {
    const cases = [
      testCase('basic/one', { message: taken }),
      testCase('basic/two', { message: taken }),
      testCase('signatures/one', { message: taken, requirements: ['signatures/hmac'] }),
      testCase('basic/three', { message: 'result.id: 1 is not a text' }),
    ]
    expect(keysOf(cases)).toEqual([['basic/one', 'basic/two'], ['signatures/one'], ['basic/three']])
  })

  test('are those whose message differs in a number only', () => {
    expect(
      keysOf([
        testCase('a', { message: 'the id is 7 and not 8' }),
        testCase('b', { message: 'the id is -1 and not 2' }),
      ]),
    ).toEqual([['a', 'b']])
  })

  test('are those for which one mistake was found out', () => {
    const cases = [
      testCase('a', { hint: 'All 32 bytes', message: 'x' }),
      testCase('b', { hint: 'All 32 bytes', message: 'y' }),
    ]
    expect(keysOf(cases)).toEqual([['a', 'b']])
  })

  test('are those that are blocked for one reason, whatever they prove', () => {
    const blocked = (key: string, id: string) =>
      testCase(key, { requirements: [id], message: 'no test keys' }, 'blocked')
    expect(keysOf([blocked('a', 'envelope/post-api'), blocked('b', 'signatures/hmac')])).toEqual([['b', 'a']])
  })

  test('the case whose own claim broke tells it', () => {
    const chain = { ...testCase('grants/chain', { message: taken }), proves: ['grants/credentials', 'signatures/hmac'] }
    const own = { ...testCase('grants/own', { message: taken }), proves: ['grants/credentials'] }
    expect(keysOf([chain, own])).toEqual([['grants/own', 'grants/chain']])
    const namesake = { ...testCase('grants/credentials', { message: taken }), proves: ['grants/credentials'] }
    expect(keysOf([chain, own, namesake])[0]?.[0]).toBe('grants/credentials')
  })
})

describe('a case is blocked by a failure', () => {
  const exchanges = call('manager/auth', { grantType: 'g', scope: ['solution'] })
  const blocked = (message: string) => testCase('it', { exchanges, message }, 'blocked')
  const blockerOf = (failed: CaseReport, message: string) =>
    blockersOf(requirements, [failed, blocked(message)]).get('it')

  test('where its preparation failed in the same way', () => {
    expect(blockerOf(testCase('grants/accepted', { exchanges }), `preparation: ${refused}`)).toBe('grants/accepted')
    expect(blockerOf(testCase('grants/accepted', { exchanges }, 'known'), `preparation: ${refused}`)).toBe(
      'grants/accepted',
    )
  })

  test('where a hint was looked for in one of them only', () => {
    expect(blockerOf(testCase('a', { exchanges, hint: 'a mistake' }), `preparation: ${refused}`)).toBe('a')
  })

  test('where a field of its preparation is wrong in the same way', () => {
    const wrong = 'result.accessTokenExpiry: expected a number, it is missing'
    expect(blockerOf(testCase('a', { message: wrong }), `preparation: ${wrong}`)).toBe('a')
  })

  test('where a test key, or what keeps all out, is missing', () => {
    expect(
      blockerOf(testCase('test-keys/bob', { message: 'x' }), 'the key of "bob" could not be created (basic: refused)'),
    ).toBe('test-keys/bob')
    const open = testCase('authorization/required', { message: taken, requirements: ['authorization/required'] })
    expect(blockerOf(open, 'a/b also accepts calls without any authorization, so that …')).toBe(
      'authorization/required',
    )
  })

  test('where an expiry is no moment', () => {
    const wrong = testCase('grants/result', { message: 'x', requirements: ['grants/result-access-token-expiry'] })
    const message = 'the reported expiry is no 13-digit timestamp in milliseconds, it has 10 digits'
    expect(blockerOf(wrong, message)).toBe('grants/result')
    expect(blockerOf(testCase('refresh/own-expiry', { requirements: ['refresh/own-expiry'] }), message)).toBeUndefined()
  })

  test.each([
    ['another answer', testCase('a', { exchanges, message: refused.replace('24876', '1') }), refused],
    ['another call', testCase('a', { exchanges: call('solution/listSolutions', {}) }), refused],
    ['a warning', testCase('a', { exchanges }, 'warned'), refused],
    [
      'another member',
      testCase('test-keys/bob', { message: 'x' }),
      'the key of "carol" could not be created (basic: refused)',
    ],
  ])('and not by %s', (_what, failed, message) => {
    expect(blockerOf(failed, `preparation: ${message}`)).toBeUndefined()
  })
})
