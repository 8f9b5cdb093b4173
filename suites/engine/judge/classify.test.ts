import { describe, expect, test } from 'vitest'
import type { WireAnswer } from '../target.ts'
import { classify, describe as tell } from './classify.ts'

const answer = (status: number, body: unknown, headers: { [name: string]: string } = {}): WireAnswer => ({
  kind: 'answer',
  status,
  headers,
  body: new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
})
const result = { jsonrpc: '2.0', id: 1, result: {} }
const error = { jsonrpc: '2.0', id: 1, error: { code: 5, message: 'no' } }

describe('how an answer counts', () => {
  test.each([
    ['a result', 200, result, 'accepted'],
    ['a result with HTTP 201', 201, result, 'accepted'],
    ['a result of another type', 200, { result: null }, 'accepted'],
    ['a result without jsonrpc and id', 200, { result: [] }, 'accepted'],
    ['a result and an error that is null', 200, { ...result, error: null }, 'accepted'],
    ['a result and an error', 200, { ...result, ...error }, 'refused'],
    ['an error', 200, error, 'refused'],
    ['an error without a code', 200, { error: 'no' }, 'refused'],
    ['HTTP 401 without a body', 401, '', 'refused'],
    ['HTTP 404 with a page', 404, '<html>', 'refused'],
    ['HTTP 403 with a result', 403, result, 'refused'],
    ['HTTP 500 with an error', 500, error, 'refused'],
    ['HTTP 500 with a result', 500, result, 'broken'],
    ['HTTP 500 without a body', 500, '', 'broken'],
    ['HTTP 503 without Retry-After', 503, '', 'broken'],
    ['HTTP 200 without a body', 200, '', 'broken'],
    ['JSON nested 100,000 deep', 200, `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'broken'],
    ['brackets in a string', 200, { result: { text: '['.repeat(1000) } }, 'accepted'],
    ['a number beyond all numbers', 200, '{"result":{},"id":1e400}', 'accepted'],
    ['a byte order mark before JSON', 200, '\ufeff{"result":{}}', 'accepted'],
    ['NUL before JSON', 200, '\u0000{"result":{}}', 'broken'],
    ['half a surrogate pair', 200, '{"result":{"text":"\\ud800"}}', 'accepted'],
    ['a member twice, the last one counts', 200, '{"error":{},"error":null,"result":{}}', 'accepted'],
    ['HTTP 200 with a page', 200, '<html>', 'broken'],
    ['HTTP 200 with an array', 200, [result], 'broken'],
    ['HTTP 200 with neither', 200, { jsonrpc: '2.0', id: 1 }, 'broken'],
    ['HTTP 204', 204, '', 'broken'],
    ['a redirection', 302, result, 'broken'],
    ['HTTP 429', 429, error, 'throttled'],
  ] as const)('%s', (_what, status, body, outcome) => {
    expect(classify(answer(status, body), 0).outcome).toBe(outcome)
  })

  test('a missing answer is broken, and shows whether the connection was refused', () => {
    const none = { kind: 'none', reason: 'gone', refusedConnection: true, stale: false } as const
    expect(classify(none, 0)).toMatchObject({ outcome: 'broken', status: null, refusedConnection: true })
  })
})

describe('how long a throttled call waits', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  test.each([
    ['seconds', { 'retry-after': '3' }, 3000],
    ['a fraction of a second', { 'retry-after': '0.2' }, 200],
    ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7000],
    ['a date that has passed', { 'retry-after': 'Wed, 31 Dec 2025 23:59:00 GMT' }, 0],
  ])('%s', (_what, headers, retryAfterMs) => {
    expect(classify(answer(429, '', headers), now)).toMatchObject({ outcome: 'throttled', retryAfterMs })
  })

  test.each([{ 'retry-after': 'soon' }, {}])('%j names no time to wait', (headers) => {
    expect(classify(answer(429, '', headers), now)).not.toHaveProperty('retryAfterMs')
  })

  test('HTTP 503 with Retry-After is throttled', () => {
    expect(classify(answer(503, '', { 'retry-after': '1' }), now).outcome).toBe('throttled')
  })
})

test('an answer is described in one phrase', () => {
  expect(tell(classify(answer(200, error), 0))).toBe('refused (error 5)')
  expect(tell(classify(answer(401, ''), 0))).toBe('refused (HTTP 401)')
  expect(tell(classify(answer(403, error), 0))).toBe('refused (HTTP 403, error 5)')
  expect(tell(classify(answer(200, ''), 0))).toBe('broken (HTTP 200 with an empty body)')
})
