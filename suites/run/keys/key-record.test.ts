import { appendFileSync, chmodSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openCreatedKeys } from '../../engine/conversation/conversation.ts'
import { beginKeyRecord, demandOwner, keyRecordFile, readKeyRecord, recordKeys, writeKeyRecord } from './key-record.ts'

const owner = { url: 'http://a.example', rootId: 'root' }
const otherOwner = { url: 'http://b.example', rootId: 'root' }
const place = (): string => join(mkdtempSync(join(tmpdir(), 'svc-key-record-')), 'deep', 'keys.jsonl')
const key = { id: 'i', name: 'n', secret: 'a-secret', member: 'bob' }

function begun(withSecrets = false): { file: string; keys: ReturnType<typeof openCreatedKeys> } {
  const file = place()
  beginKeyRecord(file, owner)
  const listener = recordKeys({ file, withSecrets })
  return { file, keys: openCreatedKeys((entry) => listener({ kind: 'key-noted', entry })) }
}

test('a killed run leaves what it created and what it was about to create', () => {
  const { file, keys } = begun()
  keys.intend('n')
  keys.created(key)
  keys.intend('lost')
  appendFileSync(file, '{"created":{"id":"half')
  expect(readKeyRecord(file)).toEqual({
    owner,
    keys: [{ id: 'i', name: 'n', member: 'bob' }],
    unanswered: ['lost'],
  })
})

test('it contains secrets only if the next run will use the keys', () => {
  const without = begun()
  without.keys.created(key)
  expect(readFileSync(without.file, 'utf8')).not.toContain('a-secret')
  const kept = begun(true)
  kept.keys.created(key)
  expect(readKeyRecord(kept.file)?.keys).toEqual([key])
})

test.skipIf(process.platform === 'win32')('only its owner can read it, even if others could before', () => {
  const { file } = begun()
  expect(statSync(file).mode & 0o777).toBe(0o600)
  chmodSync(file, 0o644)
  beginKeyRecord(file, owner)
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('an entry is on the disk before its call is made, so a key is not created if the disk cannot be written', () => {
  const listener = recordKeys({ file: join(place(), 'no-folder'), withSecrets: false })
  const keys = openCreatedKeys((entry) => listener({ kind: 'key-noted', entry }))
  expect(() => keys.intend('n')).toThrow('Cannot write the record of created keys')
  expect(keys.unanswered).toEqual([])
})

test('a record without keys is removed', () => {
  const { file } = begun()
  writeKeyRecord(file, { owner, keys: [key], unanswered: [] })
  expect(readKeyRecord(file)?.keys).toEqual([key])
  writeKeyRecord(file, { owner, keys: [], unanswered: [] })
  expect(existsSync(file)).toBe(false)
  expect(readKeyRecord(file)).toBeNull()
})

test.each([
  ['another file', 'hello\n', 'it is not a record that svc-conformance wrote'],
  ['another version', '{"format":"svc-conformance created keys","version":2}\n', 'it has version 2, expected 1'],
  ['a line in the middle that is not JSON', '{"format":"svc-conformance created keys","version":1}\nx\n{}\n', 'line 2'],
])('%s is refused', (_what, text, reason) => {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-key-record-')), 'keys.jsonl')
  writeFileSync(file, text)
  expect(() => readKeyRecord(file)).toThrow(reason)
})

test('the keys of another target are not touched', () => {
  const record = { owner: otherOwner, keys: [key], unanswered: [] }
  expect(() => demandOwner('keys.jsonl', record, owner)).toThrow(
    'Cannot use the record of created keys "keys.jsonl": it holds the keys of another target ("http://b.example", key "root"); name another file',
  )
  expect(keyRecordFile('/state', owner)).not.toBe(keyRecordFile('/state', otherOwner))
})
