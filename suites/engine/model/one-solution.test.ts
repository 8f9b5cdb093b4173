import { expect, test } from 'vitest'
import { afterGrants, at, body, judged, listWith, newState, tokenHeader } from '../../self/made-up-calls.ts'

const terms = {
  probes: new Map([['context/list', 'context']]),
  contextsOfSolution: { method: 'context/list', path: ['where', 'solution'] },
}

/** The verdict on a call for the contexts of a solution, with a token of this scope. */
function verdictOn(scope: readonly string[], solution: string) {
  const state = afterGrants(newState(terms), ['p'], scope)
  const text = body('context/list', { where: { solution } })
  return judged(state, listWith(tokenHeader('p'), text), at(100))
}

test('a token for one solution reaches no other, whatever else it may do', () => {
  for (const more of [[], ['session:a'], ['solution']])
    expect(verdictOn(['context', ...more, 'solution:a'], 'b')).toMatchObject({
      is: 'refused',
      requirement: 'scopes/solution-id',
    })
})

test.each<[string, readonly string[], string]>([
  ['its own solution', ['context', 'solution:a'], 'a'],
  ['one of two', ['context', 'solution:a', 'solution:b'], 'b'],
  ['any, beside the word for all', ['context', 'solution:a', 'solution:*'], 'b'],
])('whether it reaches %s is open', (_what, scope, solution) => {
  expect(verdictOn(scope, solution).is).toBe('open')
})
