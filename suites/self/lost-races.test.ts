import { describe, expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/case/cases.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { runAll } from '../run/run.ts'
import { lastingTarget, type ServerOptions } from '../targets/bundled.ts'

const corpus = await openCorpus()
const areas = [
  'sessions',
  'refresh/race',
  'refresh/session-kept',
  'refresh/revokes-refresh',
  'limits/api-keys',
  'limits/every-way',
]
const items = allItems(corpus).filter((item) => areas.some((id) => answersTo(item, id)))

/** Long enough for calls that were sent together to meet. */
const tornMs = 10

/** Loses every race: a decision and its effect are torn apart, and grants under way together do not count one another. */
function torn(): NonNullable<ServerOptions['rules']> {
  let underWay = 0
  let most = 0
  return {
    beforeEffect: (effect) => {
      if (effect === 'listing') return undefined
      underWay += 1
      most = underWay === 1 ? 1 : Math.max(most, underWay)
      return new Promise((resolve) => {
        setTimeout(() => {
          underWay -= 1
          resolve()
        }, tornMs)
      })
    },
    sessionLimit: () => (most > 1 ? 1000 : 16),
  }
}

/** One server for the whole run. */
function ask(seed: number): Promise<CaseOutcome[]> {
  return runAll({ target: lastingTarget({ rules: torn() }), corpus, items, seed })
}

const named = (outcomes: CaseOutcome[], verdict: string): string[] =>
  outcomes
    .filter((outcome) => outcome.verdict === verdict)
    .map(({ key }) => key)
    .sort()

describe('a server that keeps its state and loses every race', () => {
  test.each([1, 2])('fails the races and nothing else, in order %i', { timeout: 60_000 }, async (seed) => {
    const outcomes = await ask(seed)
    expect(named(outcomes, 'failed')).toEqual(['limits/api-keys', 'refresh/race', 'sessions/race'])
    expect(named(outcomes, 'warned')).toEqual([])
    expect(named(outcomes, 'blocked')).toEqual(
      ['limits/every-key-counts', 'limits/every-way', 'limits/ten-can-be-made'].filter((key) =>
        items.some((item) => item.key === key),
      ),
    )
  })
})
