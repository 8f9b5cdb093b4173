import { expect, test } from 'vitest'
import { createTextMap } from './nonces.ts'

test('finds what a Map finds, whatever the texts are', () => {
  const texts = Array.from(
    { length: 5000 },
    (_nothing, index) => `${'x'.repeat(index % 90)}${index}${index % 3 ? 'é' : '鍵'}`,
  )
  const map = createTextMap()
  const known = new Map<string, number>()
  for (const [index, text] of [...texts, '', '\ud800', ...texts.slice(0, 100)].entries()) {
    map.set(text, index)
    known.set(text, index)
  }
  expect(map.size).toBe(known.size)
  expect([...map.values()]).toEqual([...known.values()])
  for (const [text, value] of known) expect(map.get(text)).toBe(value)
  for (const text of ['x', '0', '\udc00', `${texts[0]} `]) expect(map.get(text)).toBe(known.get(text))
})

test('is empty at first', () => {
  expect(createTextMap().get('')).toBeUndefined()
  expect([...createTextMap().values()]).toEqual([])
})

test('tells texts with one hash apart', () => {
  // A known pair of collisions of 32-bit FNV-1a.
  const [one, other] = ['costarring', 'liquid']
  const map = createTextMap()
  map.set(one, 1)
  expect(map.get(other)).toBeUndefined()
  map.set(other, 2)
  expect([map.get(one), map.get(other)]).toEqual([1, 2])
})
