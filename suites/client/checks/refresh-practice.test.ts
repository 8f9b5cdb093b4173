import { expect, test } from 'vitest'
import { call, grant, journal, judged, refresh, refused } from '../../self/made-up-journal.ts'

test('refresh/no-expired-token-sent', () => {
  const id = 'refresh/no-expired-token-sent'
  const first = [grant(0, 'a'), call(1100, 'a', refused)]
  expect(judged(id, journal([...first, refresh(1110, 'a', 'b'), call(1120, 'b')]))).toBe('passed')
  expect(judged(id, journal([grant(0, 'a'), call(10, 'a')]))).toBe('not exercised')
  expect(judged(id, journal([...first, call(1200, 'a', refused)]))).toContain('sent again after it was refused')
  expect(judged(id, journal([...first, call(1200, 'a', refused)], { parallel: 4 }))).toBe('passed')
  expect(judged(id, journal([...first, call(1400, 'a', refused)], { parallel: 4 }))).toContain('sent again')
  // Refused for a reason other than its age.
  const young = [grant(0, 'a', { lifeMs: 5000 }), call(10, 'a', refused), call(20, 'a', refused)]
  expect(judged(id, journal(young))).toBe('not exercised')
})

test('refresh/single-flight', () => {
  const id = 'refresh/single-flight'
  const workers = { parallel: 4 }
  const one = [grant(0, 'a'), refresh(1100, 'a', 'b', { took: 100 })]
  expect(judged(id, journal([...one, call(1210, 'b')], workers))).toBe('passed')
  expect(judged(id, journal(one))).toBe('not exercised')
  expect(judged(id, journal([...one, refresh(1150, 'a', null)], workers))).toContain('under way at once')
  expect(judged(id, journal([...one, refresh(1300, 'a', null)], workers))).toContain('under way at once')
  expect(judged(id, journal([...one, refresh(1210, 'b', 'c')], workers))).toContain('before its first call')
  expect(judged(id, journal([...one, call(1210, 'b'), refresh(1220, 'b', 'c')], workers))).toBe('passed')
  // An idle client may refresh ahead of the expiry.
  expect(judged(id, journal([...one, refresh(2000, 'b', 'c')], workers))).toBe('passed')
  // Repeated after a lost answer, and not immediately.
  const lost = [grant(0, 'a'), refresh(1100, 'a', 'b', { lost: true, took: 20 }), refresh(1130, 'a', null)]
  expect(judged(id, journal(lost, workers))).toBe('passed')
})

test('refresh/lost-answer', () => {
  const id = 'refresh/lost-answer'
  const lost = [grant(0, 'a'), refresh(1100, 'a', 'b', { lost: true })]
  expect(judged(id, journal([...lost, grant(1200, 'c')]))).toBe('passed')
  expect(judged(id, journal([...lost, refresh(1200, 'a', null), grant(1300, 'c')]))).toBe('passed')
  expect(judged(id, journal([...lost, refresh(1200, 'a', null), refresh(1300, 'a', null)]))).toContain('2 times')
  expect(judged(id, journal([...lost, call(1200, 'a', refused)]))).toContain('no grant follows')
  // The client may give up its last call; if more calls follow, it must recover.
  expect(judged(id, journal(lost, { calls: 1 }))).toBe('passed')
  expect(judged(id, journal(lost))).toContain('no grant follows')
  expect(judged(id, journal([grant(0, 'a'), refresh(1100, 'a', 'b')]))).toBe('not exercised')
  const foreign = [grant(0, 'a'), refresh(1100, 'a', 'b', { faults: ['wrong-id'] }), call(1200, 'a', refused)]
  expect(judged(id, journal(foreign))).toContain('no grant follows')
  const malformed = [grant(0, 'a'), refresh(1100, 'a', 'b', { faults: ['malformed'] }), call(1200, 'a', refused)]
  expect(judged(id, journal(malformed))).toContain('no grant follows')
  for (const status of [429, 503]) {
    const throttled = { status, error: 0, answerHeaders: { 'retry-after': '1' } }
    const asked = [grant(0, 'a'), refresh(1100, 'a', null, throttled), refresh(2200, 'a', 'b')]
    expect(judged(id, journal(asked))).toBe('not exercised')
  }
})

test('refresh/no-loop-after-refusal', () => {
  const id = 'refresh/no-loop-after-refusal'
  const refusal = [grant(0, 'a'), refresh(1100, 'a', null)]
  expect(judged(id, journal([...refusal, grant(1200, 'b')]))).toBe('passed')
  expect(judged(id, journal([...refusal, refresh(1200, 'a', null), grant(1300, 'b')]))).toBe('passed')
  expect(judged(id, journal([...refusal, refresh(1200, 'a', null), refresh(1300, 'a', null)]))).toContain(
    '2 more times',
  )
  expect(judged(id, journal([grant(0, 'a'), call(10, 'a')]))).toBe('not exercised')
})

test('refresh/no-loop-after-refusal passes four refreshes without an accepted call', () => {
  const id = 'refresh/no-loop-after-refusal'
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const loop = (count: number) =>
    names
      .slice(0, count)
      .flatMap((name, index) => [
        call(index * 100 + 10, name, { ...refused, faults: ['refuse'] }),
        refresh(index * 100 + 20, name, names[index + 1] ?? 'z'),
      ])
  expect(judged(id, journal([grant(0, 'a'), ...loop(4)]))).toBe('passed')
  expect(judged(id, journal([grant(0, 'a'), ...loop(5)]))).toContain('refresh 5 without an accepted call')
  const between = [
    grant(0, 'a'),
    ...loop(3),
    call(350, 'd'),
    ...loop(2).map((entry) => ({ ...entry, at: entry.at + 400 })),
  ]
  expect(judged(id, journal(between))).toBe('passed')
})
