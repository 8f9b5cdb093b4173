/** Where clients that survive their process keep a pair of tokens; files of earlier runs are removed. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folderOf = ({ TMPDIR }) => join(TMPDIR ?? tmpdir(), 'svc-test-clients')
const oldMs = 600_000

export function fileOf({ env }) {
  const { SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET } = env
  const name = createHash('sha256').update(`${SVC_URL} ${SVC_KEY_ID} ${SVC_KEY_SECRET}`).digest('hex')
  return join(folderOf(env), `${name}.json`)
}

export function savePair(client, pair) {
  if (pair === undefined) return
  mkdirSync(folderOf(client.env), { recursive: true, mode: 0o700 })
  writeFileSync(fileOf(client), JSON.stringify(pair), { mode: 0o600 })
}

export function removeOldFiles({ env }) {
  const folder = folderOf(env)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > oldMs) rmSync(file, { force: true })
  }
}
