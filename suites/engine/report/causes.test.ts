import { describe, expect, test } from 'vitest'
import { madeUpRow } from '../../self/made-up.ts'
import type { Problem, RowOutcome, Verdict } from '../outcome.ts'
import { blockersOf, groupByCause, type Levels } from './causes.ts'
import type { RowReport } from './model.ts'

const requirements = [
  { id: 'envelope/post-api', level: 'must', kind: 'shape' },
  { id: 'grants/credentials', level: 'must', kind: 'guard' },
  { id: 'signatures/hmac', level: 'must', kind: 'guard' },
] as Levels

const refused = 'expected the call to be accepted, it was refused (error 24876)'
const taken = 'expected the call to be refused, it was accepted'

function row(key: string, problem: Partial<Problem>, verdict: Verdict = 'failed'): RowReport {
  const whole = {
    requirements: ['grants/credentials'],
    step: 'manager/auth',
    message: refused,
    exchanges: [],
    ...problem,
  }
  return {
    ...madeUpRow({ key, verdict } as Partial<RowOutcome> & { key: string }),
    problem: whole,
  } as unknown as RowReport
}

function call(method: string, params: object, authorization?: string): Problem['exchanges'] {
  const head = authorization === undefined ? [] : [`authorization: ${authorization} …`]
  return [{ request: ['POST /api', ...head, JSON.stringify({ method, params })], answer: ['HTTP 200'] }]
}

function keysOf(rows: RowReport[]): string[][] {
  return groupByCause(requirements, rows).map(({ first, others }) => [first.key, ...others.map(({ key }) => key)])
}

describe('rows of what looks like one cause', () => {
  test('are those whose same call got the same answer; what says most is told', () => {
    const exchanges = call('manager/auth', { grantType: 'api_key_credentials', scope: ['solution'] })
    const rows = [
      row('envelope/post-grant', { requirements: ['envelope/post-api'], exchanges }),
      row('grants/accepted', { exchanges }),
    ]
    expect(keysOf(rows)).toEqual([['grants/accepted', 'envelope/post-grant']])
  })

  test.each([
    ['another restriction', call('manager/auth', { grantType: 'g', scope: ['solution', 'session:a'] })],
    ['another param', call('manager/auth', { grantType: 'g', scope: ['solution'], more: 1 })],
    ['another method', call('solution/listSolutions', {})],
    ['another kind of caller', call('manager/auth', { grantType: 'g', scope: ['solution'] }, 'Basic')],
  ])('are not those with %s', (_what, exchanges) => {
    const usual = call('manager/auth', { grantType: 'g', scope: ['solution'] })
    expect(keysOf([row('one', { exchanges: usual }), row('two', { exchanges })])).toEqual([['one'], ['two']])
  })

  test('are those that break one sentence in one way, and not those that break another one', () => {
    const rows = [
      row('basic/one', { message: taken }),
      row('basic/two', { message: taken }),
      row('signatures/one', { message: taken, requirements: ['signatures/hmac'] }),
      row('basic/three', { message: 'result.id: 1 is not a text' }),
    ]
    expect(keysOf(rows)).toEqual([['basic/one', 'basic/two'], ['signatures/one'], ['basic/three']])
  })

  test('are those whose message differs in a number only', () => {
    expect(
      keysOf([row('a', { message: 'the id is 7 and not 8' }), row('b', { message: 'the id is -1 and not 2' })]),
    ).toEqual([['a', 'b']])
  })

  test('are those for which one mistake was found out', () => {
    const rows = [row('a', { hint: 'All 32 bytes', message: 'x' }), row('b', { hint: 'All 32 bytes', message: 'y' })]
    expect(keysOf(rows)).toEqual([['a', 'b']])
  })

  test('are those that are blocked for one reason, whatever they prove', () => {
    const blocked = (key: string, id: string) => row(key, { requirements: [id], message: 'no cast' }, 'blocked')
    expect(keysOf([blocked('a', 'envelope/post-api'), blocked('b', 'signatures/hmac')])).toEqual([['b', 'a']])
  })

  test('the row whose own claim broke tells it', () => {
    const chain = { ...row('grants/chain', { message: taken }), proves: ['grants/credentials', 'signatures/hmac'] }
    const own = { ...row('grants/own', { message: taken }), proves: ['grants/credentials'] }
    expect(keysOf([chain, own])).toEqual([['grants/own', 'grants/chain']])
    const namesake = { ...row('grants/credentials', { message: taken }), proves: ['grants/credentials'] }
    expect(keysOf([chain, own, namesake])[0]?.[0]).toBe('grants/credentials')
  })
})

describe('a row is blocked by a failure', () => {
  const exchanges = call('manager/auth', { grantType: 'g', scope: ['solution'] })
  const blocked = (message: string) => row('it', { exchanges, message }, 'blocked')
  const blockerOf = (failed: RowReport, message: string) =>
    blockersOf(requirements, [failed, blocked(message)]).get('it')

  test('where its preparation failed in the same way', () => {
    expect(blockerOf(row('grants/accepted', { exchanges }), `preparation: ${refused}`)).toBe('grants/accepted')
    expect(blockerOf(row('grants/accepted', { exchanges }, 'known'), `preparation: ${refused}`)).toBe('grants/accepted')
  })

  test('where a hint was looked for in one of them only', () => {
    expect(blockerOf(row('a', { exchanges, hint: 'a mistake' }), `preparation: ${refused}`)).toBe('a')
  })

  test('where a field of its preparation is wrong in the same way', () => {
    const wrong = 'result.accessTokenExpiry: expected a number, it is missing'
    expect(blockerOf(row('a', { message: wrong }), `preparation: ${wrong}`)).toBe('a')
  })

  test('where a member of the cast, or what keeps all out, is missing', () => {
    expect(blockerOf(row('cast/bob', { message: 'x' }), 'the key of "bob" could not be created (basic: refused)')).toBe(
      'cast/bob',
    )
    const open = row('authorization/required', { message: taken, requirements: ['authorization/required'] })
    expect(blockerOf(open, 'a/b also accepts calls without any authorization, so that …')).toBe(
      'authorization/required',
    )
  })

  test('where an expiry is no moment', () => {
    const wrong = row('grants/result', { message: 'x', requirements: ['grants/result-access-token-expiry'] })
    const message = 'the reported expiry is no 13-digit timestamp in milliseconds, it has 10 digits'
    expect(blockerOf(wrong, message)).toBe('grants/result')
    expect(blockerOf(row('refresh/own-expiry', { requirements: ['refresh/own-expiry'] }), message)).toBeUndefined()
  })

  test.each([
    ['another answer', row('a', { exchanges, message: refused.replace('24876', '1') }), refused],
    ['another call', row('a', { exchanges: call('solution/listSolutions', {}) }), refused],
    ['a warning', row('a', { exchanges }, 'warned'), refused],
    ['another member', row('cast/bob', { message: 'x' }), 'the key of "carol" could not be created (basic: refused)'],
  ])('and not by %s', (_what, failed, message) => {
    expect(blockerOf(failed, `preparation: ${message}`)).toBeUndefined()
  })
})
