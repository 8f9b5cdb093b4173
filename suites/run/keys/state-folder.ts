import { accessSync, constants, statSync } from 'node:fs'
import { homedir, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { makeFolder } from '../make-folder.ts'
import { type Environment, given } from '../options/inputs.ts'

/** The folder for data that must outlive a run: the user's state folder (XDG base directories; LOCALAPPDATA on Windows). */
export function stateFolder(env: Environment, platform: string = process.platform, home: string = homedir()): string {
  const localData = platform === 'win32' ? given(env.LOCALAPPDATA) : undefined
  return join(given(env.XDG_STATE_HOME) ?? localData ?? join(home, '.local', 'state'), 'svc-conformance')
}

/**
 * Returns the folder and creates it if needed. In a container with a read-only home it is a folder of this user among the temporary files.
 */
export function writableFolder(folder: string, temporary: string = tmpdir()): string {
  return [folder, temporaryFolder(temporary)].find(isWritable) ?? folder
}

/** Every folder in which a run may have left something. */
export const stateFolders = (env: Environment): string[] => [stateFolder(env), temporaryFolder(tmpdir())]

const temporaryFolder = (temporary: string): string => join(temporary, `svc-conformance-${userInfo().uid}`)

/** Checks that no other user created the folder, because that user could read the keys. */
function isWritable(folder: string): boolean {
  try {
    makeFolder(folder, 0o700)
    accessSync(folder, constants.W_OK)
    return process.getuid === undefined || statSync(folder).uid === process.getuid()
  } catch {
    return false
  }
}
