import { describe, expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { loadVariants, profileChoices } from '../targets/bundled.ts'
import { departuresOf, expectedDepartures } from './expected-departures.ts'
import { compatible, coveringServers, pairsOf } from './merge-variants.ts'
import { runVariant } from './variant-run.ts'

const variants = await loadVariants()
const { questions } = await openCorpus()
const servers = coveringServers(variants)
const longerThanAnyRunMs = 240_000

describe('the list of variants', () => {
  test('has at least two dozen with unique names', () => {
    expect(variants.length).toBeGreaterThanOrEqual(24)
    expect(new Set(variants.map(({ id }) => id)).size).toBe(variants.length)
  })

  test('names open questions that are registered', () => {
    const known = new Set(questions.map(({ id }) => id))
    expect(variants.flatMap(({ questions: named }) => named).filter((id) => !known.has(id))).toEqual([])
  })

  test('has every reading of every switch but the first', () => {
    const readings = Object.entries(profileChoices).flatMap(([name, [, ...others]]) =>
      (others as unknown[]).map((value) => ({ name, value })),
    )
    const open = readings.filter(
      ({ name, value }) => !variants.some(({ profile }) => (profile as { [name: string]: unknown })[name] === value),
    )
    expect(open.filter(({ value }) => typeof value !== 'number')).toEqual([])
    const numeric = new Set(variants.flatMap(({ profile }) => Object.keys(profile)))
    expect(open.map(({ name }) => name).filter((name) => !numeric.has(name))).toEqual([])
  })

  test('has a reason for every case that may not pass', () => {
    const known = new Set(variants.map(({ id }) => id))
    expect(Object.keys(expectedDepartures).filter((id) => !known.has(id))).toEqual([])
    const failing = Object.values(expectedDepartures)
      .flat()
      .filter((departure) => /^(failed|blocked) /.test(departure.case))
    expect(failing).toEqual([])
  })
})

test('every variant is in one of the servers, or is tried alone', () => {
  const together = new Set(servers.flatMap(({ ids }) => ids))
  expect(variants.filter(({ id, alone }) => together.has(id) === (alone === true)).map(({ id }) => id)).toEqual([])
})

test('every compatible pair of variants meets in one of the servers', () => {
  const met = (one: string, other: string) => servers.some(({ ids }) => ids.includes(one) && ids.includes(other))
  expect(pairsOf(variants).filter(([one, other]) => !met(one.id, other.id))).toEqual([])
})

describe('nothing fails if a server answers many open questions differently at once', () => {
  // Outside of a proof every server gets another part of the cases, so that each pair of variants and each case has its turn.
  const turns = servers.map((server, index) => ({ ...server, part: { every: 12, first: index } }))
  test.each(turns)('$ids', { timeout: longerThanAnyRunMs }, async ({ part, ...server }) => {
    const { departures, messages, exitCode } = await runVariant(server, { part })
    // One variant may prevent the departure of another, so no departure is required here.
    const withReason = departuresOf(server.ids)
    const unexplained = departures.filter((departure) => !withReason.includes(departure))
    expect(unexplained, messages.join('\n')).toEqual([])
    expect(exitCode).toBe(0)
  })
})

test('two readings of one switch are not compatible', () => {
  const [one, other] = variants.filter(({ profile }) => profile.errorBody !== undefined)
  expect(one && other && compatible(one, other)).toBe(false)
})
