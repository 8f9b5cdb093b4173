import { expect, test } from 'vitest'
import { call, grant, journal, judged, signed } from '../../self/made-up-journal.ts'

const wait = { status: 429, error: 0, answerHeaders: { 'retry-after': '1' } }
const hmac = { auth: 'hmac' } as const

test('retry/after-is-kept', () => {
  const id = 'retry/after-is-kept'
  const throttled = [grant(0, 'a'), call(10, 'a', wait)]
  expect(judged(id, journal([...throttled, call(1020, 'a')]))).toBe('passed')
  expect(judged(id, journal([...throttled, call(996, 'a')]))).toBe('passed')
  expect(judged(id, journal(throttled))).toBe('passed')
  expect(judged(id, journal([...throttled, call(990, 'a')]))).toContain('came after 975 ms')
  expect(judged(id, journal([...throttled, grant(100, 'b')]))).toContain('came after 85 ms')
  expect(judged(id, journal([...throttled, call(20, 'a')], { parallel: 2 }))).toBe('not exercised')
  expect(judged(id, journal([grant(0, 'a')]))).toBe('not exercised')
  // RFC 9110 §10.2.3: a date says the same.
  const date = { ...wait, answerHeaders: { 'retry-after': 'Thu, 01 Jan 2026 00:00:02 GMT' } }
  expect(judged(id, journal([grant(0, 'a'), call(10, 'a', date), call(1990, 'a')]))).toBe('passed')
  expect(judged(id, journal([grant(0, 'a'), call(10, 'a', date), call(1900, 'a')]))).toContain('after 1885 ms')
  const onGrant = [grant(0, 'a', { ...wait, status: 503 }), grant(500, 'a')]
  expect(judged(id, journal(onGrant))).toContain('Retry-After names 1000 ms')
})

test('retry/signed-anew and nonce/unique', () => {
  const lost = signed(0, 'n1', { lost: true })
  const again = { ...lost, at: 100, lost: false }
  expect(judged('retry/signed-anew', journal([lost, signed(100, 'n2')], hmac))).toBe('passed')
  expect(judged('retry/signed-anew', journal([lost, again], hmac))).toContain('with its old signature')
  const oldNonce = signed(100, 'n1')
  expect(judged('retry/signed-anew', journal([lost, oldNonce], hmac))).toContain('or nonce')
  expect(judged('retry/signed-anew', journal([lost, signed(50, 'n2'), signed(60, 'n2')], hmac))).toBe('passed')
  expect(judged('retry/signed-anew', journal([signed(0, 'n1'), signed(9, 'n2')], hmac))).toBe('not exercised')
  expect(judged('nonce/unique', journal([signed(0, 'n1'), signed(9, 'n2')], hmac))).toBe('passed')
  expect(judged('nonce/unique', journal([signed(0, 'n1'), signed(9, 'n1')], hmac))).toContain('the same nonce')
  expect(judged('nonce/unique', journal([lost, again, signed(200, 'n2')], hmac))).toBe('passed')
  expect(judged('nonce/unique', journal([lost], hmac))).toBe('not exercised')
})

test('retry/create-key-not-repeated', () => {
  const id = 'retry/create-key-not-repeated'
  const method = 'manager/createApiKey'
  const creation = (at: number, lost: boolean) =>
    signed(at, `n${at}`, { method, params: { name: 'k', scope: [] }, lost })
  const one = { ...hmac, method, calls: 1 }
  expect(judged(id, journal([creation(0, true)], one))).toBe('passed')
  expect(judged(id, journal([creation(0, true), creation(9, false)], one))).toContain('sent again')
  expect(judged(id, journal([creation(0, false)], one))).toBe('not exercised')
  expect(judged(id, journal([creation(0, true), creation(9, false)], hmac))).toBe('not exercised')
})

test('clock/skew-survived', () => {
  const id = 'clock/skew-survived'
  const skewed = { ...hmac, clockOffsetMs: 1_200_000 }
  const stage = 'signature/timestamp'
  const refusal = (at: number) => signed(at, `n${at}`, { error: 24879, stage })
  expect(judged(id, journal([refusal(0), signed(9, 'n')], skewed))).toBe('passed')
  expect(judged(id, journal([refusal(0), refusal(9), signed(20, 'n')], skewed))).toContain('2 calls are refused')
  expect(judged(id, journal([refusal(0)], skewed))).toContain('no further call is made')
  expect(judged(id, journal([refusal(0)], { ...skewed, calls: 1 }))).toBe('not exercised')
  const header = (right: string): string => right.replace(/;1;(\d{10})\d{3};/, ';1;$1;')
  const inSeconds = [0, 9, 20].map((at) => signed(at, `n${at}`, { error: 24879, stage, header }))
  expect(judged(id, journal(inSeconds, hmac))).toBe('not exercised')
  expect(judged(id, journal([signed(9, 'n')], hmac))).toBe('not exercised')
})
