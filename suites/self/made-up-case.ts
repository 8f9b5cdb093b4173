/** Runs a case that is written in a test, against a target that is made up. */
import { type Run, startRun } from '../engine/conversation/conversation.ts'
import { runCase } from '../engine/conversation/run-case.ts'
import { noFacts } from '../engine/conversation/target-facts.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import { parseScenario } from '../engine/language/parse.ts'
import { seededRandom } from '../engine/signer/random.ts'
import type { Target } from '../engine/target.ts'

const corpus = { requirements: [], questions: [], testKeys: [], schemas: {}, scenarios: [] }

export function runOf(target: Target, trace = false): Run {
  return startRun({ target, corpus, facts: noFacts(), random: seededRandom(1), unique: 'test', trace })
}

/** @param steps the steps of a scenario, in YAML; `before`: what stands before them */
export function ask(run: Run, steps: string, before = 'proves: [made/up]\n'): Promise<CaseOutcome> {
  const scenario = parseScenario(`scenario: made up\n${before}steps:\n${steps}`, 'fixtures/scenarios/a/b.yaml')
  const [testCase] = scenario.cases
  if (testCase === undefined) throw new Error('no case')
  return runCase(run, scenario, testCase)
}
