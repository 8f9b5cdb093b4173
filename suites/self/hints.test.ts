/** The hints of whole runs: what would explain all that a broken row shows, and nothing where the server is right. */
import { expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import type { Hint } from '../engine/judge/problem.ts'
import { hintText } from '../report/problem-text.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { bundledTarget, lastingTarget } from '../targets/bundled.ts'
import { serverNamed } from './server-named.ts'

const corpus = await openCorpus()

/** The hints of the failed cases, one for each case; undefined for a case without one. */
async function hintsOn(
  id: string,
  target: typeof bundledTarget,
  only: readonly string[],
): Promise<(Hint | undefined)[]> {
  const items = allItems(corpus).filter(({ scenario }) => only.includes(scenario.id))
  const outcomes = await runAll({ target: target(await serverNamed(id)), corpus, items })
  return outcomes.filter(({ verdict }) => verdict === 'failed').map(({ problem }) => problem?.hint)
}

test.each([bundledTarget, lastingTarget])('a server that reads bodies as ISO 8859-1 (%o)', async (target) => {
  const hints = await hintsOn('body-expected-in-latin-1', target, ['signatures/body-in-utf-8'])
  expect(hints).toEqual([{ kind: 'body-beyond-ascii' }])
})

/** Sixteen sessions and more are created in each of them. */
const names = ['seventeenth', 'eighteenth', 'removed-refresh', 'seventeenth-of-a-created-key']
const full = names.map((name) => `sessions/${name}`)

test.each([
  ['a fresh instance for each case', bundledTarget],
  // The sessions of earlier cases fill the places of the user.
  ['a user with sessions from before', lastingTarget],
])('a server that removes the newest session: %s', async (_, target) => {
  const hints = await hintsOn('newest-session-removed', target, full)
  expect(hints.length).toBeGreaterThan(2)
  for (const hint of hints) {
    expect(hint?.kind).toBe('sessions-ended')
    if (hint !== undefined) expect(hintText(hint)).toContain('the newest session were removed instead of the oldest')
  }
})

test.each([
  ['second-oldest-session-removed', 'another session than the oldest were removed'],
  ['all-sessions-removed', undefined],
  ['two-sessions-removed', undefined],
])('%s is not told as the newest', async (id, text) => {
  const hints = await hintsOn(id, bundledTarget, full)
  expect(hints.length).toBeGreaterThan(0)
  for (const hint of hints) {
    if (text === undefined) expect(hint).toBeUndefined()
    else expect(hint === undefined ? '' : hintText(hint)).toContain(text)
  }
})
