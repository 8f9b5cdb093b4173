import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { CreatedKeys } from '../engine/conversation/conversation.ts'
import {
  earlierKeys,
  type KeysOfTarget,
  openKeysOfTarget,
  readKeyRecord,
  recordHolder,
  recordKeys,
  stateFolder,
  takeLock,
  writableFolder,
  writeKeyRecord,
} from './key-record.ts'

const owner = { url: 'http://a.example', rootId: 'root' }
const bob = { id: 'i', name: 'n', secret: 'a-secret', member: 'bob' }
const { secret: _secret, ...bobWithoutSecret } = bob
const other = { id: 'j', name: 'm' }

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'svc-keys-'))

type Target = Parameters<typeof openKeysOfTarget>[0]

function targetWith(more: Partial<Target> = {}): Target {
  const { url, rootId } = owner
  return {
    url,
    root: { id: rootId },
    stateFolder: newFolder(),
    testKeysFile: null,
    allow: ['keys'],
    disposable: false,
    ...more,
  }
}

function begun(more: Partial<Target> = {}): { file: string; held: KeysOfTarget; keys: CreatedKeys } {
  const held = openKeysOfTarget(targetWith(more))
  return { file: held.record?.file ?? '', held, keys: held.open() }
}

test('a killed run leaves what it created and what it was about to create', () => {
  const { file, keys } = begun()
  keys.note({ intend: 'n' })
  keys.note({ created: bob })
  keys.note({ intend: 'lost' })
  appendFileSync(file, '{"created":{"id":"half')
  expect(readKeyRecord(file)).toEqual({ owner, keys: [bobWithoutSecret], unanswered: ['lost'] })
})

test.skipIf(process.platform === 'win32')('only its owner can read it', () => {
  expect(statSync(begun().file).mode & 0o777).toBe(0o600)
})

test('an entry is on the disk before its call is made, so a key is not created if the disk cannot be written', () => {
  const file = join(newFolder(), 'no-folder', 'keys.jsonl')
  const noted = recordKeys({ file, withSecrets: false })
  expect(() => noted({ kind: 'key-noted', entry: { intend: 'n' } })).toThrow('Cannot write the record of created keys')
})

test.each([
  ['another file', 'hello\n', 'it is not a record that svc-conformance wrote'],
  ['another version', '{"format":"svc-conformance created keys","version":2}\n', 'it has version 2, expected 1'],
  ['a line in the middle that is not JSON', '{"format":"svc-conformance created keys","version":1}\nx\n{}\n', 'line 2'],
])('%s is refused', (_what, text, reason) => {
  const file = join(newFolder(), 'keys.jsonl')
  writeFileSync(file, text)
  expect(() => readKeyRecord(file)).toThrow(reason)
})

test('the keys of another target are not touched', () => {
  const testKeysFile = join(newFolder(), 'keys.jsonl')
  writeKeyRecord(testKeysFile, { owner: { url: 'http://b.example', rootId: 'root' }, keys: [bob], unanswered: [] })
  expect(() => openKeysOfTarget(targetWith({ testKeysFile }))).toThrow(
    `Cannot use the record of created keys "${testKeysFile}": it holds the keys of another target ("http://b.example", key "root"); name another file`,
  )
})

test('the next run finds the keys of an earlier one, and shortens the record', () => {
  const target = targetWith()
  const first = openKeysOfTarget(target)
  first.open().note({ intend: 'lost' })
  first.close([bob, other])
  const { held, keys, file } = begun(target)
  expect(held.read()).toMatchObject({ keys: [bob, other], unanswered: ['lost'] })
  keys.note({ removed: 'i' })
  keys.note({ created: { id: 'k', name: 'new' } })
  expect(held.read().keys.map(({ id }) => id)).toEqual(['j', 'k'])
  held.close([other])
  expect(readKeyRecord(file)?.keys).toEqual([other])
})

test('a record whose keys are all removed is deleted, and so is its lock', () => {
  const { held, file } = begun()
  held.close([])
  expect([existsSync(file), existsSync(`${file}.lock`)]).toEqual([false, false])
})

test('keys of earlier runs do not exist on a fresh instance, and its own are not recorded after the run', () => {
  const target = targetWith()
  openKeysOfTarget(target).close([other])
  const { held, file } = begun({ ...target, disposable: true })
  expect(held.read().keys).toEqual([])
  held.close([other])
  expect(existsSync(file)).toBe(false)
})

test('test keys are kept, with their secrets, only if the target file names a file for them', () => {
  const testKeysFile = join(newFolder(), 'test-keys.jsonl')
  const { held, keys } = begun({ testKeysFile })
  keys.note({ created: bob })
  expect([held.isKept(bob), held.isKept(other)]).toEqual([true, false])
  held.close([bob])
  expect(earlierKeys(targetWith({ testKeysFile })).keys).toEqual([bob])
  const without = begun()
  without.keys.note({ created: bob })
  expect(readFileSync(without.file, 'utf8')).not.toContain('a-secret')
})

test('a record whose process is alive is never touched', async () => {
  const target = targetWith()
  const { held, file } = begun(target)
  held.close([other])
  const living = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
  await once(living, 'spawn')
  writeFileSync(`${file}.lock`, JSON.stringify({ pid: living.pid, born: '' }))
  expect(() => openKeysOfTarget(target)).toThrow(`process ${living.pid} runs there with the same key "root"`)
  expect(recordHolder(file)).toBe(living.pid)
  expect(readKeyRecord(file)?.keys).toEqual([other])
  living.kill('SIGKILL')
  await once(living, 'exit')
  expect(recordHolder(file)).toBeNull()
  openKeysOfTarget(target).close([])
})

test('a lock also excludes the process that holds it, until it is released', () => {
  const file = join(newFolder(), 'a.lock')
  const lock = takeLock(file)
  expect(takeLock(file)).toMatchObject({ holder: { pid: process.pid } })
  if ('release' in lock) lock.release()
  expect(takeLock(file)).toHaveProperty('release')
})

test.skipIf(process.platform !== 'linux')('a new process with the id of a dead one holds no lock', () => {
  const file = join(newFolder(), 'a.lock')
  writeFileSync(file, JSON.stringify({ pid: process.pid, born: '1' }))
  expect(takeLock(file)).toHaveProperty('release')
})

test.each([
  [{ XDG_STATE_HOME: '/state' }, 'linux', join('/state', 'svc-conformance')],
  [{}, 'linux', join('/home/me', '.local', 'state', 'svc-conformance')],
  [{ XDG_STATE_HOME: '' }, 'darwin', join('/home/me', '.local', 'state', 'svc-conformance')],
  [{ LOCALAPPDATA: '/data' }, 'win32', join('/data', 'svc-conformance')],
])('%j on %s', (env, platform, folder) => {
  expect(stateFolder(env, platform, '/home/me')).toBe(folder)
})

test('the folder is created, or another one is used if that is impossible', () => {
  const place = mkdtempSync(join(tmpdir(), 'svc-state-'))
  const folder = join(place, 'deep', 'state')
  expect(writableFolder(folder)).toBe(folder)
  expect(existsSync(folder)).toBe(true)
  writeFileSync(join(place, 'file'), '')
  const instead = writableFolder(join(place, 'file', 'state'), place)
  expect(instead).toMatch(/svc-conformance-\d+$/)
  expect(existsSync(instead)).toBe(true)
})
