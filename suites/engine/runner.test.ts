import { expect, test } from 'vitest'
import { madeUpTarget } from '../self/made-up-target.ts'
import { parseScenario } from './fixture/parse.ts'
import { allItems } from './items.ts'
import { emptyKnowledge } from './knowledge.ts'
import { seededRandom } from './random.ts'
import { createRunner } from './runner.ts'
import { startRun } from './seat.ts'

const corpus = {
  requirements: [],
  questions: [],
  cast: [],
  schemas: {},
  scenarios: ['one', 'two', 'three'].map((word) =>
    parseScenario(
      `scenario: ${word}
steps:
  - { call: solution/${word}, auth: none, observe: errors/shape }
${word === 'two' ? '' : `  - wait: 2s\n  - { call: solution/${word}, auth: none, observe: errors/shape }\n`}`,
      `fixtures/scenarios/made-up/${word}.yaml`,
    ),
  ),
}

test('rows that wait for a moment wait together, and nothing runs beside them', async () => {
  const methods: string[] = []
  const target = madeUpTarget({
    answer: ({ method }) => {
      methods.push(method)
      return { result: {} }
    },
  })
  const run = startRun({ target, corpus, knowledge: emptyKnowledge(), random: seededRandom(1), unique: 'test' })
  const items = allItems(corpus)
  const runner = createRunner(run, items, {
    allow: [],
    lasting: true,
    fresh: true,
    clockControlled: false,
    outwaitsRefresh: false,
    secondAddress: false,
    clientAddress: false,
    probes: [],
    solutions: 0,
    cleanup: false,
    rootKind: 'secret',
    keptCast: [],
    castNames: [],
  })
  for (const item of items) await runner(item)
  expect(methods.slice(0, 2)).toEqual(['solution/one', 'solution/three'])
  expect(methods.slice(2, 4).sort()).toEqual(['solution/one', 'solution/three'])
  expect(methods.slice(4)).toEqual(['solution/two'])
})
