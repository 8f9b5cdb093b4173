import { randomBytes } from 'node:crypto'
import { constants, copyFileSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../make-folder.ts'

/** The process that holds a lock. */
interface Holder {
  pid: number
  /** Tells a process from a later one with the same id, if the system supports it; otherwise empty. */
  born: string
}

/**
 * Takes a lock file for this process, also one that a dead process left.
 *
 * @returns a function that releases the lock, or the running process that holds it
 */
export function takeLock(file: string): { release: () => void } | { holder: Holder } {
  makeFolder(dirname(file), 0o700)
  const mine = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(mine, JSON.stringify({ pid: process.pid, born: bornOf(process.pid) } satisfies Holder), { mode: 0o600 })
  try {
    for (;;) {
      try {
        placeLock(mine, file)
        return { release: () => rmSync(file, { force: true }) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        const holder = lockHolder(file)
        if (holder !== null) return { holder }
        rmSync(file, { force: true })
      }
    }
  } finally {
    rmSync(mine, { force: true })
  }
}

/** Creates a complete lock file in one step, so that no process reads half of it. @throws if it exists already */
function placeLock(from: string, file: string): void {
  try {
    linkSync(from, file)
  } catch (error) {
    if (!withoutLinks.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    copyFileSync(from, file, constants.COPYFILE_EXCL)
  }
}

/** The error codes of file systems without hard links. */
const withoutLinks = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

/** The running process that holds a lock; null if none does. */
export function lockHolder(file: string): Holder | null {
  try {
    const holder = JSON.parse(readFileSync(file, 'utf8')) as Holder
    return isAlive(holder) ? holder : null
  } catch {
    return null
  }
}

function isAlive({ pid, born }: Holder): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return born === '' || bornOf(pid) === born
}

/** When a process started, in ticks of the system; empty if the system does not say. */
function bornOf(pid: number): string {
  try {
    // The second field is a name in parentheses that may contain spaces; the 22nd is the start time.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? ''
  } catch {
    return ''
  }
}
