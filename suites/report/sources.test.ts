import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'
import { parseRequirements } from '../engine/language/parse.ts'
import { documentFile, documentSentence, filesOfCases } from './html.ts'

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

test('files of cases are those of the package; files outside it are left out', () => {
  const problem = { kind: 'clock-jumped' as const, message: '', requirements: [], step: '', exchanges: [] }
  const inside = { id: 'tokens/a', problem: { ...problem, where: 'fixtures/scenarios/tokens/b.yaml:9:5' } }
  const outside = { id: 'a/b', problem: { ...problem, where: '/etc/passwd:1:1' } }
  const above = { id: '../../../secrets', problem: null }
  const plain = ['tokens/a', 'test-keys/bob'].map((id) => ({ id, problem: null }))
  expect(filesOfCases([outside, above, inside, ...plain])).toEqual([
    'fixtures/scenarios/tokens/a.yaml',
    'fixtures/scenarios/tokens/b.yaml',
    'fixtures/test-keys.yaml',
  ])
})
