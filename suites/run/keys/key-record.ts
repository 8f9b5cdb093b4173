/**
 * The record of created keys: one file for each target and root key. It survives every end of a run. A header line, then one JSON
 * line for each entry, written to the disk before the call that it describes.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import {
  type CreatedKey,
  type CreatedKeysEntry,
  openCreatedKeys,
  type RunListener,
} from '../../engine/conversation/conversation.ts'
import { type SuiteError, usageError } from '../../engine/errors.ts'
import { parseJson } from '../../engine/json.ts'
import { makeFolder } from '../make-folder.ts'
import { fileProblem, readText } from '../options/inputs.ts'

const ownerOnly = 0o600
const ownerOnlyFolder = 0o700
const format = 'svc-conformance created keys'
const version = 1

/** The target and root key that a record belongs to. */
export interface KeyRecordOwner {
  url: string
  rootId: string
}

/** The content of a record: existing keys, and names of creations whose answer was lost. */
export interface KeyRecord {
  owner: KeyRecordOwner
  keys: readonly CreatedKey[]
  unanswered: readonly string[]
}

interface Header extends KeyRecordOwner {
  format: string
  version: number
  note: string
}

/** The file of a target and its root key in the state folder. */
export function keyRecordFile(folder: string, { url, rootId }: KeyRecordOwner): string {
  const name = createHash('sha256').update(`${url}\n${rootId}`).digest('hex').slice(0, 24)
  return join(folder, `${name}.keys.jsonl`)
}

/** Every record of the state folder. Files that are not ours are left out. */
export function keyRecordFiles(folder: string): string[] {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder).filter((name) => name.endsWith('.keys.jsonl'))
  return names.sort().map((name) => join(folder, name))
}

/**
 * @returns null if the file does not exist
 *
 * @throws SuiteError (`usage`) for a file that cannot be read, or that is not a record of this version
 */
export function readKeyRecord(file: string): KeyRecord | null {
  if (!existsSync(file)) return null
  const [first = '', ...lines] = readText(file, 'the record of created keys').split('\n')
  const header = parseJson(first) as Header | undefined
  if (header?.format !== format) throw unusable(file, 'it is not a record that svc-conformance wrote')
  if (header.version !== version) throw unusable(file, `it has version ${header.version}, expected ${version}`)
  const entries: CreatedKeysEntry[] = []
  for (const [index, line] of lines.entries()) {
    const entry = parseJson(line) as CreatedKeysEntry | undefined
    if (entry !== undefined) entries.push(entry)
    // A killed process may have left half of its last line.
    else if (line !== '' && index < lines.length - 1) throw unusable(file, `line ${index + 2} is not JSON`)
  }
  const { keys, unanswered } = openCreatedKeys(() => {}, entries)
  return { owner: { url: header.url, rootId: header.rootId }, keys, unanswered }
}

/** @throws SuiteError (`usage`) where the record is about another target or root key */
export function demandOwner(file: string, record: KeyRecord, owner: KeyRecordOwner): void {
  const { url, rootId } = record.owner
  if (url !== owner.url || rootId !== owner.rootId)
    throw unusable(file, `it holds the keys of another target ("${url}", key "${rootId}"); name another file`)
}

/** Replaces a record, or removes it if no keys are left. @throws SuiteError (`usage`) */
export function writeKeyRecord(file: string, { owner, keys, unanswered }: KeyRecord): void {
  if (keys.length === 0 && unanswered.length === 0) {
    rmSync(file, { force: true })
    return
  }
  const header: Header = {
    format,
    version,
    note: 'API keys that svc-conformance created and did not remove. They may be secret.',
    ...owner,
  }
  const entries: CreatedKeysEntry[] = [
    ...keys.map((created) => ({ created })),
    ...unanswered.map((intend) => ({ intend })),
  ]
  const temporary = `${file}.${process.pid}.tmp`
  try {
    makeFolder(dirname(file), ownerOnlyFolder)
    writeDurably(temporary, 'w', [header, ...entries])
    renameSync(temporary, file)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw unwritable(file, cause)
  }
}

/** Starts a record, or continues an existing one. @throws SuiteError (`usage`) */
export function beginKeyRecord(file: string, owner: KeyRecordOwner): void {
  try {
    makeFolder(dirname(file), ownerOnlyFolder)
    if (existsSync(file)) {
      chmodSync(file, ownerOnly)
      return
    }
    const note = 'API keys that svc-conformance created. They may be secret.'
    writeDurably(file, 'wx', [{ format, version, note, ...owner } satisfies Header])
  } catch (cause) {
    throw unwritable(file, cause)
  }
}

/**
 * Returns a listener that appends entries about created keys. An entry is on the disk when the listener returns, so a full disk prevents
 * the creation.
 *
 * @param record `withSecrets`: the next run will use the keys
 */
export function recordKeys({ file, withSecrets }: { file: string; withSecrets: boolean }): RunListener {
  return (event) => {
    if (event.kind !== 'key-noted') return
    try {
      writeDurably(file, 'a', [withSecrets ? event.entry : withoutSecrets(event.entry)])
    } catch (cause) {
      throw unwritable(file, cause)
    }
  }
}

function withoutSecrets(entry: CreatedKeysEntry): CreatedKeysEntry {
  if (!('created' in entry)) return entry
  const { secret: _secret, privateKey: _privateKey, ...created } = entry.created
  return { created }
}

function writeDurably(file: string, flags: 'a' | 'w' | 'wx', lines: readonly object[]): void {
  const descriptor = openSync(file, flags, ownerOnly)
  try {
    writeSync(descriptor, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const unusable = (file: string, why: string): SuiteError =>
  usageError(`Cannot use the record of created keys "${file}": ${why}`)

const unwritable = (file: string, cause: unknown): SuiteError =>
  usageError(`Cannot write the record of created keys "${file}": ${fileProblem(cause, 'folder')}`, {
    cause,
  })
