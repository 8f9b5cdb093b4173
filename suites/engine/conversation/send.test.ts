import { describe, expect, test } from 'vitest'
import { createRedactor } from '../redact.ts'
import { seededRandom } from '../signer/random.ts'
import { bareSettings, type Instance, type WireAnswer, type WireRequest } from '../target.ts'
import { openCreatedKeys, openLine } from './conversation.ts'
import { deliver } from './send.ts'
import { noFacts } from './target-facts.ts'

type Answering = (request: WireRequest, calls: number) => WireAnswer

const answered = (status: number, body: unknown, headers: { [name: string]: string } = {}): WireAnswer => ({
  kind: 'answer',
  status,
  headers,
  body: Buffer.from(JSON.stringify(body)),
})
const dropped: WireAnswer = { kind: 'none', reason: 'dropped', refusedConnection: false, stale: false }

/** A line to a target with a clock that is moved, and what became known on it. */
function lineTo(answer: Answering, settings = bareSettings) {
  const sent: WireRequest[] = []
  let nowMs = 1_700_000_000_000
  const instance: Instance = {
    baseUrl: 'http://target',
    root: { kind: 'secret', id: 'root', secret: 'root-secret' },
    settings,
    clock: {
      now: () => nowMs,
      sleep: async (ms) => {
        nowMs += ms
      },
      controlled: true,
    },
    send: async (request) => {
      sent.push(request)
      return answer(request, sent.length)
    },
    sendTogether: async () => [],
    close: async () => {},
  }
  const createdKeys = openCreatedKeys()
  const redactor = createRedactor([])
  const random = seededRandom(1)
  const line = openLine(instance, { facts: noFacts(), random, emit: () => {}, createdKeys, redactor, isGentle: false })
  const call = (params: unknown, more: Partial<WireRequest> = {}, method = 'manager/createApiKey') =>
    deliver(
      line,
      () => ({
        method: 'POST',
        path: '/api',
        headers: [],
        body: Buffer.from(JSON.stringify({ method, params })),
        connection: 'kept',
        ...more,
      }),
      { changes: method.startsWith('manager/') },
    )
  return { line, sent, call, createdKeys, redactor, instance }
}

describe('the record of keys', () => {
  test('a key is recorded before the call that creates it, and with its id after it', async () => {
    const { call, createdKeys } = lineTo(() => {
      expect(createdKeys.unanswered).toEqual(['mine'])
      return answered(200, { result: { id: 'k1', secret: 's1' } })
    })
    await call({ name: 'mine' })
    expect(createdKeys).toMatchObject({ keys: [{ id: 'k1', name: 'mine', secret: 's1' }], unanswered: [] })
  })

  test('a refused creation leaves no key, and an unanswered one perhaps does', async () => {
    const { call, createdKeys } = lineTo((_request, calls) => (calls === 1 ? answered(401, {}) : dropped))
    await call({ name: 'refused' })
    await call({ name: 'lost' })
    expect(createdKeys).toMatchObject({ keys: [], unanswered: ['lost'] })
  })

  test('a key that is deleted is no longer recorded, unless the deletion was refused', async () => {
    const cleanup = { method: 'manager/deleteApiKey', params: { id: '$id' } }
    const { call, createdKeys } = lineTo(
      (_request, calls) => answered(200, calls === 1 ? { result: 'OK' } : { error: { code: 1 } }),
      { ...bareSettings, cleanup },
    )
    for (const id of ['k1', 'k2']) createdKeys.created({ id, name: id })
    for (const id of ['k1', 'k2']) await call({ id }, {}, cleanup.method)
    expect(createdKeys.keys.map(({ id }) => id)).toEqual(['k2'])
  })
})

test('secrets of requests and of answers are known to the redactor, also those of broken answers', async () => {
  const { call, redactor } = lineTo(() => answered(500, { result: { accessToken: 'given-token-12345' } }))
  const authorization = `Basic ${Buffer.from('someone:sent-secret-12345').toString('base64')}`
  await call({ refreshToken: 'sent-refresh-12345' }, { headers: [['authorization', authorization]] }, 'manager/auth')
  const text = redactor.text('given-token-12345 sent-secret-12345 sent-refresh-12345')
  expect(text).toBe('give… sent… sent…')
})

describe('a call that is sent again', () => {
  const list = 'solution/listSolutions'
  test('a throttled one waits as long as the target asks, and each try is written anew', async () => {
    const { call, sent, instance } = lineTo((_request, calls) =>
      calls < 3 ? answered(429, {}, { 'retry-after': '2' }) : answered(200, { result: {} }),
    )
    const begunMs = instance.clock.now()
    const { answer, throttled } = await call({}, {}, list)
    expect([answer.outcome, throttled, sent.length]).toEqual(['accepted', 2, 3])
    expect(instance.clock.now() - begunMs).toBeGreaterThanOrEqual(4000)
  })

  test.each([
    ['kept', list, ['kept', 'fresh']],
    ['own a', list, ['own a', 'own a']],
    ['own a', 'manager/auth', ['own a']],
    ['unused', 'manager/auth', ['unused']],
  ] as const)('where a %s connection had been closed before a call of %s: %j', async (connection, method, expected) => {
    const { call, sent } = lineTo((_request, calls) =>
      calls === 1 ? { ...dropped, stale: true } : answered(200, { result: {} }),
    )
    await call({}, { connection }, method)
    expect(sent.map((one) => one.connection)).toEqual(expected)
  })
})
