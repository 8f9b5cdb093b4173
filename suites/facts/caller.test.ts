import { expect, test } from 'vitest'
import { seededRandom } from '../engine/signer/random.ts'
import { madeUpTarget } from '../self/made-up-target.ts'
import { createCaller } from './caller.ts'

test.each([
  ['solution/listSolutions', 502, 'accepted', 2],
  ['solution/listSolutions', 503, 'accepted', 2],
  ['manager/auth', 503, 'accepted', 2],
  ['manager/auth', 502, 'broken', 1],
  ['solution/listSolutions', 500, 'broken', 1],
])('a call of %s that gets %i once is %s after %i calls', async (method, status, outcome, calls) => {
  let made = 0
  const target = madeUpTarget({ answer: () => (++made === 1 ? { status } : { result: {} }) })
  const caller = createCaller(await target.open(), seededRandom(1))
  expect((await caller.call({ method })).outcome).toBe(outcome)
  expect(made).toBe(calls)
})
