import { describe, expect, test } from 'vitest'
import { type MadeUpAnswer, type MadeUpCall, madeUpTarget } from '../../self/made-up-target.ts'
import { seededRandom } from '../signer/random.ts'
import type { CallSpec } from './call.ts'
import { openConversation, startRun } from './conversation.ts'
import { makeCall, makeCalls } from './send.ts'
import { narrowOffset, noFacts, offsetMs, offsetUncertaintyMs, signingOffsetMs } from './target-facts.ts'

describe('clock offset', () => {
  const at = (ms: number): string => new Date(ms).toUTCString()
  const now = Date.parse('2026-01-01T00:00:00.400Z')

  test('a clock that may agree counts as agreeing', () => {
    const offset = narrowOffset(undefined, at(now), now - 20, now + 20)
    expect(offsetMs(offset)).toBe(0)
    expect(offsetUncertaintyMs(offset)).toBeLessThanOrEqual(1000)
  })

  test('a clock that is five minutes ahead is found within the second of its Date header', () => {
    const ahead = 5 * 60_000
    const offset = narrowOffset(undefined, at(now + ahead), now, now + 50)
    expect(Math.abs(offsetMs(offset) - ahead)).toBeLessThanOrEqual(1000)
  })

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
    const stepped = narrowOffset(offset, at(now + 60_000), now, now)
    expect(offsetMs(stepped)).toBeGreaterThan(59_000)
  })

  test('a missing or unreadable Date changes nothing', () => {
    expect(narrowOffset(undefined, undefined, now, now)).toBeUndefined()
    expect(narrowOffset(undefined, 'today', now, now)).toBeUndefined()
    expect(offsetMs(undefined)).toBe(0)
  })

  test('of two Date headers the first counts, and text that is not a date is ignored', () => {
    const known = narrowOffset(undefined, at(now), now - 20, now + 20)
    expect(narrowOffset(undefined, `${at(now)}, ${at(now - 3_600_000)}`, now - 20, now + 20)).toEqual(known)
    expect(narrowOffset(known, 'yesterday', now, now)).toBe(known)
    expect(narrowOffset(known, undefined, now, now)).toBe(known)
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

// Servers behind a proxy that answers for them while they restart or have no place for a call.

describe('unavailable', () => {
  const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
  const list = { method: 'solution/listSolutions', params: {}, auth: 'none' } as const
  const grant = { method: 'manager/auth', params: {}, auth: 'none' } as const

  async function outcomesOf(specs: readonly CallSpec[], answer: (call: MadeUpCall, number: number) => MadeUpAnswer) {
    let made = 0
    const target = madeUpTarget({ callMs: 2, answer: (call) => answer(call, ++made) })
    const facts = noFacts()
    const talk = await openConversation(startRun({ target, corpus, facts, random: seededRandom(1), unique: 't' }))
    const outcomes: string[] = []
    for (const spec of specs) outcomes.push((await makeCall(talk, spec)).answer.outcome)
    return { outcomes, made, facts, talk }
  }

  const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

  test('calls that a limit answers with 503 and no Retry-After are made again, and then more slowly', async () => {
    let second = 0
    let calls = 0
    const { outcomes, made, facts } = await outcomesOf(times(300, list), ({ nowMs }) => {
      const now = Math.floor(nowMs / 1000)
      calls = now === second ? calls + 1 : 1
      second = now
      return calls > 40 ? { status: 503 } : { result: {} }
    })
    expect(new Set(outcomes)).toEqual(new Set(['accepted']))
    expect(facts.callsPerSecond).toBeLessThanOrEqual(60)
    expect(made).toBeLessThan(400)
  })

  test('a target that only has no place for one call now and then is called as fast as before', async () => {
    const { outcomes, facts } = await outcomesOf(times(200, list), (_call, number) =>
      number % 20 === 0 ? { status: 503 } : { result: {} },
    )
    expect(new Set(outcomes)).toEqual(new Set(['accepted']))
    expect(facts.callsPerSecond).toBeUndefined()
  })

  test('a race of which some calls get 503 has an answer to each', async () => {
    const { talk } = await outcomesOf([], (_call, number) => (number % 3 === 0 ? { status: 503 } : { result: {} }))
    const raced = await makeCalls(talk, times(6, grant))
    expect(raced.map(({ answer }) => answer.outcome)).toEqual(times(6, 'accepted'))
  })

  test.each([502, 504])('a call that gets %i is made again if it changes nothing', async (status) => {
    const now = (_call: MadeUpCall, number: number) => (number % 2 === 1 ? { status } : { result: {} })
    expect((await outcomesOf([list, list], now)).outcomes).toEqual(['accepted', 'accepted'])
    expect(await outcomesOf([grant], now)).toMatchObject({ outcomes: ['broken'], made: 1 })
  })

  test('a target that refuses with 503 is soon understood', async () => {
    const { outcomes, made } = await outcomesOf(times(100, list), () => ({ status: 503 }))
    expect(new Set(outcomes)).toEqual(new Set(['broken']))
    expect(made).toBeLessThan(130)
  })

  test('a JSON-RPC error with 503 is a refusal, and not repeated', async () => {
    const refused = { status: 503, body: { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } } }
    expect(await outcomesOf([list], () => refused)).toMatchObject({ outcomes: ['refused'], made: 1 })
  })

  test('a 500 is the answer of the target itself, and not repeated', async () => {
    expect(await outcomesOf([list], () => ({ status: 500 }))).toMatchObject({ outcomes: ['broken'], made: 1 })
  })
})
