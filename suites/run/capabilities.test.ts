import { expect, test } from 'vitest'
import { skipItem } from '../engine/conversation/cases.ts'
import type { Need } from '../engine/language/fixture-types.ts'
import { bareSettings } from '../engine/target.ts'
import { madeUpCorpus } from '../self/made-up.ts'
import { capabilitiesOf, whyNotRun } from './capabilities.ts'

const offered = capabilitiesOf({
  settings: { ...bareSettings, absent: ['inbox', 'context'] },
  allow: [],
  lasting: true,
  fresh: true,
  clockControlled: false,
  root: { kind: 'secret' },
  testKeys: [],
  kept: [],
})

function verdictOf(needs: Need[]): string {
  const [scenario] = madeUpCorpus({ requirements: [], scenarios: [['a/b', [], needs]] }).scenarios
  const [testCase] = scenario?.cases ?? []
  if (scenario === undefined || testCase === undefined) throw new Error('no case')
  const item = { kind: 'case', key: 'a/b', scenario, testCase } as const
  const reason = whyNotRun(item, offered)
  return reason === undefined ? 'runs' : skipItem(item, reason).verdict
}

test('a case that needs a method of an absent area does not apply, even if it needs something else too', () => {
  expect(verdictOf(['sessions', 'probe:inbox'])).toBe('not-applicable')
  expect(verdictOf(['probe:solution-context'])).toBe('not-applicable')
})

test('no other case is dropped', () => {
  expect(verdictOf(['probe:store'])).toBe('not-testable')
  expect(verdictOf(['sessions'])).toBe('not-testable')
  expect(verdictOf([])).toBe('runs')
})
