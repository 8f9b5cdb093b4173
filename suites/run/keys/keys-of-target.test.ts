import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyRecordFile, readKeyRecord, writeKeyRecord } from './key-record.ts'
import { earlierKeys, type KeysOfTargetOptions, openKeysOfTarget, recordHolder } from './keys-of-target.ts'
import { takeLock } from './process-lock.ts'

const owner = { url: 'http://a.example', rootId: 'root' }
const bob = { id: 'i', name: 'n', member: 'bob' }
const other = { id: 'j', name: 'm' }

function options(more: Partial<KeysOfTargetOptions> = {}): KeysOfTargetOptions {
  const folder = mkdtempSync(join(tmpdir(), 'svc-keys-'))
  return { owner, folder, testKeysFile: null, mayCreate: true, fresh: false, ...more }
}

test('the next run finds the keys of an earlier one, and shortens the record', () => {
  const mine = options()
  const file = keyRecordFile(mine.folder, owner)
  writeKeyRecord(file, { owner, keys: [bob, other], unanswered: ['lost'] })
  const keys = openKeysOfTarget(mine)
  expect(keys.read()).toMatchObject({ keys: [bob, other], unanswered: ['lost'] })
  keys.listener({ kind: 'key-noted', entry: { removed: 'i' } })
  keys.listener({ kind: 'key-noted', entry: { created: { id: 'k', name: 'new' } } })
  expect(keys.read().keys.map(({ id }) => id)).toEqual(['j', 'k'])
  keys.close([other])
  expect(readKeyRecord(file)?.keys).toEqual([other])
})

test('a record whose keys are all removed is deleted, and so is its lock', () => {
  const mine = options()
  openKeysOfTarget(mine).close([])
  const file = keyRecordFile(mine.folder, owner)
  expect([existsSync(file), existsSync(`${file}.lock`)]).toEqual([false, false])
})

test('keys of earlier runs do not exist on a fresh instance', () => {
  const mine = options({ fresh: true })
  writeKeyRecord(keyRecordFile(mine.folder, owner), { owner, keys: [other], unanswered: [] })
  expect(openKeysOfTarget(mine).read().keys).toEqual([])
})

test('test keys are kept if the target file names a file for them', () => {
  const testKeysFile = join(mkdtempSync(join(tmpdir(), 'svc-keys-')), 'test-keys.jsonl')
  const keys = openKeysOfTarget(options({ testKeysFile }))
  expect([keys.isKept(bob), keys.isKept(other), keys.record?.withSecrets]).toEqual([true, false, true])
  keys.close([bob])
  expect(earlierKeys(options({ testKeysFile })).keys).toEqual([bob])
})

test('a record whose process is alive is never touched', async () => {
  const mine = options()
  const file = keyRecordFile(mine.folder, owner)
  writeKeyRecord(file, { owner, keys: [other], unanswered: [] })
  const living = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(living, 'spawn')
  writeFileSync(`${file}.lock`, JSON.stringify({ pid: living.pid, born: '' }))
  expect(() => openKeysOfTarget(mine)).toThrow(`process ${living.pid} runs there with the same key "root"`)
  expect(recordHolder(file)).toBe(living.pid)
  expect(readKeyRecord(file)?.keys).toEqual([other])
  living.kill('SIGKILL')
  await once(living, 'exit')
  expect(recordHolder(file)).toBeNull()
  openKeysOfTarget(mine).close([])
})

test('a lock also excludes the process that holds it, until it is released', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-lock-')), 'a.lock')
  const lock = takeLock(file)
  expect(takeLock(file)).toMatchObject({ holder: { pid: process.pid } })
  if ('release' in lock) lock.release()
  expect(takeLock(file)).toHaveProperty('release')
})

test.skipIf(process.platform !== 'linux')('a new process with the id of a dead one holds no lock', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-lock-')), 'a.lock')
  writeFileSync(file, JSON.stringify({ pid: process.pid, born: '1' }))
  expect(takeLock(file)).toHaveProperty('release')
})
