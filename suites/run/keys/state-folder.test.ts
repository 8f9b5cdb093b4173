import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stateFolder, writableFolder } from './state-folder.ts'

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
