import { describe, expect, test } from 'vitest'
import { openCorpus } from '../../run/corpus-cache.ts'
import { readScenario } from '../language/corpus.ts'
import { seededRandom } from '../signer/random.ts'
import {
  allItems,
  aloneReasons,
  answersTo,
  claimsOf,
  fillsPlaces,
  noClaims,
  orderItems,
  provesOf,
  selectItems,
} from './cases.ts'

describe('cases', async () => {
  const items = allItems(await openCorpus())
  const everything = { only: [], skip: [], shard: null }
  const keys = (list: readonly { key: string }[]): string[] => list.map(({ key }) => key)

  describe('selection', async () => {
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
      const shardOf = (index: number) => selectItems(items, { ...everything, shard: { index, count: 3 } }).selected
      const shards = [1, 2, 3].map(shardOf)
      expect(keys(shards.flat()).sort()).toEqual(keys(items).sort())
      for (const shard of shards) expect(shard.length).toBeGreaterThan(items.length / 6)
      const scenarios = shards.map((shard) => new Set(shard.map(({ scenario }) => scenario.id)))
      expect(scenarios.reduce((sum, set) => sum + set.size, 0)).toBe(new Set(scenarios.flatMap((set) => [...set])).size)
    })
  })

  describe('order', async () => {
    test('the same seed gives the same order, and another seed another one', () => {
      const ordered = (seed: number) => keys(orderItems(items, false, seededRandom(seed)))
      expect(ordered(7)).toEqual(ordered(7))
      expect(ordered(7)).not.toEqual(ordered(8))
      expect(ordered(8).sort()).toEqual(keys(items).sort())
    })

    test('on a lasting target the test keys come first and what fills the key limit last', () => {
      const ordered = orderItems(items, true, seededRandom(7))
      expect(keys(ordered).slice(0, 4)).toEqual(['bob', 'carol', 'erin', 'dave'].map((name) => `test-keys/${name}`))
      const fills = ordered.map(
        (item) =>
          item.kind === 'case' && (['keys', 'limits'] as const).every((need) => item.scenario.needs.includes(need)),
      )
      expect(fills.lastIndexOf(false)).toBeLessThan(fills.indexOf(true))
    })

    test('in each order the same cases find a place for the keys that they create', () => {
      const four = ['keys/created', 'keys/initial-key-creates', 'keys/apikey-scope', 'signatures/body-in-utf-8']
      const creators = (seed: number) =>
        keys(orderItems(items, true, seededRandom(seed))).filter((key) => four.includes(key))
      for (const seed of [1, 2, 3, 4, 5]) expect(creators(seed)).toEqual(creators(0))
      expect(creators(0)).toHaveLength(4)
    })

    test('of the cases that create keys, one with a session comes before all and a race after all', () => {
      const ordered = keys(orderItems(items, true, seededRandom(1)))
      const [withSession, refused, plain, race] = [
        'keys/apikey-scope',
        'keys/create-params/nothing',
        'signatures/body-in-utf-8',
        'keys/initial-key-creates',
      ].map((key) => ordered.indexOf(key))
      expect(withSession).toBeLessThan(refused ?? -1)
      expect(refused).toBeLessThan(plain ?? -1)
      expect(plain).toBeLessThan(race ?? -1)
    })

    test('the created keys are used once more after all others, and before the limit is filled', () => {
      for (const seed of [1, 2, 3]) {
        const ordered = orderItems(items, true, seededRandom(seed))
        const at = ordered.findIndex(({ key }) => key === 'keys/created-keys-last')
        expect(ordered.slice(at + 1).filter((item) => !fillsPlaces(item))).toEqual([])
        expect(at).toBeGreaterThan(4)
      }
    })
  })
})

describe('claims', async () => {
  type Claims = ReturnType<typeof claimsOf>

  function claims(needs: string, ...steps: string[]): Claims {
    const text = `scenario: made up\n${needs === '' ? '' : `needs: [${needs}]\n`}steps:\n${steps.map((step) => `  - ${step}\n`).join('')}`
    const scenario = readScenario(text, 'fixtures/scenarios/made-up/one.yaml').scenario
    const testCase = { name: null, slug: null, values: {} }
    return claimsOf({ scenario, testCase })
  }

  const plain = '{ call: solution/listSolutions, auth: { basic: root }, observe: errors/shape }'
  const grant = '{ grant: root, scope: [solution], observe: errors/shape }'
  const session = grant.replace('solution', 'solution, "session:one"')
  const inRounds = grant.replace('{', '{ repeat: 3,')
  const nothing = noClaims

  test.each<[string, Claims, Partial<Claims>]>([
    ['an ordinary call', claims('', plain), {}],
    ['a grant', claims('sessions', grant), { grants: 1, users: ['root'] }],
    ['a grant in rounds', claims('sessions', inRounds), { grants: 3, users: ['root'], turns: 3 }],
    ['a session', claims('sessions', session), { grants: 1, named: 1, users: ['root'] }],
    ['how sessions count', claims('', plain.replace('errors/shape', 'sessions/counting')), { observesCounting: true }],
    ['a grant that must be refused', claims('sessions', '{ grant: root, scope: [], expect: refused }'), {}],
    ['a refresh', claims('sessions', '{ refresh: $pair, observe: errors/shape }'), {}],
    ['a wait', claims('', '{ wait: 2s }'), { waits: true, turns: 0 }],
    ['keys', claims('keys', plain), { makesKeys: true }],
    ['the limit of sessions', claims('sessions, limits', plain), { fills: 'sessions' }],
    ['the limit of keys', claims('sessions, keys, limits', plain), { makesKeys: true, fills: 'keys' }],
    ['a row of calls', claims('', plain.replace('{', '{ repeat: 40,')), { turns: 40 }],
    ['a race', claims('', plain.replace('{', '{ parallel: 4,')), { races: true }],
  ])('the claims of a case follow from its needs and steps: %s', (_name, made, wanted) => {
    expect(made).toEqual({ ...nothing, turns: 1, ...wanted })
  })

  test('a case says why it runs alone', () => {
    expect(aloneReasons(nothing)).toEqual([])
    expect(aloneReasons({ ...nothing, grants: 3, waits: true })).toEqual([])
    expect(aloneReasons({ ...nothing, makesKeys: true, fills: 'keys', races: true })).toEqual(['fills-keys', 'race'])
    expect(aloneReasons({ ...nothing, makesKeys: true })).toEqual(['makes-keys'])
    expect(aloneReasons({ ...nothing, fills: 'sessions' })).toEqual(['fills-sessions'])
  })
})
