/** Where runs record the keys that they create. Apart from keys.ts: `serve` looks only whether there is a record, and to load the rest takes longer than its start. */
import { createHash } from 'node:crypto'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/** Every folder in which a run may have left something: its own, or one among the temporary files, where the home can only be read, as in a container. */
export const stateFolders = (own: string): string[] => [own, join(tmpdir(), `svc-conformance-${userInfo().uid}`)]

/** The file for the keys of a target, as the key with this id creates them. */
export function recordIn(folder: string, url: string, rootId: string): string {
  const name = createHash('sha256').update(`${url}\n${rootId}`).digest('hex').slice(0, 24)
  return join(folder, `${name}.keys.jsonl`)
}
