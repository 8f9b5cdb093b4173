import { chmodSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { demandPlaceFor } from './files.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-inputs-'))
const file = join(folder, 'file')
writeFileSync(file, '')

test('checking a writable path changes nothing', () => {
  demandPlaceFor(join(folder, 'new', 'report.json'), 'the report', true)
  demandPlaceFor(file, 'the report', false)
  expect(existsSync(join(folder, 'new'))).toBe(false)
})

test.each([
  ['a folder', folder, true, 'it is a folder'],
  ['below a file', join(file, 'report.json'), true, 'a file stands where a folder should be'],
  ['in a folder that is not made', join(folder, 'no', 'test-keys.json'), false, 'there is no such folder'],
])('%s is no place', (_what, path, makesFolders, reason) => {
  expect(() => demandPlaceFor(path, 'the report', makesFolders)).toThrow(`Cannot write the report "${path}": ${reason}`)
})

const asRoot = process.getuid?.() === 0 ? ' (NOT RUN: root may write everywhere)' : ''
test.skipIf(asRoot !== '')(`nor is a folder that may only be read${asRoot}`, () => {
  const locked = join(folder, 'locked')
  mkdirSync(locked)
  chmodSync(locked, 0o500)
  expect(() => demandPlaceFor(join(locked, 'a', 'report.json'), 'the report', true)).toThrow('it is not allowed')
})
