import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { parseRequirements } from '../engine/language/parse.ts'
import { documentFile, documentSentence, filesOfCases, placeOfCase } from './sources.ts'

const sources = new Map([[documentFile, readFileSync(join(packageRoot, documentFile), 'utf8')]])

test('every requirement has a sentence in the document', () => {
  const file = 'spec/requirements.yaml'
  const requirements = parseRequirements(readFileSync(join(packageRoot, file), 'utf8'), file)
  expect(requirements.filter(({ id }) => documentSentence(sources, id) === null).map(({ id }) => id)).toEqual([])
})

test('a sentence has no marks, and ends where the next one begins', () => {
  expect(documentSentence(sources, 'envelope/id-echo')).toBe('Must: the id of the request')
  expect(documentSentence(sources, 'keys/no-time-to-live')).toBe('Must. Keys have no time-to-live.')
  expect(documentSentence(sources, 'no/such')).toBeNull()
})

test('a case names its file and the line of its step; files outside the package are left out', () => {
  const where = 'fixtures/scenarios/tokens/a.yaml:9:5'
  const problem = { kind: 'clock-jumped' as const, message: '', requirements: [], step: '', exchanges: [] }
  expect(placeOfCase({ id: 'tokens/a', problem: { ...problem, where } })).toEqual({
    file: 'fixtures/scenarios/tokens/a.yaml',
    line: 9,
  })
  expect(placeOfCase({ id: 'test-keys/bob', problem: null })).toEqual({ file: 'fixtures/test-keys.yaml', line: null })
  const outside = { id: 'a/b', problem: { ...problem, where: '/etc/passwd:1:1' } }
  const above = { id: '../../../secrets', problem: null }
  expect(filesOfCases([outside, above, { id: 'tokens/a', problem: null }])).toEqual([
    'fixtures/scenarios/tokens/a.yaml',
  ])
})
