import { chmodSync, existsSync, lstatSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openFolder } from '../self/temporary.ts'
import { demandPlaceFor, isSameFile, replaceFile } from './files.ts'

const { folder, at, read, write } = openFolder()
const file = write('file', '')

test('checking a writable path changes nothing', () => {
  demandPlaceFor(at('new', 'report.json'), 'the report', true)
  demandPlaceFor(file, 'the report', false)
  expect(existsSync(at('new'))).toBe(false)
})

test.each([
  ['a folder', folder, true, 'it is a folder'],
  ['below a file', join(file, 'report.json'), true, 'a file stands where a folder should be'],
  ['in a folder that is not made', at('no', 'test-keys.json'), false, 'there is no such folder'],
])('%s is no place', (_what, path, makesFolders, reason) => {
  expect(() => demandPlaceFor(path, 'the report', makesFolders)).toThrow(`Cannot write the report "${path}": ${reason}`)
})

test('a link stays a link, also one to a file that is not there yet', () => {
  symlinkSync('later/report.json', at('ahead'))
  demandPlaceFor(at('ahead'), 'the report', true)
  expect(() => demandPlaceFor(at('ahead'), 'the baseline', false)).toThrow('there is no such folder')
  for (const text of ['first', 'second']) {
    replaceFile(at('ahead'), text, 'the report')
    expect([lstatSync(at('ahead')).isSymbolicLink(), read('later/report.json')]).toEqual([true, text])
  }
})

test('links in a circle are no place, and not the same one', () => {
  symlinkSync('back', at('forth'))
  symlinkSync('forth', at('back'))
  expect(() => demandPlaceFor(at('forth'), 'the report', true)).toThrow('it is a symbolic link to itself')
  expect(isSameFile(at('forth'), at('other'))).toBe(false)
})

const asRoot = process.getuid?.() === 0 ? ' (NOT RUN: root may write everywhere)' : ''
test.skipIf(asRoot !== '')(`nor is a folder that may only be read${asRoot}`, () => {
  const locked = at('locked')
  mkdirSync(locked)
  chmodSync(locked, 0o500)
  expect(() => demandPlaceFor(join(locked, 'a', 'report.json'), 'the report', true)).toThrow('it is not allowed')
})
