import { describe, expect, test } from 'vitest'
import { madeUpTarget } from '../../self/made-up-target.ts'
import type { Called } from '../judge/expectation.ts'
import { isLifetimeTooLong } from '../judge/judge-case.ts'
import { parseScenario } from '../language/parse.ts'
import { seededRandom } from '../signer/random.ts'
import type { Target } from '../target.ts'
import { type Conversation, openConversation, startRun } from './conversation.ts'
import { observedValue, suitableLifeMs, waitStep } from './perform-step.ts'
import { runCase } from './run-case.ts'
import { noFacts, type TargetFacts } from './target-facts.ts'

describe('perform step', () => {
  /** A server with places for a number of keys, and how many calls were under way whenever one was sent. */
  function serverOf(places: number): { target: Target; underWay: number[] } {
    const underWay: number[] = []
    let now = 0
    let created = 0
    const inner = madeUpTarget({
      answer: ({ method }) => {
        if (method !== 'manager/createApiKey') return { result: {} }
        if (created === places) return { status: 409 }
        created += 1
        return { result: { id: `id${created}`, secret: 'a-secret' } }
      },
    })
    const open: Target['open'] = async (...args) => {
      const instance = await inner.open(...args)
      return {
        ...instance,
        async send(request) {
          now += 1
          underWay.push(now)
          await new Promise((resolve) => setImmediate(resolve))
          const answer = await instance.send(request)
          now -= 1
          return answer
        },
      }
    }
    return { target: { ...inner, open }, underWay }
  }

  const fill = `scenario: fill
needs: [keys, limits]
steps:
  - { call: manager/createApiKey, auth: { basic: root }, repeat: 9, observe: keys/limit-exceeded }
`

  async function fillPlaces(places: number): Promise<number[]> {
    const { target, underWay } = serverOf(places)
    const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }
    const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
    const scenario = parseScenario(fill, 'fixtures/scenarios/a/fill.yaml')
    const [testCase] = scenario.cases
    if (testCase === undefined) throw new Error('no case')
    await runCase(run, scenario, testCase)
    return underWay
  }

  test('creations run one after another until two were refused, and the others at once', async () => {
    expect(await fillPlaces(3)).toEqual([1, 1, 1, 1, 1, 1, 2, 3, 4])
  })

  test('while creations are accepted, they run one after another', async () => {
    expect(await fillPlaces(9)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1])
  })
})

describe('wait', () => {
  const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }

  function callerKnowing(known: Partial<TargetFacts>): Promise<Conversation> {
    const target = madeUpTarget({ answer: () => ({ result: {} }) })
    const facts = { ...noFacts(), ...known }
    return openConversation(startRun({ target, corpus, facts, random: seededRandom(1), unique: 'test' }))
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
    const talk = await openConversation(run)
    const dayMs = 86_400_000
    expect(await waitStep(talk, '40d', true)).toBeUndefined()
    expect(moved).toEqual([40 * dayMs])
    expect(await waitStep(talk, { past: 9_999_999_000_000 }, true)).toMatchObject({
      kind: 'not-testable',
      problem: { kind: 'wait-too-long' },
    })
    expect(moved).toHaveLength(1)
  })
})

describe('observed values', () => {
  const nowMs = 1_800_000_000_000
  const granted = {
    answer: {
      outcome: 'accepted',
      result: {
        accessToken: 'eyJhbGciOiJub25lIn0.e30.',
        accessTokenExpiry: nowMs + 900_300,
        refreshToken: '0123456789abcdef',
        refreshTokenExpiry: nowMs + 7 * 86_400_000,
      },
    },
    time: { answeredAtMs: nowMs },
  } as unknown as Called

  test.each([
    ['limits/token-lifetimes', 'access token: 15 min, refresh token: 7 d'],
    ['sessions/lifetime', 'its refresh token: 7 d'],
    ['tokens/format', 'access token: 24 characters, a JWT, refresh token: 16 characters, hex'],
    ['keys/name-rules', undefined],
  ])('%s is answered with %s', (question, answer) => {
    expect(observedValue(question, granted)).toBe(answer)
  })
})
