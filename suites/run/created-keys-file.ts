import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type CreatedKeys, type CreatedKeysEntry, openCreatedKeys } from '../engine/case/created-keys.ts'

const ownerOnly = 0o600

/** A created keys that survives its process: one JSON line per entry, readable by its owner alone, written before the call it is about. */
export function openCreatedKeysFile(file: string): CreatedKeys {
  const earlier = existsSync(file) ? readEntries(file) : []
  if (!existsSync(file)) writeFileSync(file, '', { mode: ownerOnly })
  return openCreatedKeys((entry) => appendFileSync(file, `${JSON.stringify(entry)}\n`), earlier)
}

function readEntries(file: string): CreatedKeysEntry[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CreatedKeysEntry)
}
