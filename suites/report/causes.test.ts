import { describe, expect, test } from 'vitest'
import type { Hint, Problem, ProblemFacts, Verdict } from '../engine/judge/problem.ts'
import { madeUpCase, madeUpFinding, problemOf } from '../self/made-up-report.ts'
import { blockersOf, groupByCause, toldLines } from './causes.ts'
import type { CaseReport } from './report.ts'

const requirements = [
  { id: 'envelope/post-api', level: 'must', kind: 'shape' },
  { id: 'grants/credentials', level: 'must', kind: 'guard' },
  { id: 'signatures/hmac', level: 'must', kind: 'guard' },
] as const

const refusal = { outcome: 'refused', status: 200, code: 24876 } as const
const refused = { kind: 'wrong-outcome', expected: 'accepted', got: refusal } as const
const accepted = { kind: 'wrong-outcome', expected: 'refused', got: { outcome: 'accepted' } } as const
const mismatch = { rule: 'schema', wanted: 'must be string', place: '', got: '1' } as const
const wrongType = { kind: 'wrong-value', path: 'result.id', mismatch } as const

type Change = Partial<Pick<Problem, 'requirements' | 'exchanges' | 'hint' | 'inPreparation'>>

function testCase(key: string, facts: ProblemFacts = refused, change: Change = {}, verdict: Verdict = 'failed') {
  const problem = problemOf(facts, { requirements: ['grants/credentials'], step: 'manager/auth', ...change })
  return { ...madeUpCase({ key, verdict }), blockedBy: null, problem } as unknown as CaseReport
}

function call(method: string, params: object, authorization?: string): Problem['exchanges'] {
  const head = authorization === undefined ? [] : [`authorization: ${authorization} …`]
  return [{ request: ['POST /api', ...head, JSON.stringify({ method, params })], answer: ['HTTP 200'] }]
}

const granting = (more: object = {}, authorization?: string) =>
  call('manager/auth', { grantType: 'g', scope: ['solution'], ...more }, authorization)
const usual = { exchanges: granting() }
const hint = { kind: 'server-mistake', mistake: 'signature/untruncated' } as const

function keysOf(cases: CaseReport[]): string[][] {
  return groupByCause(requirements, cases).map(({ first, others }) => [first.key, ...others.map(({ key }) => key)])
}

describe('cases of what looks like one cause', () => {
  const other = { ...wrongType, mismatch: { ...wrongType.mismatch, got: '-12' } }
  const ended = (key: string, of: number) =>
    testCase(key, accepted, { hint: { kind: 'sessions-ended', ended: [of - 1], of } })
  const blocked = (key: string) => testCase(key, { kind: 'no-way-to-create' }, {}, 'blocked')
  test.each<[string, CaseReport, CaseReport]>([
    ['whose same call got the same answer', testCase('b', refused, usual), testCase('a', refused, usual)],
    ['that differ only in the received value', testCase('b', wrongType), testCase('a', other)],
    ['for which the same mistake was found', testCase('b', accepted, { hint }), testCase('a', wrongType, { hint })],
    ['that name ended sessions, of however many', ended('b', 16), ended('a', 18)],
    ['that are blocked for one reason', blocked('b'), blocked('a')],
  ])('are those %s, whatever they prove; the most telling one comes first', (_what, one, two) => {
    expect(keysOf([one, two])).toEqual([['b', 'a']])
    const ofEnvelope = { ...one, problem: one.problem && { ...one.problem, requirements: ['envelope/post-api'] } }
    expect(keysOf([ofEnvelope, two])).toEqual([['a', 'b']])
  })

  test.each([
    ['another restriction', granting({ scope: ['solution', 'session:a'] })],
    ['another param', granting({ more: 1 })],
    ['another method', call('solution/listSolutions', {})],
    ['another kind of caller', granting({}, 'Basic')],
  ])('are not those with %s', (_what, exchanges) => {
    expect(keysOf([testCase('one', refused, usual), testCase('two', refused, { exchanges })])).toHaveLength(2)
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
      const failed = (id: string): CaseReport => ({ ...testCase(id, refused, { hint }), id })
      return keysOf(['signatures/hmac-accepted', 'grants/credentials'].map(failed))[0]?.[0]
    }
    expect(leaderWith({ kind: 'server-mistake', mistake: 'signature/untruncated' })).toBe('signatures/hmac-accepted')
    expect(leaderWith({ kind: 'perhaps-not-fresh' })).toBe('grants/credentials')
  })
})

