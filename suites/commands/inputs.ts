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
    const code = (cause as NodeJS.ErrnoException).code
    const why = code === 'ENOENT' ? 'there is no such file' : code === 'EACCES' ? 'it may not be read' : String(code)
    throw new SuiteError('usage', `Cannot read ${what} "${path}": ${why}`, { cause })
  }
}

/** A variable that is set to nothing, as CI systems do with an absent secret, is not given. */
export function given(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}
