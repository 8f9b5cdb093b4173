import { expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import { seededRandom } from '../engine/random.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { openRun } from '../run/run.ts'
import { lastingTarget, loadIndependentVariants } from '../targets/bundled.ts'

/** Each run begins with them, so a conforming server that refuses one would fail every run. */
test('no conforming server of another author is accused when the test keys are created', async () => {
  const corpus = await openCorpus()
  const items = allItems(corpus).filter(({ kind }) => kind === 'test-key')
  const accused: string[] = []
  const isAboutKeys = (question: string): boolean => /^(keys|scopes|grants)\//.test(question)
  const variants = (await loadIndependentVariants()).filter(({ questions }) => questions.some(isAboutKeys))
  expect(variants.length).toBeGreaterThan(100)
  for (const { id, profile, settings = {}, create } of variants) {
    const target = lastingTarget({ ...(profile === undefined ? {} : { profile }), ...create?.() }, settings)
    const run = await openRun({
      target,
      corpus,
      items,
      seed: 1,
      random: seededRandom(1),
      allow: ['sessions', 'keys', 'limits'],
      unique: 'k1',
    })
    for (const item of run.items) {
      const { verdict, key } = await run.runItem(item)
      if (verdict === 'failed') accused.push(`${id}: ${key}`)
    }
    await run.end()
    await target.close?.()
  }
  expect(items.length).toBeGreaterThan(3)
  expect(accused).toEqual([])
})
