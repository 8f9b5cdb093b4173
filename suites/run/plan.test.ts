import { expect, test } from 'vitest'
import { allItems } from '../engine/conversation/cases.ts'
import { openCorpus } from './corpus-cache.ts'
import { makePlan, type PlannedTarget } from './plan.ts'

const corpus = await openCorpus()
const selected = allItems(corpus)
const items = { selected, notSelected: 0, all: selected.length, ofAnswers: 3, cannot: () => undefined }
const testKeyNames = corpus.testKeys.map(({ name }) => name)
const target: PlannedTarget = {
  testKeyNames,
  standIn: 'root',
  keptTestKeys: [],
  cleanup: false,
  lasts: true,
  callMs: 100,
  atOnce: 4,
  rate: 0,
}

test('the total is that of the report', () => {
  expect(makePlan(items, target)).toMatchObject({ cases: selected.length + 3, total: selected.length + 3 })
})

test('never more keys than the ten that are possible', () => {
  const [keys] = makePlan(items, target).creates
  expect(keys).toBe('API keys up to the limit of ten')
  const withoutLimits = selected.filter((item) => item.kind === 'test-key' || !item.scenario.needs.includes('limits'))
  expect(makePlan({ ...items, selected: withoutLimits }, target).creates[0]).toBe('10 API keys')
  expect(makePlan({ ...items, selected: withoutLimits }, { ...target, cleanup: true }).creates[0]).toMatch(
    /^\d+ API keys, at most 10 at once, removed through the cleanup method$/,
  )
})

test('the test keys of the selected cases are created, unless they are kept', () => {
  const refreshes = selected.filter(({ key }) => key.startsWith('refresh/'))
  const createsOf = (more: Partial<PlannedTarget>) =>
    makePlan({ ...items, selected: refreshes }, { ...target, ...more }).creates
  expect(createsOf({})).toContain('1 API key')
  expect(createsOf({})).toContain('up to 1 more if the target takes keys that it should refuse')
  expect(createsOf({ standIn: 'dave' })).toContain('2 API keys')
  expect(createsOf({ keptTestKeys: ['erin'] })).toContain(
    'up to 1 API key if the target takes keys that it should refuse',
  )
})

test('where keys stay, the plan names what would change that', () => {
  const advice = expect.stringContaining('"cleanup" in a target file names a method that removes them')
  expect(makePlan(items, target).creates).toContainEqual(advice)
  expect(makePlan(items, { ...target, lasts: false }).creates).not.toContainEqual(advice)
})

test('the time follows from the calls and from the longest wait', () => {
  const near = makePlan(items, { ...target, callMs: 1, atOnce: 1 })
  const far = makePlan(items, { ...target, atOnce: 1 })
  expect(far.seconds - near.seconds).toBeCloseTo((far.calls * 99) / 1000, -1)
  expect(near.seconds).toBeGreaterThan(near.calls / 1000)
})

test('several calls at once take less time, as far as a rate allows', () => {
  const waits = makePlan(items, { ...target, callMs: 0 }).seconds
  const seconds = (more: Partial<PlannedTarget>): number => makePlan(items, { ...target, ...more }).seconds - waits
  expect(seconds({ atOnce: 16 })).toBeLessThan(seconds({ atOnce: 1 }) / 2)
  expect(seconds({ atOnce: 16, rate: 5 })).toBeGreaterThan(seconds({ atOnce: 1 }))
})

test('on a virtual clock nothing takes time', () => {
  expect(makePlan(items, { ...target, callMs: null }).seconds).toBe(0)
})
