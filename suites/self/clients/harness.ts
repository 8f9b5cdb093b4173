/** Starts a server for one client, and runs clients with the environment that the contract names. */
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerOptions, startMockServer } from '../../targets/bundled.ts'
import { textOf } from '../printed-by.ts'
import type { ClientAuth } from './catalogue.ts'

type MockServer = Awaited<ReturnType<typeof startMockServer>>
export type Environment = { [name: string]: string }
type Fault = Parameters<MockServer['faults']['add']>[0]

const keys = generateKeyPairSync('ed25519')
const publicKey = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString()
const privateKey = keys.privateKey.export({ type: 'pkcs8', format: 'pem' })

/** What the servers of the judge accept and record, according to the contract. */
const lenient = { noncePadding: 'accepted', unpaddedSignatures: 'accepted' } as const

export async function withServer<T>(
  auth: ClientAuth,
  options: ServerOptions,
  use: (server: MockServer, env: Environment) => Promise<T>,
): Promise<T> {
  const profile = { ...lenient, ...options.profile }
  const server = await startMockServer({ ...options, profile, ...(auth === 'ecc' ? { rootKey: { publicKey } } : {}) })
  const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
  const privateKeyFile = join(folder, 'private-key.pem')
  if (auth === 'ecc') writeFileSync(privateKeyFile, privateKey, { mode: 0o600 })
  const credential: Environment =
    auth === 'ecc' ? { SVC_PRIVATE_KEY_FILE: privateKeyFile } : { SVC_KEY_SECRET: server.rootKey.secret }
  try {
    return await use(server, {
      SVC_URL: server.url,
      SVC_KEY_ID: server.rootKey.id,
      ...credential,
      SVC_SCHEME: 'svc-hmac-sha256',
      SVC_TOKEN_PREFIX: 'Bearer',
      SVC_SCENARIO: 'self-test',
      SVC_AUTH: auth,
      SVC_SCOPE: 'solution',
      SVC_METHOD: 'solution/listSolutions',
      SVC_CALLS: '3',
      SVC_PARALLEL: '1',
      SVC_PAUSE_MS: '0',
      TMPDIR: folder,
    })
  } finally {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface Ran {
  exitCode: number | null
  lines: string[]
  complaints: string
}

/** @param onLine called after each line that the client prints */
export function run(command: string[], env: Environment, onLine = (): void => undefined): Promise<Ran> {
  const [program = '', ...args] = command
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: { PATH: process.env.PATH, ...env }, timeout: 600_000 })
    const [printed, complaints] = [textOf(child.stdout), textOf(child.stderr)]
    child.stdout.on('data', (part: string) => {
      for (const letter of part) if (letter === '\n') onLine()
    })
    child.on('error', reject)
    child.on('close', (exitCode) =>
      resolve({ exitCode, lines: printed().split('\n').slice(0, -1), complaints: complaints() }),
    )
  })
}

/** A server whose clock only moves when it is told to, far from the clock of the client; tokens live for five calls. */
export const badDayServer: ServerOptions = { clock: 'virtual', profile: { accessLifeMs: 300_000 } }
export const betweenCallsMs = 60_000

/** Everything that goes wrong while the client runs. */
export const badDay: Fault[] = [
  { fault: 'drop', when: 'after', method: 'solution/listSolutions', skip: 1 },
  { fault: 'malformed', method: 'solution/listSolutions', skip: 2 },
  { fault: 'wrong-id', method: 'solution/listSolutions', skip: 3 },
  { fault: 'throttle', retryAfterSeconds: 1, method: 'solution/listSolutions', skip: 5 },
  { fault: 'drop', when: 'after', grantType: 'refresh_token' },
  { fault: 'malformed', grantType: 'refresh_token', skip: 2 },
]
