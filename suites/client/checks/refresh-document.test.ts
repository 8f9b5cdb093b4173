import { expect, test } from 'vitest'
import { call, grant, journal, judged, refresh, refused } from '../../self/made-up-journal.ts'

const renewed = [grant(0, 'a'), call(10, 'a'), refresh(1100, 'a', 'b')]

test('refresh/no-scope', () => {
  const id = 'refresh/no-scope'
  expect(judged(id, journal(renewed))).toBe('passed')
  expect(judged(id, journal([grant(0, 'a')]))).toBe('not exercised')
  const params = { grantType: 'refresh_token', refreshToken: 'refresh-token-a', scope: null }
  expect(judged(id, journal([grant(0, 'a'), refresh(9, 'a', 'b', { params })]))).toContain('sends "scope"')
})

test('refresh/old-pair-gone', () => {
  const id = 'refresh/old-pair-gone'
  expect(judged(id, journal([...renewed, call(1200, 'b')]))).toBe('passed')
  expect(judged(id, journal(renewed))).toBe('not exercised')
  expect(judged(id, journal([...renewed, call(1200, 'a', refused)]))).toContain('The access token of a pair')
  expect(judged(id, journal([...renewed, refresh(1200, 'a', null)]))).toContain('The refresh token of a pair')
})

test('refresh/old-pair-gone passes a call that was under way', () => {
  const id = 'refresh/old-pair-gone'
  const late = (at: number, parallel: number) =>
    judged(id, journal([...renewed, call(at, 'a', refused), call(1600, 'b')], { parallel }))
  expect(late(1300, 4)).toBe('passed')
  expect(late(1400, 4)).toContain('The access token')
  expect(late(1300, 1)).toContain('The access token')
  const lagging = [...renewed, call(1400, 'a', refused), call(1600, 'b')]
  expect(judged(id, journal(lagging, { parallel: 4, lagMs: 200 }))).toBe('passed')
})

test('refresh/old-pair-gone counts from a new pair that was delivered', () => {
  const lost = [grant(0, 'a'), refresh(1100, 'a', 'b', { lost: true }), refresh(1200, 'a', null)]
  expect(judged('refresh/old-pair-gone', journal(lost))).toBe('not exercised')
  const malformed = [grant(0, 'a'), refresh(1100, 'a', 'b', { faults: ['malformed'] }), refresh(1200, 'a', null)]
  expect(judged('refresh/old-pair-gone', journal(malformed))).toBe('not exercised')
})

test('refresh/newest-used', () => {
  const id = 'refresh/newest-used'
  expect(judged(id, journal([...renewed, call(1200, 'b')]))).toBe('passed')
  expect(judged(id, journal(renewed))).toBe('not exercised')
  expect(judged(id, journal([...renewed, call(1200, 'a', refused)]))).toContain('still send an older access token')
  expect(judged(id, journal([...renewed, call(1200, 'b'), refresh(2300, 'a', null)]))).toContain('that was replaced')
  const twice = [...renewed, refresh(2300, 'b', 'c'), call(2400, 'c')]
  expect(judged(id, journal(twice))).toBe('passed')
  const otherLine = [...renewed, grant(1200, 'x'), call(1300, 'x'), call(1400, 'b')]
  expect(judged(id, journal(otherLine))).toBe('passed')
})
