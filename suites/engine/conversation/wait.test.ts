import { expect, test } from 'vitest'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { isLifetimeTooLong } from '../judge/judge-step.ts'
import { seededRandom } from '../random.ts'
import { type Caller, openCaller, startRun } from './caller.ts'
import { noFacts, type TargetFacts } from './target-facts.ts'
import { suitableLifeMs, waitStep } from './wait.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }

function callerKnowing(known: Partial<TargetFacts>): Promise<Caller> {
  const target = madeUpTarget({ answer: () => ({ result: {} }) })
  const facts = { ...noFacts(), ...known }
  return openCaller(startRun({ target, corpus, facts, random: seededRandom(1), unique: 'test' }))
}

test('a suitable lifetime grows with the round trip and with every try, up to half of that of a refresh token', async () => {
  const near = suitableLifeMs(await callerKnowing({}), 1)
  expect(suitableLifeMs(await callerKnowing({}), 2)).toBeGreaterThan(near)
  expect(suitableLifeMs(await callerKnowing({ roundTripMs: 700 }), 1)).toBeGreaterThan(near + 3 * 700)
  expect(suitableLifeMs(await callerKnowing({ refreshLifeMs: 4000, roundTripMs: 700 }), 1)).toBe(2000)
  expect(suitableLifeMs(await callerKnowing({ refreshLifeMs: 0 }), 1)).toBe(near)
})

test('no lifetime near that of a refresh token, or above it, may be expected', () => {
  expect(isLifetimeTooLong(12_345, 20_000)).toBe(false)
  expect(isLifetimeTooLong(19_000, 20_000)).toBe(true)
  expect(isLifetimeTooLong(30_000, 20_000)).toBe(true)
  expect(isLifetimeTooLong(30_000, 0)).toBe(false)
})

test('a clock that can be moved is not moved to times of 14 digits', async () => {
  const moved: number[] = []
  const inner = madeUpTarget({ answer: () => ({ result: {} }) })
  const open = async () => {
    const instance = await inner.open()
    const sleep = async (ms: number): Promise<void> => void moved.push(ms)
    return { ...instance, clock: { ...instance.clock, sleep, controlled: true } }
  }
  const run = startRun({
    target: { ...inner, open },
    corpus,
    facts: noFacts(),
    random: seededRandom(1),
    unique: 'test',
  })
  const caller = await openCaller(run)
  const dayMs = 86_400_000
  expect(await waitStep(caller, '40d', true)).toBeUndefined()
  expect(moved).toEqual([40 * dayMs])
  expect(await waitStep(caller, { past: 9_999_999_000_000 }, true)).toMatchObject({
    kind: 'not-testable',
    problem: { kind: 'wait-too-long' },
  })
  expect(moved).toHaveLength(1)
})
