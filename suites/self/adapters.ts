/** The clients of fixtures/clients/ as test clients: right ones, in three languages. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../engine/language/package-root.ts'
import type { TestClient } from './clients/catalogue.ts'

const folder = join(packageRoot, 'fixtures', 'clients')
/** Node 20 runs no TypeScript; the build has compiled it. */
const compiled = join(packageRoot, 'dist', 'fixtures', 'clients', 'typescript', 'adapter.js')

const adapter = (id: string, about: string, ...command: string[]): TestClient => ({
  id,
  kind: 'right',
  auth: ['hmac', 'ecc', 'basic', 'token'],
  about,
  command,
})

/** Those whose language is on this machine; `missing` names the others. */
export function loadAdapters(): { adapters: TestClient[]; missing: string[] } {
  const adapters: TestClient[] = []
  const missing: string[] = []
  if (runs('python3', '-c', 'import cryptography'))
    adapters.push(adapter('in-python', 'The client in Python', 'python3', '-B', join(folder, 'python', 'adapter.py')))
  else missing.push('Python with cryptography')
  const program = join(mkdtempSync(join(tmpdir(), 'svc-adapters-')), 'adapter-in-go')
  if (runs('go', 'build', '-C', join(folder, 'go'), '-o', program, '.'))
    adapters.push(adapter('in-go', 'The client in Go', program))
  else missing.push('Go')
  if (existsSync(compiled))
    adapters.push(adapter('in-typescript', 'The client in TypeScript', process.execPath, compiled))
  else missing.push('a build of the client in TypeScript')
  return { adapters, missing }
}

function runs(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
