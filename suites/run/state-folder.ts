import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Environment, given } from './inputs.ts'

/** Where the suite keeps what must outlive a run: the state folder of the user (XDG base directories; LOCALAPPDATA on Windows). */
export function stateFolder(env: Environment, platform: string = process.platform, home: string = homedir()): string {
  const localData = platform === 'win32' ? given(env.LOCALAPPDATA) : undefined
  return join(given(env.XDG_STATE_HOME) ?? localData ?? join(home, '.local', 'state'), 'svc-conformance')
}
