import { expect, test } from 'vitest'
import { openCorpus } from '../run/corpus-cache.ts'
import { showOfModel } from './show-model.ts'

const corpus = await openCorpus()
const show = (id: string): string => showOfModel(id, corpus).join('\n')

test('a part of the table: what is changed, what it breaks and the changes', () => {
  const text = show('table/basic/basic-secret')
  expect(text).toContain('a call with Basic credentials and changes one part of it: basic-secret')
  expect(text).toContain('basic/credentials: Authorization: Basic')
  expect(text).toContain(' changes (fixtures/deviations.yaml):\n    ')
  expect(text).toContain('first-half')
  expect(show('table/basic')).toContain('\n  table/basic/basic-secret\n')
})

test('a row of the matrix: its values', () => {
  expect(show('matrix/1')).toMatch(/^matrix\/1: one combination.*\n {4}address +\S+\n(?: {4}.+\n)* {4}way +\S/)
})

test('a finding: its requirement and what the target did', () => {
  const text = show('found/refresh/new-pair/let-in-twice')
  expect(text).toContain('a finding of the model about refresh/new-pair\n  refresh/new-pair: The grant')
  expect(text).toContain('The target accepted a call that must be refused')
})

test.each([
  ['table/nope', '"svc-conformance show table" lists the parts'],
  ['matrix/99999', '"svc-conformance show matrix" says how many rows there are'],
  ['matrix/0', 'Nothing is named "matrix/0"'],
  ['found/nope/x', 'the id of a finding is found/REQUIREMENT/FACT'],
])('%s is an error', (id, message) => {
  expect(() => show(id)).toThrow(message)
})
