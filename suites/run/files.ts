/** The files that a user names, and the environment: reading, checking and writing them, with the errors that a user understands. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { SuiteError, usageError } from '../engine/errors.ts'

/** Treats an empty variable as unset, because CI systems set an absent secret to an empty text. */
export function given(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}

/** The folder for data that must outlive a run: the user's state folder (XDG base directories; LOCALAPPDATA on Windows). */
export function stateFolder(
  env: NodeJS.ProcessEnv,
  platform: string = process.platform,
  home: string = homedir(),
): string {
  const localData = platform === 'win32' ? given(env.LOCALAPPDATA) : undefined
  return join(given(env.XDG_STATE_HOME) ?? localData ?? join(home, '.local', 'state'), 'svc-conformance')
}

const mebibyte = 2 ** 20
/** The maximum size of a file that a person writes. */
const longestInput = 4 * mebibyte

/**
 * Reads a file that the user named. It must be a file, or a pipe that the shell opened, and must not be too long.
 *
 * @param what as in `Cannot read the private key`
 * @throws SuiteError (`usage`)
 */
export function readText(path: string, what: string, longest: number = longestInput): string {
  return readBytes(path, what, longest).toString('utf8')
}

/** The same as bytes. @throws SuiteError (`usage`) */
export function readBytes(path: string, what: string, longest: number): Buffer {
  const fail = (why: string, cause?: unknown): SuiteError =>
    usageError(`Cannot read ${what} "${path}": ${why}`, { cause })
  try {
    const found = statSync(path)
    if (found.isDirectory()) throw fail(folderInstead)
    // Opening a named pipe waits for a writer; a pipe from `<(command)` of a shell is already open.
    if (!found.isFile() && !opened.test(path)) throw fail('it is not a file')
    const bytes = readAtMost(openSync(path, 'r'), longest + 1)
    if (bytes.length > longest) throw fail(`it is longer than ${longest / mebibyte} MiB`)
    return bytes
  } catch (error) {
    throw error instanceof SuiteError ? error : fail(fileProblem(error, 'file'), error)
  }
}

const opened = /^\/(?:dev\/(?:fd\/\d+|stdin)|proc\/(?:self|\d+)\/fd\/\d+)$/

/** Reads standard input to its end. @throws SuiteError (`usage`) if it is too long */
export function readStandardInput(longest: number): Buffer {
  const bytes = readAtMost(0, longest + 1)
  if (bytes.length > longest)
    throw usageError(`Cannot read standard input: it is longer than ${longest / mebibyte} MiB`)
  return bytes
}

function readAtMost(descriptor: number, longest: number): Buffer {
  try {
    const chunks: Buffer[] = []
    for (let length = 0; length < longest; ) {
      const chunk = Buffer.alloc(Math.min(longest - length, mebibyte))
      const count = readSync(descriptor, chunk)
      if (count === 0) break
      chunks.push(chunk.subarray(0, count))
      length += count
    }
    return Buffer.concat(chunks)
  } finally {
    if (descriptor !== 0) closeSync(descriptor)
  }
}

/**
 * Checks that a file can be written, without writing it.
 *
 * @param what as in `Cannot write the report`
 * @param makesFolders missing folders will be created
 * @throws SuiteError (`usage`)
 */
export function demandPlaceFor(file: string, what: string, makesFolders: boolean): void {
  try {
    const there = statSync(file, { throwIfNoEntry: false })
    if (there?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    accessSync(there === undefined ? folderFor(dirname(placeOf(file)), makesFolders) : file, constants.W_OK)
  } catch (cause) {
    throw usageError(`Cannot write ${what} "${file}": ${fileProblem(cause, 'folder')}`, { cause })
  }
}

/** The nearest existing folder. */
function folderFor(folder: string, makesFolders: boolean): string {
  const there = statSync(folder, { throwIfNoEntry: !makesFolders })
  if (there === undefined) return folderFor(dirname(folder), makesFolders)
  if (!there.isDirectory()) throw Object.assign(new Error('a file'), { code: 'EEXIST' })
  return folder
}

/** Also recognises symbolic and hard links, and a file that does not exist yet. */
export function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((file) => unlessFailing(() => statSync(file)))
  if (first !== undefined && second !== undefined) return first.dev === second.dev && first.ino === second.ino
  return placeOf(one) === placeOf(other)
}

/** Returns the path at which a file is or would be created, after following symbolic links, also those to files that do not exist yet. */
function placeOf(file: string): string {
  const there = unlessFailing(() => realpathSync.native(file))
  const folder = dirname(file)
  if (there !== undefined || folder === file) return there ?? file
  const place = join(placeOf(folder), basename(file))
  // Links in a circle lead nowhere; `stat` fails at them.
  const target = unlessFailing(() => statSync(place, { throwIfNoEntry: false }) ?? readlinkSync(place))
  return typeof target !== 'string' ? place : placeOf(isAbsolute(target) ? target : `${dirname(place)}/${target}`)
}

function unlessFailing<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}

/**
 * Writes a new file next to the old one and then renames it, so that a full disk or a killed process leaves the old file intact. Creates
 * missing folders. A path that is not a file, such as /dev/stderr, is written directly.
 *
 * @param what as in `Cannot write the report`
 * @param modes of the file, otherwise that of the old one, and of folders that it makes
 * @throws SuiteError (`usage`)
 */
export function replaceFile(
  file: string,
  text: string,
  what: string,
  modes: { file?: number; folder?: number } = {},
): void {
  try {
    const there = statSync(file, { throwIfNoEntry: false })
    // A symbolic link stays a link.
    const place = placeOf(file)
    makeFolder(dirname(place), modes.folder)
    if (there !== undefined && !there.isFile()) writeFileSync(file, text)
    else writeBeside(place, text, modes.file ?? there?.mode)
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

/**
 * Creates a folder, and those that it is in. `mkdir` of Node with `recursive` never ends in a folder such as /proc, where nothing can be
 * made.
 *
 * @param mode of each folder that it makes
 * @throws an error of the file system
 */
export function makeFolder(folder: string, mode = 0o777): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder), mode)
  try {
    mkdirSync(folder, mode)
  } catch (error) {
    // Another process may have made it.
    if (!existsSync(folder)) throw error
  }
}

const folderInstead = 'it is a folder, name a file in it'
const inTheWay = 'a file stands where a folder should be'

/**
 * Describes why a file could not be read or written.
 *
 * @param missing what does not exist: the file, or the folder to write to
 */
export function fileProblem(cause: unknown, missing: 'file' | 'folder'): string {
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause)
  const sentences: { [code: string]: string } = {
    ENOENT: `there is no such ${missing}`,
    ENOTDIR: missing === 'folder' ? inTheWay : 'there is no such file',
    EISDIR: missing === 'file' ? folderInstead : 'it is a folder',
    ELOOP: 'it is a symbolic link to itself',
    EEXIST: inTheWay,
    EACCES: 'it is not allowed',
    EPERM: 'it is not allowed',
    EROFS: 'the disk can only be read',
    ENOSPC: 'the disk is full',
  }
  return sentences[code] ?? code
}
