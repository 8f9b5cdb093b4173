/** Where options come from besides flags: the environment and files. */
import { readFileSync } from 'node:fs'
import { SuiteError } from '../engine/errors.ts'

export interface Environment {
  [name: string]: string | undefined
}

/** @param what as in `Cannot read the private key` @throws SuiteError (`usage`) */
export function readText(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new SuiteError('usage', `Cannot read ${what} "${path}": ${fileProblem(cause, 'file')}`, { cause })
  }
}

/** A variable that is set to nothing, as CI systems do with an absent secret, is not given. */
export function given(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}

/** Why a file could not be read or written, for people. @param missing what is not there: the file, or the folder to write to */
export function fileProblem(cause: unknown, missing: 'file' | 'folder'): string {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
  const sentences: { [code: string]: string } = {
    ENOENT: `there is no such ${missing}`,
    ENOTDIR: `there is no such ${missing}`,
    EISDIR: 'it is a folder',
    EACCES: 'it is not allowed',
    EROFS: 'the disk can only be read',
    ENOSPC: 'the disk is full',
  }
  return sentences[code] ?? code
}
