import { expect, test } from 'vitest'
import { shortName } from './random.ts'

test('a short name has eight small letters and digits and begins with a letter', () => {
  const names = Array.from({ length: 500 }, (_, at) => shortName(`a long session name-${at}`))
  for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9]{7}$/)
  expect(new Set(names).size).toBe(names.length)
  expect(shortName('a long session name-0')).toBe(names[0])
  expect(shortName('x', 5)).toHaveLength(5)
})
