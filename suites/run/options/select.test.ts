import { expect, test } from 'vitest'
import { allItems, type Selection } from '../../engine/conversation/cases.ts'
import { SuiteError } from '../../engine/errors.ts'
import { openCorpus } from '../corpus-cache.ts'
import { select } from './select.ts'

const items = allItems(await openCorpus())
const everything: Selection = { only: [], skip: [], shard: null }

function refusal(selection: Partial<Selection>): string {
  try {
    select(items, { ...everything, ...selection })
  } catch (error) {
    if (error instanceof SuiteError && error.exitCode === 2) return error.message
    throw error
  }
  throw new Error('expected a refusal')
}

test.each<[Partial<Selection>, string]>([
  [{ only: ['signature'] }, 'matches "--only signature", did you mean "signatures"?'],
  [{ only: ['basic', 'grant'] }, 'matches "--only grant", did you mean "grants"?'],
  [{ only: ['signatures/hmac-acceptd'] }, 'did you mean "signatures/hmac-accepted"?'],
  [{ only: ['zzz/zzz'] }, 'matches "--only zzz/zzz"; "svc-conformance list" shows them'],
  [{ skip: [{ id: 'bsic', reason: 'none yet' }] }, 'matches "--skip bsic", did you mean "basic"?'],
  [
    { only: ['basic'], skip: [{ id: 'basic', reason: 'none' }] },
    'Nothing is selected: --skip leaves nothing of what --only selects (basic)',
  ],
  [
    { only: ['test-keys/bob'], shard: { index: 3, count: 3 } },
    'Nothing is selected: there are fewer than 3 shards in what --only selects (test-keys/bob)',
  ],
])('%j is an error', (selection, sentence) => {
  expect(refusal(selection)).toContain(sentence)
})

test('an area, a scenario, a case and a requirement select', () => {
  for (const id of ['basic', 'basic/accepted', 'grants/credentials/the-first-half', 'signatures/hmac'])
    expect(select(items, { ...everything, only: [id] }).selected.length).toBeGreaterThan(0)
})
