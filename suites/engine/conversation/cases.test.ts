import { describe, expect, test } from 'vitest'
import { openCorpus } from '../../run/corpus-cache.ts'
import { seededRandom } from '../random.ts'
import { allItems, answersTo, orderItems, provesOf, selectItems } from './cases.ts'

const items = allItems(await openCorpus())
const everything = { only: [], skip: [], shard: null }
const keys = (list: readonly { key: string }[]): string[] => list.map(({ key }) => key)

describe('selection', () => {
  test('an id prefix ends at a word', () => {
    const { selected } = selectItems(items, { ...everything, only: ['signatures/hmac'] })
    expect(selected.length).toBeGreaterThan(0)
    expect(selected.every((item) => answersTo(item, 'signatures/hmac'))).toBe(true)
    expect(selectItems(items, { ...everything, only: ['signatures/hm'] }).selected).toEqual([])
  })

  test('a requirement id selects what proves it', () => {
    const { selected } = selectItems(items, { ...everything, only: ['keys/create-authorized'] })
    expect(selected.every((item) => provesOf(item).includes('keys/create-authorized'))).toBe(true)
    expect(keys(selected)).toContain('test-keys/bob')
  })

  test('skipped items are returned with their reasons', () => {
    const { selected, skipped } = selectItems(items, { ...everything, skip: [{ id: 'sessions', reason: 'busy' }] })
    expect(skipped.length).toBeGreaterThan(0)
    expect(skipped.every(({ reason }) => reason === 'busy')).toBe(true)
    expect(selected.length + skipped.length).toBe(items.length)
  })

  test('shards share out every item, each once, and keep the cases of a scenario together', () => {
    const shards = [1, 2, 3].map((index) => selectItems(items, { ...everything, shard: { index, count: 3 } }).selected)
    expect(keys(shards.flat()).sort()).toEqual(keys(items).sort())
    for (const shard of shards) expect(shard.length).toBeGreaterThan(items.length / 6)
    const scenarios = shards.map(
      (shard) => new Set(shard.map((item) => (item.kind === 'case' ? item.scenario.id : item.key))),
    )
    expect(scenarios.reduce((sum, set) => sum + set.size, 0)).toBe(new Set(scenarios.flatMap((set) => [...set])).size)
  })
})

describe('order', () => {
  test('the same seed gives the same order, and another seed another one', () => {
    expect(keys(orderItems(items, false, seededRandom(7)))).toEqual(keys(orderItems(items, false, seededRandom(7))))
    expect(keys(orderItems(items, false, seededRandom(7)))).not.toEqual(keys(orderItems(items, false, seededRandom(8))))
    expect(keys(orderItems(items, false, seededRandom(8))).sort()).toEqual(keys(items).sort())
  })

  test('on a lasting target the test keys come first and what fills the key limit last', () => {
    const ordered = orderItems(items, true, seededRandom(7))
    expect(keys(ordered).slice(0, 4)).toEqual(['test-keys/bob', 'test-keys/carol', 'test-keys/dave', 'test-keys/erin'])
    const fills = ordered.map(
      (item) => item.kind === 'case' && ['keys', 'limits'].every((need) => item.scenario.needs.includes(need as never)),
    )
    expect(fills.lastIndexOf(false)).toBeLessThan(fills.indexOf(true))
  })

  test('in each order the same cases find a place for the keys that they create', () => {
    const creators = (seed: number) =>
      keys(orderItems(items, true, seededRandom(seed))).filter((key) =>
        ['keys/created', 'keys/initial-key-creates', 'keys/apikey-scope', 'signatures/body-in-utf-8'].includes(key),
      )
    for (const seed of [1, 2, 3, 4, 5]) expect(creators(seed)).toEqual(creators(0))
    expect(creators(0)).toHaveLength(4)
  })
})
