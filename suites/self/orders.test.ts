/** The short form of `npm run orders`: some sets of defects, in two orders of the cases that bear on them. */
import { expect, test } from 'vitest'
import { allItems, answersTo } from '../engine/conversation/cases.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { defectSets } from './defects.ts'
import { partUnlessProof } from './proof-form.ts'
import { runInOrders } from './run-in-orders.ts'

const corpus = await openCorpus()
const areas = [
  'sessions',
  'refresh/race',
  'refresh/session-kept',
  'refresh/revokes-refresh',
  'limits/api-keys',
  'limits/every-way',
  'expires-in/enforced',
  'expires-in/reported',
  'basic/public-key',
  'grants/public-key-as-secret',
  'tokens/accepted',
]
const items = allItems(corpus).filter((item) => areas.some((id) => answersTo(item, id)))

test.each(
  partUnlessProof(defectSets, 1, 1).map((defects) => ({ name: defects.map(({ id }) => id).join(' and '), defects })),
)('a server that keeps its state is judged the same in two orders: $name', async ({ defects }) => {
  const { problems } = await runInOrders({ corpus, items }, defects, [1, 2])
  expect(problems).toEqual([])
})

test('cases after a lost race of the server are blocked, not failed', async () => {
  const lost = defectSets.filter(([first]) => first?.id === 'races-lost').slice(0, 1)
  const { counts } = await runInOrders({ corpus, items }, lost.flat(), [3])
  expect(counts).toMatchObject({ failed: 3 })
  expect(counts.blocked).toBeGreaterThan(0)
})
