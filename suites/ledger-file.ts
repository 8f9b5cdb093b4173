import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Ledger, type LedgerEntry, openLedger } from './engine/ledger.ts'

const ownerOnly = 0o600

/** A ledger that survives its process: one JSON line per entry, readable by its owner alone, written before the call it is about. */
export function openLedgerFile(file: string): Ledger {
  const earlier = existsSync(file) ? readEntries(file) : []
  if (!existsSync(file)) writeFileSync(file, '', { mode: ownerOnly })
  return openLedger((entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`), earlier)
}

function readEntries(file: string): LedgerEntry[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LedgerEntry)
}
