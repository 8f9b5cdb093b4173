/** Where no word before a token is known to work, cases that send tokens would fail for that alone. */
import type { Case, Scenario, Step } from '../fixture/model.ts'
import { withCase } from '../fixture/references.ts'
import type { Obstacle } from '../judge/problem.ts'
import type { TargetFacts } from './target-facts.ts'

/** What says that access tokens authorize calls: a word that was given has to work there. */
const tokensWork = 'tokens/authorize'

/** Why a case cannot be asked; undefined where it can. A word that was given and does not work fails where it is judged. */
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