describe('a defect is told in one line', () => {
  const register = [
    ...requirements,
    { id: 'addresses/bound', level: 'must', kind: 'guard', consequences: ['refresh/address-kept'] },
    { id: 'refresh/address-kept', level: 'implied', kind: 'guard' },
    { id: 'authorization/required', level: 'must', kind: 'guard', consequences: ['signatures/hmac'] },
    { id: 'basic/credentials', level: 'must', kind: 'guard', consequences: ['keys/created-key-works'] },
    { id: 'keys/created-key-works', level: 'must', kind: 'guard', consequences: ['signatures/ecc'] },
    { id: 'signatures/ecc', level: 'must', kind: 'guard' },
    { id: 'signatures/hmac', level: 'must', kind: 'guard', consequences: ['signatures/hmac-length'] },
    { id: 'signatures/hmac-length', level: 'must', kind: 'guard', consequences: ['signatures/hmac'] },
  ] as const
  const told = (cases: CaseReport[], findings: Parameters<typeof toldLines>[2] = []): string[] =>
    toldLines(
      register.map((one) => ({ ...one, consequences: 'consequences' in one ? [...one.consequences] : [] })),
      cases,
      findings,
    ).map(({ verdict, first, others, blocks }) =>
      [verdict, first, ...others, ...blocks.map((key) => `(${key})`)].join(' '),
    )
  /** A case that breaks one sentence; a call with this word in its Authorization header did. */
  const about = (key: string, facts: ProblemFacts, id: string, word?: string, method = 'solution/listSolutions') =>
    testCase(key, facts, { requirements: [id], ...(word === undefined ? {} : { exchanges: call(method, {}, word) }) })
  const bound = about('second-address', accepted, 'addresses/bound')
  const kept = testCase('address-kept', accepted, { requirements: ['refresh/address-kept'] }, 'warned')
  const hmac = about('hmac', accepted, 'signatures/hmac')
  const finding = (id: string, requirement: string, level: 'must' | 'implied' = 'must') => {
    const found = { id: `found/${requirement}/${id}`, requirement, level, known: null }
    return { ...madeUpFinding, ...found }
  }

  test('with the consequences that its requirement names; one of them alone is a line', () => {
    expect(told([kept, bound])).toEqual(['failed second-address address-kept'])
    expect(told([kept])).toEqual(['warned address-kept'])
  })

  test('but not with the consequence of a sentence that holds, nor with what is let in by another way to authorize', () => {
    const by = (way: string, id: string) => about(id, accepted, id, way)
    const [basic, ecc] = [by('Basic', 'basic/credentials'), by('svc-hmac-sha256', 'signatures/ecc')]
    expect(told([basic, ecc])).toHaveLength(2)
    expect(told([basic, by('Basic', 'keys/created-key-works')])).toHaveLength(1)
    expect(told([basic, by('Bearer', 'keys/created-key-works')])).toHaveLength(2)
    const exchanges = call('solution/listSolutions', {})
    const ofEcc = testCase('ecc', refused, { requirements: ['signatures/ecc'], exchanges })
    expect(told([about('basic', refused, 'basic/credentials'), ofEcc])).toHaveLength(2)
  })

  test('with the other scopes whose tokens open a method, where they are three or more', () => {
    const opened = (...areas: string[]) =>
      areas.map((area) => about(area, accepted, `scopes/${area}`, 'Bearer', 'manager/createApiKey'))
    expect(told(opened('inbox', 'store', 'stream'))).toEqual(['failed inbox store stream'])
    const other = about('hmac', accepted, 'signatures/hmac', 'Bearer', 'a/b')
    expect(told([...opened('inbox', 'store'), other])).toHaveLength(3)
    const found = ['solution', 'thread', 'store'].map((area) => finding('let-in', `scopes/${area}`))
    expect(told([], found)).toHaveLength(1)
    expect(told([], found.slice(1))).toHaveLength(2)
  })

  test('of findings that explain each other, under the one of the fewest steps', () => {
    const found = ['solution', 'thread', 'store'].map((area) => finding('let-in', `scopes/${area}`))
    const [long, short, longer] = found.map((one, at) => ({ ...one, steps: Array(at === 1 ? 1 : 3).fill('a step') }))
    const all = [long, short, longer].flatMap((one) => one ?? [])
    const line = 'failed found/scopes/thread/let-in found/scopes/solution/let-in found/scopes/store/let-in'
    expect(told([], all)).toEqual([line])
  })

  test('under the sentence that most cases with one answer break', () => {
    const broken = ['signatures/ecc', 'signatures/hmac', 'signatures/hmac']
    const cases = broken.map((id, at) => about(`case ${at}`, refused, id))
    expect(told(cases)).toEqual(['failed case 1 case 0 case 2'])
  })

  test('and a failure is never told under a warning', () => {
    const warned = { ...bound, verdict: 'warned' as const }
    expect(told([warned, { ...kept, verdict: 'failed' }])).toEqual(['failed address-kept', 'warned second-address'])
  })

  test('with wrong credentials of any kind that a server lets in that asks for none', () => {
    const open = about('no-header', accepted, 'authorization/required')
    const signed = about('hmac', accepted, 'signatures/hmac', 'Basic', 'a/b')
    expect(told([signed, bound, open])).toEqual(['failed second-address', 'failed no-header hmac'])
  })

  test('with a call that is refused alike in every way to authorize, but not in two', () => {
    const ways = [
      about('Basic', refused, 'signatures/hmac', 'Basic'),
      about('Bearer', refused, 'grants/credentials', 'Bearer'),
      about('svc-hmac-sha256', refused, 'addresses/bound', 'svc-hmac-sha256'),
    ]
    expect(told(ways)).toHaveLength(1)
    expect(told(ways.slice(1))).toHaveLength(2)
  })

  test('with findings of the same sentence; several findings of one sentence are one', () => {
    const four = ['refused-a', 'refused-b', 'let-in'].map((id) => finding(id, 'signatures/hmac'))
    expect(told([], four)).toEqual([`failed ${four.map(({ id }) => id).join(' ')}`])
    expect(told([bound], [finding('let-in', 'refresh/address-kept', 'implied')])).toHaveLength(1)
    expect(told([bound], [finding('refused', 'refresh/address-kept', 'implied')])).toHaveLength(2)
  })

  test('with a call that is let in where another one is refused, if each follows from the other', () => {
    const sent = finding('let-in', 'signatures/hmac-length')
    expect(told([about('hmac', refused, 'signatures/hmac')], [sent])).toEqual([`failed hmac ${sent.id}`])
    const open = about('open', refused, 'authorization/required')
    expect(told([open], [finding('let-in', 'signatures/hmac')])).toHaveLength(2)
  })

  test('under a failed case, never under a finding that explains it, however often that was seen', () => {
    const shape = finding('shape', 'basic/credentials')
    const created = about('created', wrongType, 'keys/created-key-works')
    const ecc = about('ecc', { ...wrongType, path: 'result' }, 'signatures/ecc')
    expect(told([ecc, created], [shape])).toEqual([`failed created ecc ${shape.id}`])
    const twice = { ...finding('shape', 'keys/created-key-works'), reproduced: { failed: 2, tries: 3 } }
    expect(told([ecc], [twice])).toEqual(['failed ecc found/keys/created-key-works/shape'])
    // A warning does not lead over a finding that fails.
    const warned = { ...created, verdict: 'warned' as const }
    expect(told([warned], [shape])).toEqual([`failed ${shape.id} created`])
  })

  test('with what its preparation blocks, if that asks for the same and more; or if nothing else is wrong', () => {
    const exchanges = granting({ scope: ['solution', 'expiresIn:5'] })
    const blocked = testCase('blocked', refused, { requirements: [], exchanges, inPreparation: true }, 'blocked')
    const grant = testCase('grant', refused, usual)
    expect(told([grant, hmac, blocked])).toEqual(['failed grant (blocked)', 'failed hmac'])
    expect(told([hmac, blocked])).toEqual(['failed hmac (blocked)'])
    expect(told([hmac, bound, blocked])).toHaveLength(3)
    const jumped = testCase('jumped', { kind: 'clock-jumped' }, { requirements: [] }, 'blocked')
    expect(told([hmac, jumped])).toEqual(['failed hmac', 'blocked jumped'])
    const explained = { ...jumped, blockedBy: 'address-kept' }
    expect(told([kept, bound, explained])).toEqual(['failed second-address address-kept (jumped)'])
  })
})

