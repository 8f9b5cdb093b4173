import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { usageError } from '../engine/errors.ts'
import { jsonLine, printable, printableLines } from '../engine/printable.ts'
import { stateFolder } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { stateFolders } from '../run/key-files.ts'
import { readKeyRecord } from '../run/keys.ts'
import { readTargetFile } from '../run/options.ts'
import { writeOut } from './console.ts'

const keysFlags = {
  url: flag.value('--url <url>', 'only keys on this server', flag.baseUrl),
  target: flag.value('--target <file>', 'include the test keys that this target file keeps'),
  json: flag.mark('--json', 'print JSON, without secrets'),
  forget: flag.mark(
    '--forget',
    'delete the records, not the keys: those were removed by hand, or their server is gone',
  ),
}

type FoundRecord = ReturnType<typeof findRecords>[number]

export const command: flag.Command<typeof keysFlags> = {
  about: 'list the API keys that past runs created and did not remove',
  flags: keysFlags,
  run(typed) {
    const { json, forget } = flag.read(keysFlags, typed)
    const records = findRecords(typed)
    if (forget) forgetRecords(records)
    const said = forget && records.length > 0 ? 'Forgotten; nothing was removed from the target:\n' : ''
    writeOut(json ? jsonLine(plain(records), 2) : printableLines(`${said}${text(records)}`))
  },
}

function findRecords(typed: flag.Typed<typeof keysFlags>) {
  const { file, beside } = readTargetFile(typed, process.env)
  const url = flag.read(keysFlags, typed).url ?? (file.url === undefined ? null : flag.baseUrl(file.url))
  const files = [
    ...stateFolders(stateFolder(process.env)).flatMap(keyRecordFiles),
    ...(file.testKeys === undefined ? [] : [beside(file.testKeys)]),
  ]
  return files.flatMap((path) => {
    const record = readKeyRecord(path)
    if (record === null || (url !== null && record.owner.url !== url)) return []
    return [{ ...record, file: path }]
  })
}

/** @throws SuiteError (`usage`) for a record that a run uses now */
function forgetRecords(records: readonly FoundRecord[]): void {
  const inUse = records.find(({ holder }) => holder !== null)
  if (inUse !== undefined) throw usageError(`Cannot forget "${inUse.file}": process ${inUse.holder} uses it now`)
  for (const { file } of records) rmSync(file, { force: true })
}

const plain = (records: readonly FoundRecord[]) =>
  records.map(({ owner, keys, unanswered, file, holder }) => {
    const named = keys.map(({ id, name, member }) => ({ id, name, testKey: member ?? null }))
    return { ...owner, keys: named, unanswered, file, process: holder }
  })

function text(records: readonly FoundRecord[]): string {
  if (records.length === 0)
    return 'No API key of an earlier run is recorded here; a run with --disposable that has ended leaves no record\n'
  return records.map((record) => `${recordLines(record).join('\n')}\n`).join('\n')
}

function recordLines({ owner, keys, unanswered, file, holder }: FoundRecord): string[] {
  return [
    printable(`${owner.url}, created with key "${owner.rootId}"`),
    ...keys.map(({ id, name, member }) =>
      printable(`  API key ${id} ("${name}")${member === undefined ? '' : `, the test key of "${member}"`}`),
    ),
    ...unanswered.map((name) => printable(`  perhaps an API key "${name}": its creation was never answered`)),
    `  ${file}${holder === null ? '' : `, in use by process ${holder}`}`,
  ]
}

/** Every record of a folder. Files that are not ours are left out. */
function keyRecordFiles(folder: string): string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => name.endsWith('.keys.jsonl'))
  return names.sort().map((name) => join(folder, name))
}
