import { expect, test } from 'vitest'
import { systemAdvice } from './system-errors.ts'

const errorOf = (code: string, syscall: string) => Object.assign(new Error(`${code}: …`), { code, syscall })

test.each([
  ['EMFILE', 'open', 'Raise the limit of open files'],
  ['ENOSPC', 'write', 'Free some space'],
  ['EACCES', 'mkdtemp', 'Set TMPDIR'],
  ['ENOENT', 'mkdtemp', 'Set TMPDIR'],
  ['EROFS', 'open', 'read-only'],
  ['ENOENT', 'uv_cwd', 'Change to another folder'],
])('%s of %s has advice', (code, syscall, advice) => {
  expect(systemAdvice(errorOf(code, syscall))).toContain(advice)
})

test('any other error may be a defect', () => {
  expect(systemAdvice(new TypeError('x is not a function'))).toBeNull()
  expect(systemAdvice(errorOf('ENOENT', 'open'))).toBeNull()
  expect(systemAdvice(null)).toBeNull()
})
