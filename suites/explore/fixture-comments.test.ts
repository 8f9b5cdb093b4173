import { expect, test } from 'vitest'
import { commentLines } from './fixture-comments.ts'

test('what came between is a comment, whatever the calls contain', () => {
  const since = { from: 'The same call was refused before', calls: ['A grant for "a\nsteps: []\u001b[31m"'] }
  const input = { requirement: '', part: '', sentence: '', message: '', steps: [], outcomes: [] }
  expect(commentLines({ ...input, expect: 'refused', since }, new Map())).toEqual([
    '# The same call was refused before. What came between:',
    '# - A grant for "a\\nsteps: []\\u001b[31m"',
  ])
})
