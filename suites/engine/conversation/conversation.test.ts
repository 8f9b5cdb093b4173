import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { basicHeader } from '../../self/made-up-calls.ts'
import {
  type Answering,
  accepting,
  answering,
  type MadeUpAnswer,
  madeUpTarget,
  runOf,
} from '../../self/made-up-target.ts'
import { createRedactor } from '../redact.ts'
import { seededRandom } from '../signer/random.ts'
import { bareSettings, type Instance, type TargetSettings, type WireAnswer, type WireRequest } from '../target.ts'
import type { CallSpec } from './call.ts'
import { type Conversation, type Lane, limitFor, openConversation, openCreatedKeys, openLine } from './conversation.ts'
import { cutAnswer, showExchange } from './exchange.ts'
import { deliver, laneOf, makeCall, makeCalls } from './send.ts'
import {
  narrowOffset,
  noFacts,
  offsetMs,
  offsetUncertaintyMs,
  signingOffsetMs,
  type TargetFacts,
} from './target-facts.ts'

describe('secrets', () => {
  const target = madeUpTarget({ answer: accepting, settings: { scheme: 'acme-hmac', tokenPrefix: 'AcmeToken' } })

  async function redactedAfter(header: string, params: unknown, text: string): Promise<string> {
    const talk = await openConversation(runOf(target, { facts: { ...noFacts(), tokenPrefix: 'jwt-token' } }))
    await makeCall(talk, { method: 'solution/listSolutions', params, auth: { header } })
    return talk.redactor.text(text)
  }

  test.each([
    'Basic',
    'bearer',
    'Bearer ',
    'BEARER Bearer',
    'acme-hmac',
    'ACME-HMAC',
    'AcmeToken',
    'JWT-Token',
    'Bearer undefined',
  ])('a word for a kind of authorization is not a secret: %s', async (header) => {
    const text = '> Bearer Basic acme-hmac AcmeToken jwt-token undefined'
    expect(await redactedAfter(header, {}, text)).toBe(text)
    expect(await redactedAfter('', { apiKeySecret: header, refreshToken: header }, text)).toBe(text)
  })

  test('a text after such a word, or alone, is a secret', async () => {
    expect(await redactedAfter('Bearer token-0123456789', {}, 'x token-0123456789 y')).toBe('x toke… y')
    expect(await redactedAfter('token-0123456789', {}, 'x token-0123456789 y')).toBe('x toke… y')
  })
})

const answered = (status: number, body: unknown, headers: { [name: string]: string } = {}): WireAnswer => ({
  kind: 'answer',
  status,
  headers,
  body: Buffer.from(JSON.stringify(body)),
})
const dropped: WireAnswer = { kind: 'none', reason: 'dropped', refusedConnection: false, stale: false }

/** A line to a target with a clock that is moved, and what became known on it. */
function lineTo(answer: (request: WireRequest, calls: number) => WireAnswer, settings = bareSettings) {
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
  const call = async (params: unknown, more: Partial<WireRequest> = {}, method = 'manager/createApiKey') => {
    const build = (): WireRequest => ({
      method: 'POST',
      path: '/api',
      headers: [],
      body: Buffer.from(JSON.stringify({ method, params })),
      connection: 'kept',
      ...more,
    })
    const [delivered] = await deliver(line, [{ build, changes: method.startsWith('manager/') }])
    if (delivered === undefined) throw new Error('no answer')
    return delivered
  }
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
})

test('secrets of requests and of answers are known to the redactor, also those of broken answers', async () => {
  const { call, redactor } = lineTo(() => answered(500, { result: { accessToken: 'given-token-12345' } }))
  const authorization = basicHeader('someone', 'sent-secret-12345')
  await call({ refreshToken: 'sent-refresh-12345' }, { headers: [['authorization', authorization]] }, 'manager/auth')
  const text = redactor.text('given-token-12345 sent-secret-12345 sent-refresh-12345')
  expect(text).toBe('give… sent… sent…')
})

