import { expect, test } from 'vitest'
import { allItems } from '../../engine/conversation/cases.ts'
import { startRun } from '../../engine/conversation/conversation.ts'
import { noFacts } from '../../engine/conversation/target-facts.ts'
import type { TestKey } from '../../engine/language/fixture-types.ts'
import { parseScenario } from '../../engine/language/parse.ts'
import { seededRandom } from '../../engine/random.ts'
import { madeUpTarget } from '../../self/made-up-target.ts'
import type { Capabilities } from '../capabilities.ts'
import { createRunner } from './schedule.ts'

const corpus = {
  requirements: [],
  questions: [],
  testKeys: [],
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

const capabilities: Capabilities = {
  allow: ['sessions', 'keys', 'limits'],
  lasting: true,
  fresh: true,
  clockControlled: false,
  outwaitsRefresh: false,
  secondAddress: false,
  clientAddress: false,
  probes: [],
  absent: [],
  solutions: 0,
  cleanup: false,
  standIn: 'root',
  keptTestKeys: [],
  testKeyNames: ['root', 'dave'],
}

const unwatched = { started: () => {}, ended: () => {} }

test('cases that wait start first, and others run while they wait', async () => {
  const methods: string[] = []
  const target = madeUpTarget({
    answer: ({ method }) => {
      methods.push(method)
      return { result: {} }
    },
  })
  const run = startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })
  const items = allItems(corpus)
  const runner = createRunner(run, items, capabilities, unwatched)
  for (const item of items) await runner.runItem(item)
  expect(methods.slice(0, 3)).toEqual(['solution/one', 'solution/three', 'solution/two'])
  expect(methods.slice(3).sort()).toEqual(['solution/one', 'solution/three'])
})

const filling = (name: string, step: string) =>
  parseScenario(
    `scenario: ${name}\nproves: [a/b]\nneeds: [keys, limits]\nsteps:\n  - ${step}\n`,
    `fixtures/scenarios/a/${name}.yaml`,
  )

test('members have their keys before the places for keys are filled', async () => {
  const scenarios = [
    filling('all', '{ call: manager/createApiKey, auth: { basic: root }, repeat: 9, observe: keys/limit-exceeded }'),
    filling('dave', '{ call: solution/listSolutions, auth: { basic: dave }, expect: accepted }'),
  ]
  const testKeys: TestKey[] = [
    { name: 'root', key: 'given', scope: [], proves: [] },
    { name: 'dave', key: 'secret', scope: [], proves: [], 'created-with': { basic: 'root' } },
  ]
  let created = 0
  const target = madeUpTarget({
    answer: ({ method }) => {
      if (method !== 'manager/createApiKey') return { result: {} }
      created += 1
      return created > 3 ? { status: 409 } : { result: { id: `id${created}`, secret: 'a-secret' } }
    },
  })
  const full = { ...corpus, testKeys, scenarios }
  const run = startRun({ target, corpus: full, facts: noFacts(), random: seededRandom(1), unique: 'test' })
  const cases = allItems(full).filter(({ kind }) => kind === 'case')
  const runner = createRunner(run, cases, capabilities, unwatched)
  const verdicts: string[] = []
  for (const item of cases) verdicts.push((await runner.runItem(item)).verdict)
  // The first one only observes.
  expect(verdicts).toEqual(['not-testable', 'passed'])
})

test('as soon as a case with tokens does not pass, every such case that ran at the same time as another runs again alone', async () => {
  const withToken = (name: string) =>
    parseScenario(
      `scenario: ${name}
proves: [a/b]
steps:
  - { grant: root, scope: [solution], expect: accepted, keep: { pair: result } }
  - { call: solution/${name}, auth: { token: $pair.accessToken }, expect: accepted }
`,
      `fixtures/scenarios/a/${name}.yaml`,
    )
  // One call that must be accepted is refused; for the same reason the other cases may have passed.
  const called: string[] = []
  let refusals = 1
  const target = madeUpTarget({
    settings: { concurrency: 4 },
    answer: ({ method, nowMs }) => {
      called.push(method)
      if (method === 'manager/auth') {
        const expiry = nowMs + 600_000
        const tokens = { accessToken: `a${called.length}`, refreshToken: `r${called.length}`, tokenType: 'Bearer' }
        return { result: { ...tokens, accessTokenExpiry: expiry, refreshTokenExpiry: expiry, scope: ['solution'] } }
      }
      if (method === 'solution/two' && refusals > 0) {
        refusals -= 1
        return { status: 401 }
      }
      return { result: {} }
    },
  })
  const testKeys: TestKey[] = [{ name: 'root', key: 'given', scope: [], proves: [] }]
  const full = { ...corpus, testKeys, scenarios: ['one', 'two', 'three'].map(withToken) }
  const run = startRun({ target, corpus: full, facts: noFacts(), random: seededRandom(1), unique: 'test' })
  const items = allItems(full).filter(({ kind }) => kind === 'case')
  const ended: string[] = []
  const watch = { started: () => {}, ended: ({ key }: { key: string }) => void ended.push(key) }
  const runner = createRunner(run, items, capabilities, watch)
  const outcomes = await Promise.all(items.map((item) => runner.runItem(item)))
  expect(outcomes.map(({ verdict, problem }) => problem ?? verdict)).toEqual(['passed', 'passed', 'passed'])
  const calls = called.filter((method) => method.startsWith('solution/'))
  expect(calls.filter((method) => method === 'solution/one').length).toBe(2)
  expect(calls.filter((method) => method === 'solution/three').length).toBe(2)
})
