/** Servers behind a proxy that answers for them while they restart or have no place for a call. */
import { expect, test } from 'vitest'
import { type MadeUpAnswer, type MadeUpCall, madeUpTarget } from '../../self/made-up-target.ts'
import { seededRandom } from '../random.ts'
import { makeCall, makeCalls } from './call.ts'
import type { CallSpec } from './call-spec.ts'
import { openCaller, startRun } from './caller.ts'
import { noFacts } from './target-facts.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
const list = { method: 'solution/listSolutions', params: {}, auth: 'none' } as const
const grant = { method: 'manager/auth', params: {}, auth: 'none' } as const

async function outcomesOf(specs: readonly CallSpec[], answer: (call: MadeUpCall, number: number) => MadeUpAnswer) {
  let made = 0
  const target = madeUpTarget({ callMs: 2, answer: (call) => answer(call, ++made) })
  const facts = noFacts()
  const caller = await openCaller(startRun({ target, corpus, facts, random: seededRandom(1), unique: 't' }))
  const outcomes: string[] = []
  for (const spec of specs) outcomes.push((await makeCall(caller, spec)).answer.outcome)
  return { outcomes, made, facts, caller }
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
  const { caller } = await outcomesOf([], (_call, number) => (number % 3 === 0 ? { status: 503 } : { result: {} }))
  const raced = await makeCalls(caller, times(6, grant))
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