describe('a call that is sent again', () => {
  const list = 'solution/listSolutions'
  test('a throttled one waits as long as the target asks, and each try is signed again', async () => {
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

const request = { method: 'POST', path: '/api', headers: [], body: new Uint8Array() }

test('a report shows where the reference server refused', () => {
  const { answer } = showExchange(request, answered(401, {}, { 'x-refused-at': 'signature/mac' }), undefined)
  expect(answer).toContain('x-refused-at: signature/mac')
})

test('a long body is shown by its beginning, its end, its length and its SHA-256', () => {
  const body = new TextEncoder().encode(`begin${'x'.repeat(1_000_000)}end`)
  const { answer } = showExchange(request, cutAnswer({ kind: 'answer', status: 200, headers: {}, body }), undefined)
  expect(answer[1]).toMatch(/^beginx+$/)
  expect(answer[2]).toBe(`… (1000008 bytes in all, SHA-256 ${createHash('sha256').update(body).digest('hex')})`)
  expect(answer[3]).toMatch(/^x+end$/)
  expect(answer.join('').length).toBeLessThan(5000)
})

describe('clock offset', () => {
  const at = (ms: number): string => new Date(ms).toUTCString()
  const now = Date.parse('2026-01-01T00:00:00.400Z')

  test('every further answer narrows it', () => {
    const ahead = 300_250
    let offset = narrowOffset(undefined, at(now + ahead), now, now + 5)
    const before = offsetUncertaintyMs(offset)
    for (let step = 1; step <= 10; step += 1) {
      const sent = now + step * 1087
      offset = narrowOffset(offset, at(sent + ahead), sent, sent + 5)
    }
    expect(offsetUncertaintyMs(offset)).toBeLessThan(before)
    expect(Math.abs(offsetMs(offset) - ahead)).toBeLessThan(200)
  })

  test('a Date header of full minutes may name the last one', () => {
    const midnight = Date.parse('2026-01-01T00:00:00Z')
    let offset = narrowOffset(undefined, at(midnight), midnight + 40_000, midnight + 40_010)
    for (const ms of [50_000, 59_900, 60_100, 75_000]) {
      const date = at(midnight + Math.floor(ms / 60_000) * 60_000)
      offset = narrowOffset(offset, date, midnight + ms, midnight + ms + 10)
    }
    expect(offsetMs(offset)).toBe(0)
    expect(offsetUncertaintyMs(offset)).toBeLessThan(1000)
  })

  test('after the clock was set, its new time is used', () => {
    const offset = narrowOffset(undefined, at(now), now, now)
    // A Date header of full minutes is read in another way.
    for (const ms of [60_000, 61_000])
      expect(offsetMs(narrowOffset(offset, at(now + ms), now, now))).toBeGreaterThan(ms - 1000)
  })

  test('of two Date headers the first counts, and none, or text that is not a date, changes nothing', () => {
    const known = narrowOffset(undefined, at(now), now - 20, now + 20)
    expect(narrowOffset(undefined, `${at(now)}, ${at(now - 3_600_000)}`, now - 20, now + 20)).toEqual(known)
    for (const before of [known, undefined])
      for (const date of ['yesterday', undefined]) expect(narrowOffset(before, date, now, now)).toBe(before)
    expect(offsetMs(undefined)).toBe(0)
  })

  test('signed timestamps are never in the future, and at most a second old', () => {
    for (const ahead of [-200_500, -1, 0, 1, 300_250]) {
      const offset = narrowOffset(undefined, at(now + ahead), now - 20, now + 20)
      expect(signingOffsetMs(offset)).toBeLessThanOrEqual(ahead)
      expect(signingOffsetMs(offset)).toBeGreaterThan(ahead - 1100)
    }
    expect(signingOffsetMs(undefined)).toBe(0)
  })
})

const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

// Servers behind a proxy that answers for them while they restart or have no place for a call.

describe('unavailable', () => {
  const list = { method: 'solution/listSolutions', params: {}, auth: 'none' } as const
  const grant = { method: 'manager/auth', params: {}, auth: 'none' } as const

  async function outcomesOf(specs: readonly CallSpec[], answer: Answering, settings: Partial<TargetSettings> = {}) {
    const run = answering(answer, { callMs: 2, settings })
    const talk = await openConversation(run)
    const outcomes: string[] = []
    for (const spec of specs) outcomes.push((await makeCall(talk, spec)).answer.outcome)
    return { outcomes, distinct: [...new Set(outcomes)], made: run.heard.length, facts: run.facts, talk }
  }

  test('calls that a limit answers with 503 and no Retry-After are made again, and then more slowly', async () => {
    let second = 0
    let calls = 0
    const { distinct, made, facts } = await outcomesOf(times(300, list), ({ nowMs }) => {
      const now = Math.floor(nowMs / 1000)
      calls = now === second ? calls + 1 : 1
      second = now
      return calls > 40 ? { status: 503 } : accepting()
    })
    expect(distinct).toEqual(['accepted'])
    expect(facts.callsPerSecond).toBeLessThanOrEqual(60)
    expect(made).toBeLessThan(400)
  })

  /** No place for every call with such a number. */
  const busyAtEvery =
    (nth: number): Answering =>
    (_call, number) =>
      number % nth === 0 ? { status: 503 } : accepting()

  test('a target that only has no place for one call now and then is called as fast as before', async () => {
    const { distinct, facts } = await outcomesOf(times(200, list), busyAtEvery(20))
    expect([distinct, facts.callsPerSecond]).toEqual([['accepted'], undefined])
  })

  test('a race of which some calls get 503 has an answer to each', async () => {
    const { talk } = await outcomesOf([], busyAtEvery(3))
    const raced = await makeCalls(talk, times(6, grant))
    expect(raced.map(({ answer }) => answer.outcome)).toEqual(times(6, 'accepted'))
  })

  const firstIs =
    (first: MadeUpAnswer): Answering =>
    (_call, number) =>
      number === 1 ? first : accepting()
  const errorWith503 = { status: 503, body: { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } } }
  test.each<[what: string, spec: CallSpec, first: MadeUpAnswer, outcome: string, made: number]>([
    ['a listing that gets 502 is made again', list, { status: 502 }, 'accepted', 2],
    ['a listing that gets 504 is made again', list, { status: 504 }, 'accepted', 2],
    ['a listing whose answer was lost is made again', list, 'dropped', 'accepted', 2],
    ['but not if it must be refused', { ...list, mustBeRefused: true }, 'dropped', 'broken', 1],
    ['nor a grant, which changes something', grant, 'dropped', 'broken', 1],
    ['also with 502', grant, { status: 502 }, 'broken', 1],
    ['also with 504', grant, { status: 504 }, 'broken', 1],
    ['a JSON-RPC error with 503 is a refusal', list, errorWith503, 'refused', 1],
    ['a 500 is the answer of the target itself', list, { status: 500 }, 'broken', 1],
  ])('%s', async (_what, spec, first, outcome, made) => {
    expect(await outcomesOf([spec], firstIs(first))).toMatchObject({ outcomes: [outcome], made })
  })

  const refused = { status: 200, body: { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } } }
  const noncesAreOnce: Answering = (_call, number) => (number === 1 ? 'dropped' : refused)
  // The call may have been made, and then its signature is refused for its nonce.
  test.each<[what: string, auth: CallSpec['auth'], outcome: string]>([
    ['alike says nothing of the call', { header: 'svc-hmac-sha256 root;1;1700000000000;n;c2lnbmF0dXJl' }, 'broken'],
    ['with a new nonce is the answer', { hmac: 'root' } as CallSpec['auth'], 'refused'],
    ['with credentials is the answer', { header: basicHeader() }, 'refused'],
  ])('after an answer was lost, the refusal of a call that is signed %s', async (_what, auth, outcome) => {
    expect((await outcomesOf([{ ...list, auth }], noncesAreOnce)).outcomes).toEqual([outcome])
  })

  const settings = {
    cleanup: { method: 'keys/remove', params: { id: '$id' } },
    probes: { disable: { method: 'keys/lock', params: { id: '$id' } }, store: { method: 'store/list', params: {} } },
  }
  test.each([
    ['keys/remove', 'ends a key, so it changes something', 1],
    ['keys/lock', 'ends a key, so it changes something', 1],
    ['store/list', 'does not', 2],
  ])('a method of the target file, %s, %s', async (method, _what, made) => {
    const spec: CallSpec = { method, params: { id: 'k' }, auth: 'none' }
    for (const first of ['dropped' as const, { status: 502 }])
      expect(await outcomesOf([spec], firstIs(first), settings)).toMatchObject({ made })
  })

  test.each([
    ['never answers', 'dropped' as const, 110],
    ['refuses with 503', { status: 503 }, 130],
  ])('a target that %s is soon understood', async (_how, answer, most) => {
    const { distinct, made } = await outcomesOf(times(100, list), () => answer)
    expect(distinct).toEqual(['broken'])
    expect(made).toBeLessThan(most)
  })
})

describe('pace', () => {
  const call = { method: 'solution/listSolutions', params: {}, auth: 'none' } as const

  /** A server that accepts this many calls in each second, and does not say when to come back. */
  function limited(callsPerSecond: number, headers: { [name: string]: string }, ofOthers = 0) {
    let second = 0
    let calls = 0
    let before = ofOthers
    const answer: Answering = ({ nowMs }) => {
      const now = Math.floor(nowMs / 1000)
      calls = now === second ? calls + 1 : before + 1
      second = now
      before = 0
      return calls > callsPerSecond ? { status: 429, headers } : accepting()
    }
    return answering(answer, { callMs: 2 })
  }

  /** Makes calls one after another, and measures the time. */
  async function calling(talk: Conversation, count: number) {
    const began = talk.instance.clock.now()
    const calls = []
    for (let made = 0; made < count; made += 1) calls.push(await makeCall(talk, call))
    return {
      tookMs: talk.instance.clock.now() - began,
      outcomes: new Set(calls.map(({ answer }) => answer.outcome)),
      throttled: calls.map(({ throttled }) => throttled),
    }
  }

  test.each([
    ['without Retry-After', {}],
    ['with Retry-After: 0', { 'retry-after': '0' }],
  ])('a target that throttles is called at a pace that it accepts, %s', async (_how, headers) => {
    const run = limited(40, headers)
    const { outcomes, throttled } = await calling(await openConversation(run), 400)
    expect(outcomes).toEqual(new Set(['accepted']))
    expect(throttled.slice(200).filter((times) => times > 0)).toEqual([])
    expect(run.facts.callsPerSecond).toBeGreaterThan(10)
    expect(run.facts.callsPerSecond).toBeLessThanOrEqual(40)
  })

  test('a creation that may be beyond the limit is waited out once, and then counts as refused', async () => {
    const run = answering((_call, number) =>
      number > 9 ? { status: 429 } : { result: { id: `key-${number}`, secret: 'a-secret' } },
    )
    const talk = await openConversation(run)
    const create = () => makeCall(talk, { ...call, method: 'manager/createApiKey', params: { name: 'n', scope: [] } })
    for (let made = 0; made < 9; made += 1) expect((await create()).answer.outcome).toBe('accepted')
    expect((await create()).answer).toMatchObject({ outcome: 'refused', status: 429 })
    expect(run.heard).toHaveLength(11)
  })

  test('a live target is called slowly at first, and faster while it does not throttle', async () => {
    const talk = await openConversation(answering(accepting, { callMs: 0, fresh: false }))
    expect((await calling(talk, 20)).tookMs).toBeGreaterThanOrEqual(900)
    expect((await calling(talk, 2000)).tookMs).toBeLessThan(12_000)
  })

  test('a target with a limit throttles ever more rarely', async () => {
    const { throttled } = await calling(await openConversation(limited(40, {})), 3000)
    expect(throttled.filter((times) => times > 0).length).toBeLessThan(30)
  })

  const fiftieth = (call: number): boolean => call % 50 === 0
  test.each<[string, (call: number) => boolean, MadeUpAnswer, number]>([
    // At the slowest pace it would take 400 s.
    ['one call with 429', (call) => call === 3, { status: 429 }, 30_000],
    ['every fiftieth with 503 and Retry-After: 0', fiftieth, { status: 503, headers: { 'retry-after': '0' } }, 10_000],
    ['every fiftieth with 429 without Retry-After', fiftieth, { status: 429 }, 25_000],
    // Each of the forty waits its second, and the calls between them are as fast as ever.
    ['every fiftieth with 429 and Retry-After: 1', fiftieth, { status: 429, headers: { 'retry-after': '1' } }, 100_000],
  ])('a target that answers %s is soon called as fast as before', async (_how, isBusy, busy, mostMs) => {
    const run = answering((_call, number) => (isBusy(number) ? busy : accepting()), { callMs: 2 })
    const { outcomes, tookMs } = await calling(await openConversation(run), 2000)
    expect(outcomes).toEqual(new Set(['accepted']))
    expect(tookMs).toBeLessThan(mostMs)
  })

  test('a target with a known limit is called just below it, also where calls are made at once', async () => {
    const talk = await openConversation(limited(30, { 'retry-after': '1' }))
    const { clock } = talk.instance
    await calling(talk, 300)
    const began = clock.now()
    const throttled: number[] = []
    for (let round = 0; round < 30; round += 1) {
      throttled.push(...(await calling(talk, 40)).throttled)
      throttled.push(...(await makeCalls(talk, times(20, call))).map((one) => one.throttled))
    }
    expect(throttled.reduce((sum, times) => sum + times)).toBeLessThan(30)
    // 1,800 calls take a minute at the limit itself; before twenty at once, the second must have room for them.
    expect(clock.now() - began).toBeLessThan(110_000)
  })

  test('the refusals of calls at once are waited for together, and slow the run down once', async () => {
    const talk = await openConversation(limited(30, { 'retry-after': '1' }))
    const { clock } = talk.instance
    await calling(talk, 300)
    const began = clock.now()
    const calls = await makeCalls(talk, times(60, call))
    expect(calls.filter(({ throttled }) => throttled > 0).length).toBeGreaterThanOrEqual(20)
    // One after another they would wait thirty seconds.
    expect(clock.now() - began).toBeLessThan(6000)
    expect((await calling(talk, 100)).tookMs).toBeLessThan(8000)
  })

  test('calls that others made shortly before do not make a run slow', async () => {
    const talk = await openConversation(limited(30, { 'retry-after': '1' }, 27))
    // At the slowest pace the first fifteen seconds would show 75 calls.
    expect((await calling(talk, 300)).tookMs).toBeLessThan(20_000)
  })

  test('a declared rate is never exceeded, even if the target could take more', async () => {
    const answer: Answering = (_call, number) => (number === 3 ? { status: 429 } : accepting())
    const run = answering(answer, { callMs: 0, settings: { rate: 10 } })
    await calling(await openConversation(run), 600)
    for (const [index, { nowMs }] of run.heard.entries())
      expect((run.heard[index + 10]?.nowMs ?? Number.POSITIVE_INFINITY) - nowMs).toBeGreaterThanOrEqual(990)
  })
})

/** Lets everything run that waits for nothing. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

describe('call limit', () => {
  const answered: WireAnswer = { kind: 'answer', status: 200, headers: {}, body: new Uint8Array() }
  const lost: WireAnswer = { kind: 'none', reason: 'reset', refusedConnection: false, stale: false }

  /** The limit of a distant target. */
  function limitOf(concurrency: number | null, rate = 0, roundTripMs = 20) {
    const target = { baseUrl: 'http://far.example', clock: { controlled: false }, settings: { concurrency, rate } }
    return limitFor(target as Parameters<typeof limitFor>[0], { ...noFacts(), roundTripMs })
  }

  /** Hears answers: how many, and how long each of them took in ms. */
  function hear(limit: ReturnType<typeof limitFor>, ...heard: (readonly [times: number, tookMs: number])[]) {
    for (const [times, tookMs] of heard) for (let time = 0; time < times; time += 1) limit.hear(tookMs, answered)
    return limit.atOnce
  }

  test('at most as many calls are under way as the limit allows, and they start in the order of their requests', async () => {
    const limit = limitOf(2)
    const events: string[] = []
    const ends: (() => void)[] = []
    const made = ['one', 'two', 'three', 'four'].map((name) =>
      limit.run(() => {
        events.push(name)
        return new Promise<void>((end) => ends.push(end))
      }),
    )
    await settle()
    expect(events).toEqual(['one', 'two'])
    ends[1]?.()
    await settle()
    expect(events).toEqual(['one', 'two', 'three'])
    for (const end of ends) end()
    await settle()
    for (const end of ends) end()
    await Promise.all(made)
    expect(events).toEqual(['one', 'two', 'three', 'four'])
  })

  // How many answers, how long each takes in ms, and the limit after them.
  test.each([
    ['grows up to sixteen while answers stay quick', '0x0=4 8x100=8 16x110=16 1000x110=16'],
    ['shrinks when answers become slower, but not below the first one', '24x100=16 32x200=12 200x200=4 8x100=6'],
    ['grows although a few answers are slow', `8x100=8 ${'1x100 1x600 '.repeat(12)}0x0=16`],
  ])('the limit %s', (_how, steps) => {
    const limit = limitOf(null)
    for (const [, times, tookMs, atOnce] of steps.matchAll(/(\d+)x(\d+)(?:=(\d+))?/g)) {
      hear(limit, [Number(times), Number(tookMs)])
      if (atOnce !== undefined) expect(limit.atOnce).toBe(Number(atOnce))
    }
  })

  test('the limit shrinks when an answer is lost or throttled, until answers come again', () => {
    const limit = limitOf(null)
    limit.hear(5, lost)
    expect(limit.atOnce).toBe(2)
    limit.hear(5, { ...answered, status: 429 })
    limit.hear(5, { ...answered, status: 429 })
    expect(limit.atOnce).toBe(1)
    expect(hear(limit, [8, 200])).toBe(3)
  })

  test('a given number stays, a rate bounds it, and more are made of a target far away', () => {
    const fixed = limitOf(3)
    hear(fixed, [100, 1])
    fixed.hear(1, lost)
    expect(fixed.atOnce).toBe(3)
    expect(limitOf(null, 2).atOnce).toBe(2)
    expect(limitOf(null, 0, 100).atOnce).toBe(8)
  })

  test('held, it makes one call at a time, until the last hold ends', () => {
    const limit = limitOf(null)
    const [first, second] = [limit.hold(), limit.hold()]
    first()
    expect(hear(limit, [100, 1])).toBe(1)
    second()
    expect(limit.atOnce).toBe(4)
  })

  test('an urgent call goes before the others that wait', async () => {
    const limit = limitOf(1)
    const events: string[] = []
    const call = (name: string, isUrgent?: boolean): Promise<void> =>
      limit.run(async () => void events.push(name), isUrgent)
    await Promise.all([call('first'), call('second'), call('third'), call('urgent', true)])
    expect(events).toEqual(['first', 'urgent', 'second', 'third'])
  })
})

