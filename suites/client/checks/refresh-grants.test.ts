import { expect, test } from 'vitest'
import { call, grant, journal, judged, refresh, refused, start, startAt } from '../../self/made-up-journal.ts'

test('refresh/not-a-new-grant', () => {
  const id = 'refresh/not-a-new-grant'
  const expired = [grant(0, 'a'), call(1100, 'a', refused)]
  expect(judged(id, journal([...expired, refresh(1110, 'a', 'b')]))).toBe('passed')
  expect(judged(id, journal([grant(0, 'a'), call(10, 'a')]))).toBe('not exercised')
  expect(judged(id, journal([...expired, grant(1110, 'b')]))).toContain('instead of a refresh')
  // The refresh was tried, and refused or lost, so only a grant is left.
  expect(judged(id, journal([...expired, refresh(1110, 'a', null), grant(1120, 'b')]))).toBe('passed')
  expect(judged(id, journal([...expired, refresh(1110, 'a', 'b', { lost: true }), grant(1120, 'c')]))).toBe('passed')
})

test('refresh/not-a-new-grant passes the first two grants, and one at each start', () => {
  const id = 'refresh/not-a-new-grant'
  const grants = (count: number) => Array.from({ length: count }, (_, index) => grant(index * 10, `p${index}`))
  expect(judged(id, journal(grants(2)))).toBe('not exercised')
  expect(judged(id, journal(grants(3)))).toContain('grant 3 of one start')
  const starts = [start(), startAt(5), startAt(15)]
  expect(judged(id, journal(grants(3), {}, { starts }))).toBe('not exercised')
  expect(judged(id, journal(grants(5), {}, { starts: null }))).toBe('not exercised')
  const afterThrottle = [grant(0, 'x', { status: 429, error: 0, answerHeaders: { 'retry-after': '1' } }), ...grants(2)]
  expect(judged(id, journal(afterThrottle))).toBe('not exercised')
  // Each of them follows a refresh that did not work.
  const recoveries = [
    grant(0, 'a'),
    refresh(1100, 'a', null),
    grant(1110, 'b'),
    refresh(2300, 'b', null),
    grant(2310, 'c'),
  ]
  expect(judged(id, journal(recoveries))).toBe('passed')
})

test('refresh/late-loser-keeps-the-newer-pair', () => {
  const id = 'refresh/late-loser-keeps-the-newer-pair'
  const late = [grant(0, 'a'), call(500, 'a', { ...refused, took: 1000 }), refresh(1100, 'a', 'b')]
  expect(judged(id, journal([...late, call(1600, 'b')], { parallel: 2 }))).toBe('passed')
  expect(judged(id, journal([...late, grant(1600, 'c')], { parallel: 2 }))).toContain('a new grant is requested')
  expect(judged(id, journal([...late, refresh(1600, 'b', 'c')], { parallel: 2 }))).toBe('passed')
  // What happened to the newer pair later does not matter.
  const renewedLater = [...late, grant(1600, 'c'), call(1700, 'b'), refresh(2200, 'b', 'd')]
  expect(judged(id, journal(renewedLater, { parallel: 2 }))).toContain('a new grant is requested')
  // The newer pair had expired when the refusal came.
  const tooLate = [grant(0, 'a'), call(500, 'a', { ...refused, took: 2000 }), refresh(1100, 'a', 'b')]
  expect(judged(id, journal([...tooLate, grant(2600, 'c')], { parallel: 2 }))).toBe('not exercised')
  // The newer pair has expired in the meantime.
  expect(judged(id, journal([...late, grant(2600, 'c')], { parallel: 2 }))).toBe('passed')
  expect(judged(id, journal([grant(0, 'a'), call(1050, 'a', refused), refresh(1100, 'a', 'b')], { parallel: 2 }))).toBe(
    'not exercised',
  )
  const race = [grant(0, 'a'), refresh(1100, 'a', 'b', { took: 50 }), refresh(1110, 'a', null, { took: 60 })]
  expect(judged(id, journal([...race, grant(1200, 'c')], { parallel: 2 }))).toContain('a new grant is requested')
  expect(judged(id, journal([...race, call(1200, 'b')], { parallel: 2 }))).toBe('passed')
})
