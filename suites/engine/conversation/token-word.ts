/** If no token prefix is known to work, cases that send tokens would fail for that reason alone. */

import type { Obstacle } from '../judge/problem.ts'
import type { Case, Scenario, Step } from '../language/fixture-types.ts'
import { withCase } from '../language/references.ts'
import type { TargetFacts } from './target-facts.ts'

/** The requirement that access tokens authorize calls. A prefix that the user gives must work in its cases. */
const tokensWork = 'tokens/authorize'

/** Returns why a case cannot run; undefined if it can. A given prefix that does not work fails the cases that judge it. */
export function withoutTokenWord({ tokenWord }: TargetFacts, scenario: Scenario, testCase: Case): Obstacle | undefined {
  if (tokenWord === undefined) return undefined
  const written = (steps: Step[]): Step[] => steps.map((step) => withCase(step, testCase.values))
  const inGiven = written(scenario.given).some(sendsToken)
  if (!inGiven && !written(scenario.steps).some(sendsToken)) return undefined
  const judgesIt = !inGiven && (testCase.proves ?? scenario.proves).every((id) => id === tokensWork)
  return tokenWord.kind === 'not-accepted' && judgesIt ? undefined : { kind: 'no-token-word', because: tokenWord }
}

function sendsToken(step: Step): boolean {
  if ('wait' in step) return false
  const auth = 'call' in step ? step.auth : step.send.auth
  return typeof auth === 'object' && 'token' in auth
}
