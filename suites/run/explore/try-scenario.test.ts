import { expect, test } from 'vitest'
import { openCorpus } from '../corpus-cache.ts'
import { isBroken, tryScenario } from './try-scenario.ts'

const corpus = await openCorpus()
const right = '{ call: solution/listSolutions, auth: { basic: root }, expect: accepted }'
const scenario = (expected: string): string => `scenario: A sentence
proves: [basic/credentials]
given:
  - ${right}
steps:
  - { call: solution/listSolutions, auth: { basic: root }, alter: { basic-secret: first-half }, expect: ${expected} }
`
const verdictOn = (expected: string, server?: Parameters<typeof tryScenario>[3]) =>
  tryScenario(scenario(expected), 'basic/credentials', corpus, server)

test('the bundled server passes a right scenario, and fails one that rests on what another server did', async () => {
  expect(await verdictOn('refused')).toBe('passed')
  expect(isBroken(await verdictOn('accepted'))).toBe(true)
})

test('a broken server fails the right one', async () => {
  const rules = { secretMatches: () => true }
  expect(await verdictOn('refused', { settings: {}, create: () => ({ rules }) })).toBe('failed')
})

test('a scenario with a mistake is not run', async () => {
  await expect(verdictOn('refsued')).rejects.toThrow('one.yaml:6')
})
