import { expect, test } from 'vitest'
import { namesUsed, resolve, UnresolvedReference } from './references.ts'

const names = { root: { id: 'r', secret: 's' }, n: 3, list: ['a', { b: true }], case: { who: '$root.id', n: 1 } }

test('a value that is only a reference keeps its type', () => {
  expect(resolve('$n', names)).toBe(3)
  expect(resolve('$list.1', names)).toEqual({ b: true })
  expect(resolve({ a: ['$n', 'x'] }, names)).toEqual({ a: [3, 'x'] })
})

test('inside a longer text it becomes text', () => {
  expect(resolve('session:number-$n of $root.id', names)).toBe('session:number-3 of r')
})

test('a value of the case may be a reference itself', () => {
  expect(resolve('$case.who', names)).toBe('r')
})

test('names of an outer scope are seen in an inner one', () => {
  const inner = Object.assign(Object.create(names) as typeof names & { it?: string }, { it: 'item' })
  expect(resolve('$it and $root.id', inner)).toBe('item and r')
})

test('a reference without a value says which one', () => {
  expect(() => resolve('$old.accessToken', names)).toThrow(UnresolvedReference)
  expect(() => resolve('$old.accessToken', names)).toThrow('$old.accessToken')
})

test('the names that a fixture uses', () => {
  expect([...namesUsed({ a: '$bob.secret', b: ['x $n y'] })].sort()).toEqual(['bob', 'n'])
})
