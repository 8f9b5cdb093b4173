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

test('a law is tried for every two features of a pair', async () => {
  const tried = ['solution', 'context'].map((area) => `made up 0 generation=0 areas=${area}`)
  expect(await triedBy('areas', 'generation')).toEqual(tried)
})

test('a law with one feature is tried for each of its values', async () => {
  expect(await triedBy('areas')).toEqual(['made up 0 areas=solution', 'made up 0 areas=context'])
})
