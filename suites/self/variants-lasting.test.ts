import { describe, expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import { seededRandom } from '../engine/signer/random.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { openRun } from '../run/run.ts'
import { lastingTarget, loadIndependentVariants, loadVariants } from '../targets/bundled.ts'
import { coveringServers, runVariant } from './conforming-run.ts'
import { departuresOf } from './expected-departures.ts'
import { partUnlessProof } from './proof-form.ts'

const variants = await loadVariants()

/** Outside of a proof each of the three runs gets another part of the cases. */
const part = (first: number) => ({ every: 8, first })

describe('nothing fails on one server for the whole run', () => {
  const longest = [...coveringServers(variants)].sort((one, other) => other.ids.length - one.ids.length).slice(0, 1)
  test.each(longest)('$ids', async (server) => {
    const { departures, messages, wasRun } = await runVariant(server, { lasting: true, part: part(0) })
    expect(departures, messages.join('\n')).toEqual(departuresOf(server.ids).filter(wasRun))
  })

  const alone = ['rate-limited', 'eleventh-key-removes-the-oldest', 'every-grant-a-session']
  test.each(
    partUnlessProof(
      variants.filter(({ id }) => alone.includes(id)),
      1,
    ),
  )('$id', async (variant) => {
    const { departures, messages, wasRun } = await runVariant(variant, { lasting: true, part: part(2) })
    expect(departures, messages.join('\n')).toEqual(departuresOf([variant.id]).filter(wasRun))
  })
})

describe('nothing fails on one server with several calls at once', () => {
  const counting = ['every-grant-a-session', 'one-user-for-all-keys', 'longest-unused-session-removed']
  const atOnce = variants
    .filter(({ id }) => counting.includes(id))
    .map((variant, index) => ({ ...variant, atOnce: index === 0 ? 16 : 4 }))
  test.each(partUnlessProof(atOnce, 1))(
    '$id, $atOnce at once',

    async ({ atOnce: concurrency, ...variant }) => {
      const { departures, messages, wasRun } = await runVariant(variant, {
        lasting: true,
        concurrency,
        part: part(1),
      })
      expect(departures, messages.join('\n')).toEqual(departuresOf([variant.id]).filter(wasRun))
    },
  )
})

/** Each run begins with them, so a conforming server that refuses one would fail every run. */
test('no conforming server of another author is accused when the test keys are created', async () => {
  const corpus = await openCorpus()
  const items = allItems(corpus).filter(({ kind }) => kind === 'test-key')
  const accused: string[] = []
  const isAboutKeys = (question: string): boolean => /^(keys|scopes|grants)\//.test(question)
  const servers = (await loadIndependentVariants()).filter(({ questions }) => questions.some(isAboutKeys))
  expect(servers.length).toBeGreaterThan(100)
  for (const { id, settings, create } of servers) {
    const target = lastingTarget(create(), settings)
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
