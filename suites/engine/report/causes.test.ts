import { describe, expect, test } from 'vitest'
import { madeUpRow } from '../../self/made-up.ts'
import type { Problem, RowOutcome, Verdict } from '../outcome.ts'
import { blockedByFailures, groupByCause } from './causes.ts'
import type { Report, RowReport } from './model.ts'

const requirements = [
  { id: 'envelope/post-api', level: 'must', kind: 'shape' },
  { id: 'grants/credentials', level: 'must', kind: 'guard' },
  { id: 'signatures/hmac', level: 'must', kind: 'guard' },
] as Report['requirements']

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
  return groupByCause({ requirements }, rows).map(({ first, others }) => [first.key, ...others.map(({ key }) => key)])
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
  })
})

test('rows are told as blocked by a failure where their preparation failed in the same way', () => {
  const exchanges = call('manager/auth', { grantType: 'g', scope: ['solution'] })
  const failed = row('grants/accepted', { exchanges })
  const blocked = row('tokens/accepted', { exchanges, message: `preparation: ${refused}` }, 'blocked')
  const other = row('tokens/other', { exchanges, message: 'preparation: something else' }, 'blocked')
  const { known, rest } = blockedByFailures({ requirements, scenarios: [failed, blocked, other] })
  expect([...known]).toEqual([['grants/accepted', [blocked]]])
  expect(rest).toEqual([other])
})
