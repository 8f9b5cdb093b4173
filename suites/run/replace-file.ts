import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { usageError } from '../engine/errors.ts'
import { makeFolder } from './make-folder.ts'
import { fileProblem } from './options/inputs.ts'

/**
 * Writes a new file next to the old one and then renames it, so that a full disk or a killed process leaves the old file intact. Creates
 * missing folders. A path that is not a file, such as /dev/stderr, is written directly.
 *
 * @param what as in `Cannot write the report`
 * @throws SuiteError (`usage`)
 */
export function replaceFile(file: string, text: string, what: string): void {
  try {
    makeFolder(dirname(file))
    const there = statSync(file, { throwIfNoEntry: false })
    if (there !== undefined && !there.isFile()) writeFileSync(file, text)
    // A symbolic link stays a link.
    else writeBeside(there === undefined ? file : realpathSync(file), text, there?.mode)
  } catch (cause) {
    throw usageError(`Cannot write ${what} "${file}": ${fileProblem(cause, 'folder')}`, { cause })
  }
}

function writeBeside(file: string, text: string, mode: number | undefined): void {
  const temporary = `${file}.${process.pid}.tmp`
  try {
    const descriptor = openSync(temporary, 'w', mode ?? 0o666)
    try {
      writeFileSync(descriptor, text)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}
