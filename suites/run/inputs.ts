/** Where options come from besides flags: the environment and files. */
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
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

/**
 * Looks whether a file could be written, and writes nothing.
 *
 * @param what as in `Cannot write the report`
 * @param makesFolders missing folders will be made
 * @throws SuiteError (`usage`)
 */
export function demandPlaceFor(file: string, what: string, makesFolders: boolean): void {
  try {
    const there = statSync(file, { throwIfNoEntry: false })
    if (there?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    accessSync(there === undefined ? folderFor(dirname(resolve(file)), makesFolders) : file, constants.W_OK)
  } catch (cause) {
    throw new SuiteError('usage', `Cannot write ${what} "${file}": ${fileProblem(cause, 'folder')}`, { cause })
  }
}

/** The nearest folder that is there. */
function folderFor(folder: string, makesFolders: boolean): string {
  const there = statSync(folder, { throwIfNoEntry: !makesFolders })
  if (there === undefined) return folderFor(dirname(folder), makesFolders)
  if (!there.isDirectory()) throw Object.assign(new Error('a file'), { code: 'EEXIST' })
  return folder
}

/** A variable that is set to nothing, as CI systems do with an absent secret, is not given. */
export function given(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}

const inTheWay = 'a file stands where a folder should be'

/** Why a file could not be read or written, for people. @param missing what is not there: the file, or the folder to write to */
export function fileProblem(cause: unknown, missing: 'file' | 'folder'): string {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
  const sentences: { [code: string]: string } = {
    ENOENT: `there is no such ${missing}`,
    ENOTDIR: missing === 'folder' ? inTheWay : 'there is no such file',
    EISDIR: 'it is a folder',
    EEXIST: inTheWay,
    EACCES: 'it is not allowed',
    EPERM: 'it is not allowed',
    EROFS: 'the disk can only be read',
    ENOSPC: 'the disk is full',
  }
  return sentences[code] ?? code
}
