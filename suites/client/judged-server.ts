import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Fault, type MockServer, type Profile, startMockServer } from '../targets/bundled.ts'
import type { Exchange, JournalKey } from './journal.ts'
import { elsewhere, type Scenario } from './scenario.ts'

/** A key pair; clients read its private key from a file. */
export interface PrivateKeyFile {
  path: string
  publicKeyPem: string
  publicKey: Uint8Array
  seed: Uint8Array
  remove(): void
}

/** Makes an ED25519 key pair and writes its private half (PKCS #8, PEM) to a fresh temporary folder. */
export function makePrivateKeyFile(): PrivateKeyFile {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
  const path = join(folder, 'private-key.pem')
  writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  const { x = '', d = '' } = privateKey.export({ format: 'jwk' })
  return {
    path,
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    publicKey: Buffer.from(x, 'base64url'),
    seed: Buffer.from(d, 'base64url'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A server whose every exchange is recorded, and the other origin that it redirects to. */
export interface JudgedServer {
  url: string
  key: JournalKey
  exchanges(): readonly Exchange[]
  elsewhere(): readonly Exchange[]
  close(): Promise<void>
}

/** The word before a token, as the server expects it. */
export const tokenPrefix = 'Bearer'

const recordedBytes = 8 * 1024 * 1024

/** As lenient as the document allows: the checks judge requests, and a client that can continue shows more of its behaviour. */
export const lenientProfile: Partial<Profile> = {
  strictEnvelope: false,
  idTypes: 'any',
  extraParams: 'ignored',
  scopeOnRefresh: 'ignored',
  authHeaderOnGrant: 'ignored',
  scopeCase: 'any',
  noncePadding: 'accepted',
  unpaddedSignatures: 'accepted',
  nonceReuse: 'accepted',
  schemeCase: 'any',
  nonceMaxLength: 1024,
  // Two processes of a client with the same session name must not end each other's tokens.
  reusedSessionName: 'joins',
}

/** @param onRequest called when a request has arrived completely */
export async function startJudgedServer(
  scenario: Scenario,
  privateKey: PrivateKeyFile,
  onRequest: () => void,
): Promise<JudgedServer> {
  const isEcc = scenario.auth === 'ecc'
  const redirects = scenario.faults.some(({ fault }) => fault === 'redirect')
  const server = await startMockServer({
    profile: { ...lenientProfile, ...scenario.server.profile },
    recording: { bytes: recordedBytes },
    around: (handle) => (request) => {
      onRequest()
      return handle(request)
    },
    ...(isEcc ? { rootKey: { publicKey: privateKey.publicKeyPem } } : {}),
  })
  const other = redirects ? await startElsewhere() : undefined
  for (const fault of scenario.faults) server.faults.add(withLocation(fault, other?.url))
  const { id, secret } = server.rootKey
  return {
    url: server.url,
    key: isEcc
      ? { kind: 'public', id, publicKey: privateKey.publicKey, seed: privateKey.seed }
      : { kind: 'secret', id, secret },
    exchanges: () => server.recording?.exchanges() ?? [],
    elsewhere: () => other?.recording?.exchanges() ?? [],
    close: async () => {
      await Promise.all([server.close(), other?.close()])
    },
  }
}

/** Another origin is another port; every request there is answered with 404. */
function startElsewhere(): Promise<MockServer> {
  return startMockServer({ recording: { bytes: recordedBytes }, profile: { basePath: '/elsewhere' } })
}

function withLocation(fault: Fault, otherUrl: string | undefined): Fault {
  if (fault.fault !== 'redirect' || otherUrl === undefined) return fault
  return { ...fault, location: fault.location.replace(elsewhere, new URL(otherUrl).origin) }
}
