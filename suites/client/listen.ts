import { once } from 'node:events'
import { defaultScheme } from '../engine/document.ts'
import { startMockServer } from '../targets/bundled.ts'
import type { Journal, JournalKey } from './journal.ts'
import { lenientProfile, makePrivateKeyFile, tokenPrefix } from './judged-server.ts'

interface ListenOptions {
  port: number
  /** The initial key; generated if it is not given. */
  key: { id?: string; secret?: string }
  signal: AbortSignal
  /** Prints the environment for clients, as `NAME=value` lines. */
  announce(lines: readonly string[]): void
}

const recordedBytes = 64 * 1024 * 1024

/** Serves calls until the signal comes, and returns the recorded journal. Rejects with the error of node:net if it cannot listen. */
export async function listen({ port, key, signal, announce }: ListenOptions): Promise<Journal> {
  const privateKey = makePrivateKeyFile()
  try {
    const server = await startMockServer({
      port,
      rootKey: key,
      profile: lenientProfile,
      recording: { bytes: recordedBytes },
    })
    const signing = await server.makeKey({ publicKey: privateKey.publicKeyPem })
    const { id, secret } = server.rootKey
    announce([
      `SVC_URL=${server.url}`,
      `SVC_KEY_ID=${id}`,
      `SVC_KEY_SECRET=${secret}`,
      `SVC_SCHEME=${defaultScheme}`,
      `SVC_TOKEN_PREFIX=${tokenPrefix}`,
      `# with SVC_AUTH=ecc: SVC_KEY_ID=${signing.id} SVC_PRIVATE_KEY_FILE=${privateKey.path}`,
    ])
    if (!signal.aborted) await once(signal, 'abort')
    await server.stop(1000)
    const keys: JournalKey[] = [
      { kind: 'secret', id, secret },
      { kind: 'public', id: signing.id, publicKey: privateKey.publicKey, seed: privateKey.seed },
    ]
    return {
      scenario: 'listen',
      setting: {
        auth: null,
        scope: null,
        method: 'solution/listSolutions',
        calls: null,
        parallel: null,
        scheme: defaultScheme,
        tokenPrefix,
        clockOffsetMs: 0,
        lagMs: 0,
      },
      keys,
      exchanges: [...(server.recording?.exchanges() ?? [])],
      elsewhere: [],
      starts: null,
    }
  } finally {
    privateKey.remove()
  }
}
