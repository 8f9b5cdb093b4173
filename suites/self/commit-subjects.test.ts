import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../engine/language/package-root.ts'

const repository = mkdtempSync(join(tmpdir(), 'svc-subjects-'))
const script = join(packageRoot, '.ci/check-subjects.sh')
const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.org', '-c', 'commit.gpgsign=false']

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', [...who, ...args], { cwd: repository, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout.trim()
}

function commit(subject: string): void {
  git('commit', '--quiet', '--allow-empty', '--message', `${subject}\n\n${'A long body. '.repeat(20)}`)
}

function checkSince(since: string): { status: number | null; stdout: string } {
  return spawnSync('sh', [script, since], { cwd: repository, encoding: 'utf8' })
}

test('a subject of 72 characters is accepted, one of 73 is not', () => {
  git('init', '--quiet')
  commit('a'.repeat(80))
  commit('feat: begin')
  const start = git('rev-parse', 'HEAD')
  commit(`feat: ${'x'.repeat(66)}`)
  expect(checkSince(start)).toMatchObject({ status: 0, stdout: '' })
  commit(`feat: ${'x'.repeat(67)}`)
  commit('feat: end')
  const { status, stdout } = checkSince(start)
  expect(status).toBe(1)
  expect(stdout).toContain('Shorten this subject to 72 characters, it has 73: feat: xxx')
  expect(checkSince('0'.repeat(40))).toMatchObject({ status: 0 })
})
