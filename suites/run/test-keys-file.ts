import { existsSync, writeFileSync } from 'node:fs'
import type { CreatedKey } from '../engine/case/created-keys.ts'
import { SuiteError } from '../engine/errors.ts'
import { readText } from './inputs.ts'
import type { RunOptions } from './options.ts'

const ownerOnly = 0o600

interface TestKeysFile {
  note: string
  url: string
  rootId: string
  keys: CreatedKey[]
}

/**
 * The keys that an earlier run kept for this target and root key; none where there is no file yet, or it is about another target.
 *
 * @throws SuiteError (`usage`) for a file that cannot be read, (`target-file`) for one that is not ours
 */
export function readCastFile(file: string, url: string, rootId: string): CreatedKey[] {
  if (!existsSync(file)) return []
  const text = readText(file, 'the kept test keys')
  try {
    const kept = JSON.parse(text) as TestKeysFile
    if (typeof kept.url !== 'string' || !Array.isArray(kept.keys)) throw new TypeError('not a file of kept test keys')
    return kept.url === url && kept.rootId === rootId ? kept.keys : []
  } catch (cause) {
    throw new SuiteError(
      'target-file',
      `Cannot read the kept test keys "${file}": it is not JSON that this suite wrote; remove it to create new keys`,
      { cause },
    )
  }
}

/** Writes the keys with their secrets, readable by the owner alone. */
export function writeTestKeysFile(file: string, url: string, rootId: string, keys: readonly CreatedKey[]): void {
  const kept: TestKeysFile = {
    note: 'API keys that svc-conformance created and keeps for its next run. They are secret.',
    url,
    rootId,
    keys: [...keys],
  }
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`, { mode: ownerOnly })
}

/** The keys that the options name a file for; none for the bundled server. */
export function keptTestKeys({ testKeysFile, url, root }: RunOptions): CreatedKey[] {
  return testKeysFile === null || url === null || root === null ? [] : readCastFile(testKeysFile, url, root.id)
}
