import { describe, expect, test } from 'vitest'
import {
  call,
  elsewhere,
  grant,
  journal,
  judged,
  key,
  refresh,
  refused,
  start,
  startAt,
} from '../../self/made-up-journal.ts'

describe('secrets', () => {
  test('secrets/not-in-url', () => {
    const id = 'secrets/not-in-url'
    const to = (target: string): string => judged(id, journal([grant(0, 'a'), call(9, 'a', { target })]))
    expect(to('/api')).toBe('passed')
    expect(to('/api?access_token=access-token-a')).toContain('The URL contains')
    expect(to(`/api?secret=${encodeURIComponent(key.secret)}`)).toContain('The URL contains')
    expect(judged(id, journal([{ at: 0 }]))).toBe('not exercised')
  })

  test('secrets/not-after-redirect', () => {
    const id = 'secrets/not-after-redirect'
    const redirected = [grant(0, 'a'), call(9, 'a', { status: 307, faults: ['redirect'] })]
    const to = (entry: Parameters<typeof elsewhere>[0][number]): string =>
      judged(id, journal(redirected, {}, elsewhere([entry])))
    expect(judged(id, journal(redirected))).toBe('passed')
    expect(judged(id, journal([grant(0, 'a')]))).toBe('not exercised')
    expect(to({ at: 20, httpMethod: 'GET' })).toBe('passed')
    expect(to(call(20, 'a'))).toContain('The Authorization header is sent to another origin')
    expect(to(grant(20, 'b'))).toContain('A secret of the request')
    expect(to({ at: 20, headers: [['Cookie', 't=access-token-a']] })).toContain('A header with a secret')
  })

  test('secrets/refresh-token-only-to-auth', () => {
    const id = 'secrets/refresh-token-only-to-auth'
    expect(judged(id, journal([grant(0, 'a'), refresh(1100, 'a', 'b')]))).toBe('passed')
    expect(judged(id, journal([{ at: 0 }]))).toBe('not exercised')
    const wrong = [grant(0, 'a'), { at: 9, authorization: 'Bearer refresh-token-a' }]
    expect(judged(id, journal(wrong))).toContain('A refresh token is sent with a call')
    expect(judged(id, journal([grant(0, 'a'), call(9, 'a', { params: { token: 'refresh-token-a' } })]))).toContain(
      'sent with a call',
    )
    expect(
      judged(id, journal([grant(0, 'a'), call(9, 'a', { headers: [['X-Refresh', 'refresh-token-a']] })])),
    ).toContain('sent with')
  })
})

describe('answers', () => {
  test('are exercised by their fault', () => {
    const refusal = call(9, 'a', { ...refused, faults: ['refuse'] })
    expect(judged('answers/error-in-200', journal([grant(0, 'a'), refusal]))).toBe('passed')
    expect(judged('answers/error-in-200', journal([grant(0, 'a')]))).toBe('not exercised')
    const foreign = call(9, 'a', { faults: ['wrong-id'] })
    expect(judged('answers/foreign-id-rejected', journal([grant(0, 'a'), foreign]))).toBe('passed')
    expect(judged('answers/malformed-survived', journal([grant(0, 'a'), foreign]))).toBe('not exercised')
  })

  test('answers/foreign-id-rejected', () => {
    const taken = [grant(0, 'a', { faults: ['wrong-id'] }), call(9, 'a')]
    expect(judged('answers/foreign-id-rejected', journal(taken))).toContain('from an answer with another id')
  })

  test('answers/malformed-survived', () => {
    const id = 'answers/malformed-survived'
    const entries = [grant(0, 'a'), call(9, 'a', { faults: ['malformed'] })]
    const ended = (more: Parameters<typeof start>[0]): string =>
      judged(id, journal(entries, {}, { starts: [start(more)] }))
    expect(ended({ ok: 2, error: 2 })).toContain('makes no further call')
    const goesOn = journal([...entries, call(20, 'a')], {}, { starts: [start({ ok: 2, error: 2 })] })
    expect(judged(id, goesOn)).toBe('passed')
    expect(ended({ ok: 1, error: 0, ended: { kind: 'exit', code: 1 } })).toContain('ended with exit code 1')
    expect(ended({ ok: 1, error: 0 })).toContain('reported only 1 of its 4 calls')
    expect(ended({ ended: { kind: 'signal', signal: 'SIGABRT' } })).toContain('ended by SIGABRT')
  })
})

