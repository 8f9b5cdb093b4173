/**
 * The test clients of `svc-conformance client`: right ones, ones that are broken in one way each, and inert ones. Their authors read
 * spec/interface.md and the contract of the command, never the rules of the judge.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../../engine/language/package-root.ts'

export type ClientAuth = 'hmac' | 'ecc' | 'basic' | 'token'

interface ClientBase {
  id: string
  /** Runs the client as an adapter. */
  command: string[]
  /** The ways to authorize: of a right client, all that it supports; of a broken one, those that show the defect. */
  auth: ClientAuth[]
  /** A sentence that says what the client does. */
  about: string
}

export type TestClient =
  | (ClientBase & { kind: 'right' | 'inert' })
  /** `check` is the id of the check that a broken client does not pass. */
  | (ClientBase & { kind: 'broken'; check: string })

const folder = join(packageRoot, 'suites', 'self', 'clients')

type Entry = { id: string; auth: ClientAuth[]; about: string } & (
  | { kind: 'right' | 'inert' }
  | { kind: 'broken'; check: string }
)

/** Reads the catalogue: the clients are plain JavaScript, so that they start at once on every supported Node. */
export async function loadCatalogue(): Promise<TestClient[]> {
  const { clients } = (await import(pathToFileURL(join(folder, 'index.mjs')).href)) as { clients: Entry[] }
  return clients.map(({ id, auth, about, ...rest }) => {
    const command = [process.execPath, join(folder, 'run.mjs'), id]
    if (rest.kind === 'broken') return { id, auth, about, command, kind: rest.kind, check: rest.check }
    return { id, auth, about, command, kind: rest.kind }
  })
}
