import { describe, expect, test } from 'vitest'
import { loadVariants } from '../targets/bundled.ts'
import { departuresOf } from './expected-departures.ts'
import { coveringServers } from './merge-variants.ts'
import { partUnlessProof } from './proof-form.ts'
import { runVariant } from './variant-run.ts'

const variants = await loadVariants()
const longerThanAnyRunMs = 240_000

/** Outside of a proof each of the three runs gets another part of the cases. */
const part = (first: number) => ({ every: 8, first })

describe('nothing fails on one server for the whole run', () => {
  const longest = [...coveringServers(variants)].sort((one, other) => other.ids.length - one.ids.length).slice(0, 1)
  test.each(longest)('$ids', { timeout: longerThanAnyRunMs }, async (server) => {
    const { departures, messages, wasRun } = await runVariant(server, { lasting: true, part: part(0) })
    expect(departures, messages.join('\n')).toEqual(departuresOf(server.ids).filter(wasRun))
  })

  const alone = ['rate-limited', 'eleventh-key-removes-the-oldest', 'every-grant-a-session']
  test.each(
    partUnlessProof(
      variants.filter(({ id }) => alone.includes(id)),
      1,
    ),
  )('$id', { timeout: longerThanAnyRunMs }, async (variant) => {
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
    { timeout: longerThanAnyRunMs },
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
