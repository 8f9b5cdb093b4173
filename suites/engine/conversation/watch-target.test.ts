import { expect, test } from 'vitest'
import { type MadeUpCall, madeUpTarget } from '../../self/made-up-target.ts'
import type { CaseOutcome } from '../judge/outcome.ts'
import { parseScenario } from '../language/parse.ts'
import { seededRandom } from '../random.ts'
import type { Target } from '../target.ts'
import { type Run, startRun } from './caller.ts'
import { runCase } from './run-case.ts'
import { noFacts } from './target-facts.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }

const runOf = (target: Target): Run =>
  startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test' })

async function ask(run: Run, step: string): Promise<CaseOutcome> {
  const text = `scenario: made up\nproves: [made/up]\nsteps:\n  - ${step}\n`
  const scenario = parseScenario(text, 'fixtures/scenarios/a/b.yaml')
  const [testCase] = scenario.cases
  if (testCase === undefined) throw new Error('no case')
  return runCase(run, scenario, testCase)
}

const right = '{ call: solution/listSolutions, auth: { basic: root }, expect: accepted }'
const granted = '{ call: manager/auth, auth: none, params: {}, expect: accepted }'

test.each([502, 503, 504])('a target for which a proxy answers %i from some call on is gone', async (status) => {
  let isAway = false
  const run = runOf(madeUpTarget({ answer: () => (isAway ? { status } : { result: {} }) }))
  expect((await ask(run, right)).verdict).toBe('passed')
  isAway = true
  expect((await ask(run, granted)).verdict).toBe('blocked')
  expect(run.stopping.reason?.kind).toBe('gone')
})

test('a target that answers one kind of call with 502 is not gone', async () => {
  const answer = ({ method }: MadeUpCall) => (method === 'manager/auth' ? { status: 502 } : { result: {} })
  const run = runOf(madeUpTarget({ answer }))
  expect((await ask(run, granted)).verdict).toBe('failed')
  expect(run.stopping.reason).toBeNull()
})