describe('whether a case is blocked by a failure', () => {
  const missing = (testKey: string): ProblemFacts => ({ kind: 'test-key-missing', testKey, tried: [], fresh: true })
  const junk = (method: string) => ({ kind: 'junk-accepted', method }) as const
  const of = (id: string, facts: ProblemFacts = accepted) => testCase(id, facts, { requirements: [id] })
  const seconds = { kind: 'expiry-not-a-timestamp', digits: 10 } as const
  const code1 = { ...refused, got: { ...refused.got, code: 1 } }
  test.each<[isBlocked: boolean, when: string, CaseReport, ProblemFacts]>([
    [true, 'if its preparation failed in the same way', testCase('a', refused, usual), refused],
    [true, 'if that failure is a known one', testCase('a', refused, usual, 'known'), refused],
    [true, 'if a hint was looked for in only one of them', testCase('a', refused, { ...usual, hint }), refused],
    [true, 'if a field of its preparation is wrong in the same way', testCase('a', wrongType), wrongType],
    [true, 'if a test key is missing', testCase('test-keys/bob'), missing('bob')],
    [true, 'if no call is refused', of('authorization/required'), { kind: 'open-to-all', method: 'a/b' }],
    [true, 'if nonsense is accepted', of('authorization/required'), junk('a/b')],
    [true, 'if something that is no token is refreshed', of('refresh/token'), junk('manager/auth')],
    [true, 'if an expiry is not a timestamp', of('grants/result-access-token-expiry', wrongType), seconds],
    [false, 'but not by another answer', testCase('a', code1, usual), refused],
    [false, 'nor by another call', testCase('a', refused, { exchanges: call('solution/listSolutions', {}) }), refused],
    [false, 'nor by a warning', testCase('a', refused, usual, 'warned'), refused],
    [false, 'nor by another test key', testCase('test-keys/bob'), missing('carol')],
    [false, 'nor by a refresh of nonsense, if other calls take it', of('refresh/token'), junk('a/b')],
  ])('is %s: %s', (isBlocked, _when, failed, facts) => {
    const place = facts.kind.startsWith('wrong-') ? ({ inPreparation: true } as const) : {}
    const it = testCase('it', facts, { ...usual, ...place }, 'blocked')
    expect(blockersOf(requirements, [failed, it]).get('it')).toBe(isBlocked ? failed.key : undefined)
  })

  test('and of failures of one cause, by the one that is reported in full', () => {
    const hint = { kind: 'perhaps-not-fresh' } as const
    const failures = ['test-keys/bob', 'test-keys/carol'].map((key) => testCase(key, refused, { hint }))
    const it = testCase('it', missing('carol'), {}, 'blocked')
    expect(blockersOf(requirements, [...failures, it]).get('it')).toBe('test-keys/bob')
    const known = { ...testCase('test-keys/bob', refused, { hint }), verdict: 'known' as const }
    expect(blockersOf(requirements, [known, ...failures.slice(1), it]).get('it')).toBe('test-keys/carol')
  })
})
