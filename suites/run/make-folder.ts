import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

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
