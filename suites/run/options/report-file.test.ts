import { expect, test } from 'vitest'
import { allItems } from '../../engine/conversation/cases.ts'
import { everyAnswer } from '../../report/outcomes.ts'
import { madeUpCase } from '../../self/made-up.ts'
import { openCorpus } from '../corpus-cache.ts'
import { planRun } from '../plan-run.ts'
import { readRunOptions } from './options.ts'
import { failedIds } from './report-file.ts'

const corpus = await openCorpus()

test('what failed or was blocked runs again, and nothing else', () => {
  const cases = [
    madeUpCase({ key: 'basic/secret-of-another', verdict: 'failed' }),
    madeUpCase({ key: 'basic/other', verdict: 'warned' }),
    madeUpCase({ key: 'tokens/x', verdict: 'blocked' }),
    madeUpCase({ key: `${everyAnswer}/id`, id: everyAnswer, verdict: 'failed', proves: ['envelope/id-echo'] }),
  ]
  expect(failedIds({ cases: cases as never })).toEqual(['basic/secret-of-another', 'tokens/x', 'envelope/id-echo'])
})

test('a plan of these holds them alone, and gives no verdict on the whole document', () => {
  const { selected, isPartial } = planRun(readRunOptions({}, {}), corpus, [
    'basic/secret-of-another',
    'no/longer-there',
  ])
  expect(selected.map(({ key }) => key)).toEqual(['basic/secret-of-another'])
  expect(isPartial).toBe(true)
  expect(planRun(readRunOptions({}, {}), corpus).selected).toHaveLength(allItems(corpus).length)
})
