import { expect, test } from 'vitest'
import type { ServerOptions } from '../targets/bundled.ts'
import { basic, changed, list } from './calls.ts'
import { TargetGone } from './explorer-types.ts'
import type { Caller } from './table.ts'
import { brokenBy } from './test-findings.ts'

const wrong = changed(list(basic('root')), { field: 'basic-secret', operation: 'inside-changed' })

/** Hangs up instead of refusing; from the time on that `hasGone` says, instead of accepting, too. */
const hangingUp = (hasGone: () => boolean): Omit<ServerOptions, 'clock'> => ({
  around: (handle) => async (request) => {
    const answer = await handle(request)
    return hasGone() || answer.body.includes('"error"') ? { ...answer, hangUp: true } : answer
  },
})

const wrongTries = async ({ x }: Caller): Promise<void> => {
  for (let at = 0; at < 30; at++) await x.call(wrong)
}

test('a target that hangs up instead of refusing is not gone', async () => {
  expect(
    await brokenBy(
      hangingUp(() => false),
      wrongTries,
    ),
  ).toEqual([])
})

test('a target that answers no right call either is gone', async () => {
  let hasGone = false
  const run = async (caller: Caller): Promise<void> => {
    hasGone = true
    await wrongTries(caller)
  }
  await expect(
    brokenBy(
      hangingUp(() => hasGone),
      run,
    ),
  ).rejects.toBeInstanceOf(TargetGone)
})
