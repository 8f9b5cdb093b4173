import { expect, test } from 'vitest'
import { type CreatedKeysEntry, openCreatedKeys } from './created-keys.ts'

test('a creation whose answer was lost is remembered as a possible key', () => {
  const createdKeys = openCreatedKeys()
  for (const name of ['a', 'b', 'c']) createdKeys.intend(name)
  createdKeys.created({ id: '1', name: 'a', secret: 's' })
  createdKeys.notCreated('b')
  expect(createdKeys.keys.map(({ id }) => id)).toEqual(['1'])
  expect(createdKeys.unanswered).toEqual(['c'])
})

test('what was written is what is read back, removed keys are gone', () => {
  const written: CreatedKeysEntry[] = []
  const createdKeys = openCreatedKeys((entry) => written.push(entry))
  createdKeys.intend('a')
  createdKeys.created({ id: '1', name: 'a' })
  createdKeys.intend('b')
  createdKeys.created({ id: '2', name: 'b' })
  createdKeys.removed('1')
  const again = openCreatedKeys(() => {}, JSON.parse(JSON.stringify(written)) as CreatedKeysEntry[])
  expect(again.keys).toEqual(createdKeys.keys)
  expect(again.keys.map(({ id }) => id)).toEqual(['2'])
})

test('the intent is written before the creation is known', () => {
  const written: CreatedKeysEntry[] = []
  openCreatedKeys((entry) => written.push(entry)).intend('a')
  expect(written).toEqual([{ intend: 'a' }])
})
