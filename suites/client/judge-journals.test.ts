import { expect, test } from 'vitest'
import { call, grant, journal, start } from '../self/made-up-journal.ts'
import type { Journal, Start } from './journal.ts'
import { judgeJournals } from './judge.ts'

const paying = 'retry/create-key-not-repeated'
const working: Journal = { ...journal([grant(0, 'a'), call(9, 'a')]), scenario: 'plain/token' }
const silent = (more: Partial<Start>): Journal => ({
  ...journal([], {}, { starts: [start(more)] }),
  scenario: 'create-key/token',
})
const verdict = (journals: readonly Journal[]): string | undefined =>
  judgeJournals(journals, [{ id: 'create-key/token', check: paying }]).find(({ check }) => check.id === paying)?.verdict

test.each([
  ['says ok without a call', { ok: 1 }],
  ['does not end', { ended: { kind: 'timeout', seconds: 1 } }],
] as [string, Partial<Start>][])(
  'a client that %s in one scenario pays there, though it made no request',
  (_title, more) => {
    expect(verdict([working, silent(more)])).toBe('warned')
    // Nothing is known about one that never reaches a server.
    expect(verdict([silent(more)])).toBe('not-exercised')
  },
)

test('a client that makes no call in a scenario does not fail its check', () => {
  expect(verdict([working, silent({})])).toBe('not-exercised')
  expect(verdict([working, silent({ error: 1 })])).toBe('not-exercised')
})
