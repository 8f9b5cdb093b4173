import { describe, expect, test } from 'vitest'
import { type MadeUpAnswer, madeUpTarget } from '../../self/made-up-target.ts'
import { seededRandom } from '../random.ts'
import { makeCall } from './call.ts'
import { openCaller, startRun } from './caller.ts'
import { noFacts } from './target-facts.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
const call = { method: 'solution/listSolutions', params: {}, auth: 'none' } as const

/** A server that accepts this many calls in each second, and does not say when to come back. */
function limited(callsPerSecond: number, headers: { [name: string]: string }) {
  let second = 0
  let calls = 0
  return madeUpTarget({
    callMs: 2,
    answer: ({ nowMs }): MadeUpAnswer => {
      const now = Math.floor(nowMs / 1000)
      calls = now === second ? calls + 1 : 1
      second = now
      return calls > callsPerSecond ? { status: 429, headers } : { result: {} }
    },
  })
}

describe('a target that throttles', () => {
  test.each([
    ['without Retry-After', {}],
    ['with Retry-After: 0', { 'retry-after': '0' }],
  ])('is called at a pace that it accepts, %s', async (_how, headers) => {
    const run = startRun({
      target: limited(40, headers),
      corpus,
      facts: noFacts(),
      random: seededRandom(1),
      unique: 't',
    })
    const caller = await openCaller(run)
    const calls = []
    for (let made = 0; made < 400; made += 1) calls.push(await makeCall(caller, call))
    expect(calls.filter(({ answer }) => answer.outcome !== 'accepted')).toEqual([])
    expect(calls.slice(200).filter(({ throttled }) => throttled > 0)).toEqual([])
    expect(run.facts.callsPerSecond).toBeGreaterThan(10)
    expect(run.facts.callsPerSecond).toBeLessThanOrEqual(40)
  })

  test('a creation that may be beyond the limit is waited out once, and then counts as refused', async () => {
    let creations = 0
    const target = madeUpTarget({
      answer: () => {
        creations += 1
        return creations > 9 ? { status: 429 } : { result: { id: `key-${creations}`, secret: 'a-secret' } }
      },
    })
    const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 't' })
    const caller = await openCaller(run)
    const create = () => makeCall(caller, { ...call, method: 'manager/createApiKey', params: { name: 'n', scope: [] } })
    for (let made = 0; made < 9; made += 1) expect((await create()).answer.outcome).toBe('accepted')
    expect((await create()).answer).toMatchObject({ outcome: 'refused', status: 429 })
    expect(creations).toBe(11)
  })
})

test('a live target is called slowly at first, and faster while it does not throttle', async () => {
  const target = { ...madeUpTarget({ callMs: 0, answer: () => ({ result: {} }), fresh: false }) }
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 't' })
  const caller = await openCaller(run)
  const began = caller.instance.clock.now()
  for (let made = 0; made < 20; made += 1) await makeCall(caller, call)
  expect(caller.instance.clock.now() - began).toBeGreaterThanOrEqual(900)
  const later = caller.instance.clock.now()
  for (let made = 0; made < 2000; made += 1) await makeCall(caller, call)
  expect(caller.instance.clock.now() - later).toBeLessThan(12_000)
})

test('a target that throttled once is soon called as fast as before', async () => {
  let calls = 0
  const answer = (): MadeUpAnswer => {
    calls += 1
    return calls === 3 ? { status: 429 } : { result: {} }
  }
  const target = madeUpTarget({ callMs: 2, answer })
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 't' })
  const caller = await openCaller(run)
  const began = caller.instance.clock.now()
  for (let made = 0; made < 2000; made += 1) await makeCall(caller, call)
  // At the slowest pace it would take 400 s.
  expect(caller.instance.clock.now() - began).toBeLessThan(30_000)
})

test('a target with a limit throttles ever more rarely', async () => {
  const run = startRun({
    target: limited(40, {}),
    corpus,
    facts: noFacts(),
    random: seededRandom(1),
    unique: 't',
  })
  const caller = await openCaller(run)
  let throttled = 0
  for (let made = 0; made < 8000; made += 1) throttled += (await makeCall(caller, call)).throttled > 0 ? 1 : 0
  expect(throttled).toBeLessThan(30)
})

test('a declared rate is never exceeded, whatever the target bears', async () => {
  const times: number[] = []
  const target = madeUpTarget({
    callMs: 0,
    settings: { rate: 10 },
    answer: ({ nowMs }): MadeUpAnswer => {
      times.push(nowMs)
      return times.length === 3 ? { status: 429 } : { result: {} }
    },
  })
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 't' })
  const caller = await openCaller(run)
  for (let made = 0; made < 600; made += 1) await makeCall(caller, call)
  for (const [index, at] of times.entries())
    expect((times[index + 10] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThanOrEqual(990)
})
