import { expect, test } from 'vitest'
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import type { Target } from '../engine/target.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { bundledTarget, lastingTarget, loadMutants, type ServerOptions } from '../targets/bundled.ts'
import { isProof } from './proof-form.ts'

const corpus = await openCorpus()
const mutants = await loadMutants()

/** Always there: the one that fills the places for keys, and those that a broken server of this test fails. */
const always = ['limits/ten-keys', 'refresh/revokes-access']

/** Every sixteenth case (in a proof every fourth), those of Basic, and those that are always there. */
const items = allItems(corpus).filter(
  (item, index) =>
    index % (isProof ? 4 : 16) === 0 ||
    item.key.startsWith('basic/') ||
    provesOf(item).some((requirement) => always.includes(requirement)),
)

async function verdicts(target: Target, seed: number): Promise<Map<string, string>> {
  const outcomes = await runAll({ target, corpus, seed, items })
  return new Map(outcomes.map(({ key, verdict }) => [key, verdict] as const).sort())
}

/** Wrong in many ways at once, so that verdicts of every kind could differ. */
const broken: NonNullable<ServerOptions['rules']> = Object.assign(
  {},
  ...mutants
    .filter(({ id }) =>
      [
        'whole-mac-taken-too',
        'old-access-token-lives-on',
        'seventeen-sessions-kept',
        'id-cut-to-32-bits',
        'tokens-of-a-session-do-not-work',
        'basic-junk-in-base64-skipped',
      ].includes(id),
    )
    .map((mutant) => mutant.create().rules),
)

test.each([
  ['a server per case', bundledTarget, [1]],
  ['one server for all cases, one call at a time or sixteen', lastingTarget, [1, 16]],
])('cases in another order show the same: %s', async (_name, target, concurrencies) => {
  const first = await verdicts(target({ rules: broken }), 11)
  for (const concurrency of concurrencies)
    expect(await verdicts(target({ rules: broken }, { concurrency }), 29)).toEqual(first)
  expect([...new Set(first.values())]).toEqual(expect.arrayContaining(['blocked', 'failed', 'passed', 'warned']))
})
