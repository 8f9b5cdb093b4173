import { expect, test } from 'vitest'
import { type LedgerEntry, openLedger } from './ledger.ts'

test('a creation whose answer was lost is remembered as a possible key', () => {
  const ledger = openLedger()
  for (const name of ['a', 'b', 'c']) ledger.intend(name)
  ledger.created({ id: '1', name: 'a', secret: 's' })
  ledger.notCreated('b')
  expect(ledger.keys.map(({ id }) => id)).toEqual(['1'])
  expect(ledger.unanswered).toEqual(['c'])
})

test('what was written is what is read back, removed keys are gone', () => {
  const written: LedgerEntry[] = []
  const ledger = openLedger((entry) => written.push(entry))
  ledger.intend('a')
  ledger.created({ id: '1', name: 'a' })
  ledger.intend('b')
  ledger.created({ id: '2', name: 'b' })
  ledger.removed('1')
  const again = openLedger(() => {}, JSON.parse(JSON.stringify(written)) as LedgerEntry[])
  expect(again.keys).toEqual(ledger.keys)
  expect(again.keys.map(({ id }) => id)).toEqual(['2'])
})

test('the intent is written before the creation is known', () => {
  const written: LedgerEntry[] = []
  openLedger((entry) => written.push(entry)).intend('a')
  expect(written).toEqual([{ intend: 'a' }])
})