describe('grant lanes', () => {
  const grant = (params: { [name: string]: unknown }, more: Partial<CallSpec> = {}): CallSpec => ({
    method: 'manager/auth',
    auth: 'none',
    params: { grantType: 'api_key_credentials', apiKeyId: 'a', ...params },
    ...more,
  })

  const openLanes = async () => (await openConversation(runOf(madeUpTarget({ answer: accepting })))).grants

  /** Whether a grant of the second lane waits while one of the first is under way. */
  async function isKeptApart(one: Lane, other: Lane): Promise<boolean> {
    const queue = await openLanes()
    for (const lane of [one, other]) void queue.run(lane, () => new Promise(() => {}))
    return queue.waiting === 1
  }

  const ofNobody = { kind: 'grant', user: undefined, free: false } as const
  test.each<[string, CallSpec[], Lane | undefined]>([
    ['a call that grants nothing', [{ method: 'solution/listSolutions', auth: 'none', params: {} }], undefined],
    ['a grant', [grant({ scope: ['solution'] })], { ...ofNobody, named: false }],
    ['a session', [grant({ scope: ['solution', 'session:one'] })], { ...ofNobody, named: true }],
    ['a grant that must be refused', [grant({ scope: ['solution'] }, { mustBeRefused: true })], undefined],
    ['a refresh', [grant({ grantType: 'refresh_token' })], { kind: 'refresh', free: false }],
    ['a race', [grant({}), grant({})], { kind: 'race' }],
  ])('%s has its lane', (_name, specs, lane) => {
    expect(laneOf(specs, noFacts())).toEqual(lane)
  })

  test('grants of different keys are kept apart until each key is known to have sessions of its own', async () => {
    const [one, other] = ['a', 'b'].map((apiKeyId) => [grant({ apiKeyId, scope: ['session:one'] })])
    const areKeptApart = (facts: TargetFacts): Promise<boolean> =>
      isKeptApart(laneOf(one ?? [], facts) as Lane, laneOf(other ?? [], facts) as Lane)
    expect(await areKeptApart(noFacts())).toBe(true)
    expect(await areKeptApart({ ...noFacts(), sessionsPerKey: false })).toBe(true)
    expect(await areKeptApart({ ...noFacts(), sessionsPerKey: true })).toBe(false)
    const refresh = laneOf([grant({ grantType: 'refresh_token' })], noFacts()) as Lane
    expect(await isKeptApart(refresh, laneOf([grant({ scope: ['solution'] })], noFacts()) as Lane)).toBe(true)
  })

  test('a grant that takes no place among the sessions is free', () => {
    const facts = { ...noFacts(), unnamedTakePlaces: false }
    const unnamed = grant({ scope: ['solution'] })
    expect(laneOf([unnamed], facts)).toMatchObject({ free: true })
    expect(laneOf([unnamed], { ...facts, unnamedReplaced: true })).toMatchObject({ free: false })
    expect(laneOf([grant({ scope: ['session:one'] })], facts)).toMatchObject({ free: false })
  })

  const lanes = {
    ofRoot: { kind: 'grant', user: 'root', named: false, free: false },
    ofErin: { kind: 'grant', user: 'erin', named: false, free: false },
    freeOfErin: { kind: 'grant', user: 'erin', named: false, free: true },
    session: { kind: 'grant', user: 'erin', named: true, free: false },
    refresh: { kind: 'refresh', free: false },
    freeRefresh: { kind: 'refresh', free: true },
    race: { kind: 'race' },
  } as const satisfies { [name: string]: Lane }

  test.each<[Lane, Lane, boolean]>([
    [lanes.ofRoot, lanes.ofRoot, true],
    [lanes.ofRoot, lanes.ofErin, false],
    [lanes.ofErin, lanes.session, true],
    [lanes.freeOfErin, lanes.freeOfErin, false],
    [lanes.freeOfErin, lanes.session, true],
    [lanes.refresh, lanes.refresh, true],
    [lanes.refresh, lanes.ofRoot, false],
    [lanes.refresh, lanes.session, true],
    [lanes.freeRefresh, lanes.freeRefresh, false],
    [lanes.freeRefresh, lanes.session, false],
    [lanes.race, lanes.freeRefresh, true],
    [lanes.race, lanes.ofRoot, true],
  ])('%j and %j: kept apart %s', async (one, other, areKeptApart) => {
    expect([await isKeptApart(one, other), await isKeptApart(other, one)]).toEqual([areKeptApart, areKeptApart])
  })

  test('grants of one user run one after another, in order, while those of another user run', async () => {
    const queue = await openLanes()
    const events: string[] = []
    const made: Promise<void>[] = []
    const ends = new Map<string, () => void>()
    const begin = (name: string, lane: Lane): void => {
      const running = new Promise<void>((end) => ends.set(name, end))
      made.push(
        queue.run(lane, () => {
          events.push(`${name} begins`)
          return running
        }),
      )
    }
    begin('one', lanes.ofRoot)
    begin('two', lanes.ofRoot)
    begin('hers', lanes.ofErin)
    await settle()
    expect(events).toEqual(['one begins', 'hers begins'])
    ends.get('one')?.()
    await settle()
    expect(events).toEqual(['one begins', 'hers begins', 'two begins'])
    begin('race', lanes.race)
    begin('late', lanes.ofErin)
    ends.get('hers')?.()
    ends.get('two')?.()
    await settle()
    // The late grant does not overtake the race, which would otherwise wait for ever.
    expect(events.slice(3)).toEqual(['race begins'])
    ends.get('race')?.()
    ends.get('late')?.()
    await Promise.all(made)
    expect(events.slice(4)).toEqual(['late begins'])
  })

  test('an urgent grant goes before the others that wait, and tells nobody if it need not wait', async () => {
    const queue = await openLanes()
    const begun: string[] = []
    let told = 0
    queue.onWait(() => {
      told += 1
    })
    let endFirst = (): void => {}
    const first = queue.run(lanes.ofRoot, () => new Promise<void>((end) => (endFirst = end)))
    expect(told).toBe(0)
    const later = ['second', 'third'].map((name) => queue.run(lanes.ofRoot, async () => void begun.push(name)))
    const urgent = queue.run(lanes.ofRoot, async () => void begun.push('urgent'), true)
    expect([told, queue.waiting]).toEqual([3, 3])
    await settle()
    endFirst()
    await Promise.all([first, ...later, urgent])
    expect(begun).toEqual(['urgent', 'second', 'third'])
  })
})
