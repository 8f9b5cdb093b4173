import {
  type CreatedKey,
  type CreatedKeys,
  type CreatedKeysEntry,
  openCreatedKeys,
  type RunListener,
} from '../../engine/conversation/conversation.ts'
import { type SuiteError, usageError } from '../../engine/errors.ts'
import {
  beginKeyRecord,
  demandOwner,
  type KeyRecord,
  type KeyRecordOwner,
  keyRecordFile,
  readKeyRecord,
  recordKeys,
  writeKeyRecord,
} from './key-record.ts'
import { lockHolder, takeLock } from './process-lock.ts'
import { writableFolder } from './state-folder.ts'

/** How a run treats the keys that it and earlier runs created on a target. */
export interface KeysOfTargetOptions {
  owner: KeyRecordOwner
  /** The folder of the records. */
  folder: string
  /** `testKeys` of the target file: the path of the record; the test keys are then kept. */
  testKeysFile: string | null
  /** The run may create keys. */
  mayCreate: boolean
  /** The target is fresh, so keys of earlier runs are gone. */
  fresh: boolean
}

/** The record of created keys, held by one run. */
export interface KeysOfTarget {
  /** What the worker needs to continue the record; null if this run creates nothing. */
  record: { file: string; withSecrets: boolean } | null
  listener: RunListener
  read(): Pick<KeyRecord, 'keys' | 'unanswered'>
  /** Whether a key is a test key that is kept for the next run. */
  isKept(key: CreatedKey): boolean
  /** Writes the keys that are still on the target into the record, and releases it. */
  close(left: readonly CreatedKey[]): void
}

const nothing = { keys: [], unanswered: [] }

/** The keys that earlier runs left on a target, according to the record; empty without a record. @throws SuiteError (`usage`) */
export function earlierKeys(options: KeysOfTargetOptions): Pick<KeyRecord, 'keys' | 'unanswered'> {
  if (options.fresh && options.testKeysFile === null) return nothing
  const file = fileOf(options)
  const record = readKeyRecord(file)
  if (record === null) return nothing
  demandOwner(file, record, options.owner)
  return record
}

/**
 * Locks the record of a target and its root key for this run, so that no other run uses up the same places for keys.
 *
 * @throws SuiteError (`usage`) if another run holds it, or it cannot be read or written
 */
export function openKeysOfTarget(options: KeysOfTargetOptions): KeysOfTarget {
  const { owner, testKeysFile } = options
  const folder = testKeysFile === null && options.mayCreate ? writableFolder(options.folder) : options.folder
  const file = fileOf({ ...options, folder })
  const withSecrets = testKeysFile !== null
  const isThrownAway = options.fresh && testKeysFile === null
  const isKept = ({ member }: CreatedKey): boolean => withSecrets && member !== undefined
  if (!options.mayCreate) {
    const found = earlierKeys(options)
    return { record: null, listener: () => {}, read: () => found, isKept, close: () => {} }
  }
  const lock = takeLock(lockFile(file))
  if ('holder' in lock) throw inUse(owner, lock.holder.pid)
  try {
    const found = earlierKeys({ ...options, folder })
    writeKeyRecord(file, { owner, ...found })
    beginKeyRecord(file, owner)
  } catch (error) {
    lock.release()
    throw error
  }
  const read = (): Pick<KeyRecord, 'keys' | 'unanswered'> => readKeyRecord(file) ?? nothing
  return {
    record: { file, withSecrets },
    listener: recordKeys({ file, withSecrets }),
    read,
    isKept,
    close: (left) => {
      try {
        // A disposable instance is thrown away with its keys.
        const record = isThrownAway ? nothing : { keys: left, unanswered: read().unanswered }
        writeKeyRecord(file, { owner, ...record })
      } finally {
        lock.release()
      }
    },
  }
}

/** The id of the running process that holds a record; null if none does. */
export function recordHolder(file: string): number | null {
  return lockHolder(lockFile(file))?.pid ?? null
}

/** The entries with which a worker continues a record. */
export function asEntries({ keys, unanswered }: Pick<KeyRecord, 'keys' | 'unanswered'>): CreatedKeysEntry[] {
  return [...keys.map((created) => ({ created })), ...unanswered.map((intend) => ({ intend }))]
}

/** The created keys of a target, which continue its record. */
export const openRecordedKeys = (keys: Pick<KeysOfTarget, 'listener' | 'read'>): CreatedKeys =>
  openCreatedKeys((entry) => keys.listener({ kind: 'key-noted', entry }), asEntries(keys.read()))

const fileOf = ({ testKeysFile, folder, owner }: KeysOfTargetOptions): string =>
  testKeysFile ?? keyRecordFile(folder, owner)

const lockFile = (file: string): string => `${file}.lock`

function inUse({ url, rootId }: KeyRecordOwner, pid: number): SuiteError {
  return usageError(
    `Cannot create API keys at "${url}" now: process ${pid} runs there with the same key "${rootId}", and two runs would use up one another's keys and sessions; wait until it ends, or give each run its own instance and key`,
  )
}
