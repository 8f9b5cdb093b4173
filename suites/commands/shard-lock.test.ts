import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockUrl } from './shard-lock.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-lock-'))
const url = 'http://127.0.0.1:9111'

test('a URL is held by one shard at a time', () => {
  const unlock = lockUrl(url, folder)
  expect(() => lockUrl(url, folder)).toThrow(
    `Cannot run two shards on "${url}" at once: each shard needs an instance of its own`,
  )
  const other = lockUrl('http://127.0.0.1:9112', folder)
  other()
  unlock()
  lockUrl(url, folder)()
  expect(readdirSync(folder)).toEqual([])
})

test('what a process left behind that is gone does not hold it', () => {
  const unlock = lockUrl(url, folder)
  const file = join(folder, readdirSync(folder)[0] ?? '')
  unlock()
  const gone = spawnSync(process.execPath, ['-e', '']).pid
  for (const holder of [String(gone), 'no number', '']) {
    writeFileSync(file, holder)
    lockUrl(url, folder)()
  }
})