describe('scopes', () => {
  const scope = ['solution', 'expiresIn:60000', 'ipAddr:127.0.0.1', 'session:s']
  const judgedFor = (id: string, requested: string[], wanted = scope): string =>
    judged(id, journal([grant(0, 'a', { scope: requested })], { scope: wanted }))

  test('scopes/lifetime', () => {
    expect(judgedFor('scopes/lifetime', [...scope].reverse())).toBe('passed')
    expect(judgedFor('scopes/lifetime', ['solution'], ['solution'])).toBe('not exercised')
    expect(judgedFor('scopes/lifetime', ['solution'])).toContain('"expiresIn:60000"')
    expect(judgedFor('scopes/lifetime', ['expiresIn:60'])).toContain('"expiresIn:60000"')
    expect(judgedFor('scopes/lifetime', ['expiresIn:1m'], [])).toContain('a whole number of milliseconds')
    const long = grant(0, 'a', { scope: ['expiresIn:9999999999999'], error: 24878, stage: 'scope/expires-in' })
    expect(judged('scopes/lifetime', journal([long], { scope: [] }))).toContain('longer than that of the refresh token')
  })

  test('scopes/address-and-session', () => {
    expect(judgedFor('scopes/address-and-session', scope)).toBe('passed')
    expect(judgedFor('scopes/address-and-session', ['solution', 'session:mine'], ['solution'])).toBe('not exercised')
    expect(judgedFor('scopes/address-and-session', ['solution', 'session:s'])).toContain('"ipAddr:127.0.0.1"')
    expect(judgedFor('scopes/address-and-session', ['ipAddr:127.0.0.1', 'session:S'])).toContain('"session:s"')
  })

  test('scopes/least', () => {
    expect(judgedFor('scopes/least', scope)).toBe('passed')
    expect(judgedFor('scopes/least', ['Solution', 'session:mine'], ['solution'])).toBe('passed')
    expect(judgedFor('scopes/least', ['solution', 'context'], ['solution'])).toContain('"context"')
    expect(judgedFor('scopes/least', ['solution', 'solution:*'], ['solution'])).toContain('"solution:*"')
    expect(judgedFor('scopes/least', ['solution', 'solution:7'], ['solution'])).toContain('"solution:7"')
    expect(judged('scopes/least', journal([{ at: 0 }]))).toBe('not exercised')
  })

  test('scopes/granted-is-read', () => {
    const id = 'scopes/granted-is-read'
    const narrow = grant(0, 'a', { granted: [], faults: ['narrow-grant'] })
    const tries = (count: number) =>
      Array.from({ length: count }, (_, index) => call(index + 10, 'a', { error: 24878, stage: 'scope/area' }))
    expect(judged(id, journal([narrow, ...tries(2)]))).toBe('passed')
    expect(judged(id, journal([narrow, ...tries(3)]))).toContain('3 calls are refused for their scope')
    expect(judged(id, journal([grant(0, 'a'), call(9, 'a')]))).toBe('not exercised')
    const short = grant(0, 'a', { lifeMs: 100, faults: ['shorten-lifetime'] })
    const late = (count: number) => Array.from({ length: count }, (_, index) => call(index * 10 + 200, 'a', refused))
    expect(judged(id, journal([short, ...late(1), refresh(300, 'a', 'b')]))).toBe('passed')
    expect(judged(id, journal([short, ...late(2), refresh(300, 'a', 'b')]))).toBe('passed')
    expect(judged(id, journal([short, ...late(3)]))).toContain('3 times after its expiry')
    expect(judged(id, journal([short, call(9, 'a')]))).toBe('not exercised')
  })
})

test('limits/keys-and-sessions-reused', () => {
  const id = 'limits/keys-and-sessions-reused'
  const starts = [start(), startAt(1000)]
  const twice = (first: string[], second: string[]): string =>
    judged(id, journal([grant(0, 'a', { scope: first }), grant(1100, 'b', { scope: second })], {}, { starts }))
  expect(twice(['solution'], ['solution'])).toBe('passed')
  expect(twice(['session:mine'], ['session:mine'])).toBe('passed')
  expect(twice(['session:1'], ['session:2'])).toContain('requests "session:2"')
  expect(judged(id, journal([grant(0, 'a')]))).toBe('not exercised')
  const creation = (at: number) => ({
    at,
    method: 'manager/createApiKey',
    params: {},
    result: { id: 'k', secret: 's' },
  })
  expect(judged(id, journal([creation(0), creation(1100)], {}, { starts }))).toContain('creates an API key')
  expect(judged(id, journal([creation(0), { at: 1100 }], {}, { starts }))).toBe('passed')
})
