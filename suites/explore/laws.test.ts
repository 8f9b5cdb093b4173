import { expect, test } from 'vitest'
import { applyLaws } from './laws.ts'
import { grant } from './step.ts'
import { foundIn } from './test-findings.ts'

/** What a law was tried for, after three pairs of which two have the same areas. */
async function triedBy(...by: string[]): Promise<string[]> {
  const steps = [{ call: 'solution/listSolutions', auth: { token: '$it.accessToken' } }]
  const pairs = { one: 'solution', two: 'context', three: 'context' }
  const tried: string[] = []
  await foundIn({}, async (caller) => {
    for (const [name, area] of Object.entries(pairs)) {
      await caller.x.call(grant('by-basic', [area], { as: name }))
      await applyLaws(caller, [name], [{ law: 'made up', where: ['pair'], by, steps }])
    }
    tried.push(...caller.tried)
  })
  return tried
}

test.each([
  ['every two features of a pair', ['areas', 'generation'], 'generation=0 areas='],
  ['each value of its one feature', ['areas'], 'areas='],
])('a law is tried for %s', async (_what, by, values) => {
  expect(await triedBy(...by)).toEqual([`made up 0 ${values}solution`, `made up 0 ${values}context`])
})
