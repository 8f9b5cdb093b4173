import { expect, test } from 'vitest'
import { madeUpTarget } from '../../self/made-up-target.ts'
import { parseScenario } from '../language/parse.ts'
import { seededRandom } from '../random.ts'
import type { Target } from '../target.ts'
import { startRun } from './caller.ts'
import { runCase } from './run-case.ts'
import { noFacts } from './target-facts.ts'

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
