import { expect, test } from 'vitest'
import { seededRandom } from '../engine/signer/random.ts'
import { bundledTarget, type Profile } from '../targets/bundled.ts'
import { type DiffOptions, diffServers } from './diff-servers.ts'
import { outcomesDiffer, renderServerDiff } from './text.ts'

const options: DiffOptions = { allow: ['sessions'], calls: 180, seed: 3, random: seededRandom(3), patientMs: 0 }

async function diffOf(profile: Partial<Profile>, more: Partial<DiffOptions> = {}) {
  const [a, b] = [bundledTarget(), bundledTarget({ profile })]
  const [first, second] = [await a.open(), await b.open()]
  try {
    return await diffServers(first, second, { ...options, ...more })
  } finally {
    await first.close()
    await second.close()
    await a.close?.()
    await b.close?.()
  }
}

test('two servers of one kind answer alike', async () => {
  const diff = await diffOf({})
  expect(diff.differences).toEqual([])
  expect(outcomesDiffer(diff)).toBe(false)
  expect(renderServerDiff(diff)).toContain('180 of 180 calls are answered alike; 0 differ in their outcome')
})

test('another status is a difference, but not one of outcomes', async () => {
  const diff = await diffOf({ refusalStatus: 'http' })
  expect(outcomesDiffer(diff)).toBe(false)
  expect(diff.differences).toContainEqual(expect.objectContaining({ call: 'no authorization', in: ['status'] }))
})

test('a call that only one server takes is a difference of outcomes', async () => {
  const diff = await diffOf({ nonceReuse: 'accepted', scopeOnRefresh: 'narrows' })
  expect(outcomesDiffer(diff)).toBe(true)
  const calls = new Set(diff.differences.map(({ call }) => call))
  expect([...calls]).toEqual(expect.arrayContaining(['signature, the nonce used before', 'refresh with a scope']))
})

test('another result is a difference of shapes', async () => {
  const diff = await diffOf({ listShape: 'solutions' })
  expect(diff.differences).toContainEqual(expect.objectContaining({ call: 'Basic', in: ['shape'] }))
  expect(renderServerDiff(diff)).toMatch(/Basic +accepted \{ list: array \} +accepted \{ solutions: array \} +shape/)
})

test('without sessions no token is granted', async () => {
  const diff = await diffOf({ tokenPrefix: 'Token' }, { allow: [] })
  expect(diff.differences).toEqual([])
})
