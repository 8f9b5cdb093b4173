import { createHash } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SuiteError } from '../engine/errors.ts'

/**
 * Holds a URL for one shard, so that two of them never use up one another's keys and sessions.
 *
 * @returns gives the URL back
 * @throws SuiteError (`usage`) when a living process on this machine holds it
 */
export function lockUrl(url: string, folder = tmpdir()): () => void {
  const name = createHash('sha256').update(url).digest('hex').slice(0, 16)
  const file = join(folder, `svc-conformance-${name}.lock`)
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
  } catch {
    if (isAlive(holderOf(file)))
      throw new SuiteError(
        'usage',
        `Cannot run two shards on "${url}" at once: each shard needs an instance of its own (remove "${file}" if no other shard is running)`,
      )
    writeFileSync(file, String(process.pid))
  }
  return () => rmSync(file, { force: true })
}

function holderOf(file: string): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return Number.NaN
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
