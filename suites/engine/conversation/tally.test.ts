import { expect, test } from 'vitest'
import { ask, madeUpTarget, runOf } from '../../self/made-up-target.ts'

test.each([
  ['{ accepted: at-least 3 }', 'passed'],
  ['{ accepted: at-least 4 }', 'failed'],
])('a call without a usable answer matters only where an acceptance is missing: %s', async (tally, verdict) => {
  let calls = 0
  const run = runOf(madeUpTarget({ answer: () => (++calls === 4 ? { status: 200, body: 'no' } : { result: {} }) }))
  const step = `  - { call: manager/auth, auth: none, params: {}, repeat: 4, tally: ${tally} }\n`
  expect((await ask(run, step)).verdict).toBe(verdict)
})
