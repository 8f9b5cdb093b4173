import { once } from 'node:events'
import { defaultScheme } from '../engine/document.ts'
import { portError, SuiteError } from '../engine/errors.ts'
import { startMockServer } from '../targets/bundled.ts'
import type { Journal, JournalKey } from './journal.ts'
import { judgeJournals, type Selected } from './judge-journals.ts'
import { buildReport } from './report/build.ts'
import type { ClientKnownEntry, ClientMeta, ClientReport } from './report/client-report.ts'
import { lenientProfile, makePrivateKeyFile, runScenarios, tokenPrefix } from './run-scenarios.ts'

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

/** Where the client comes from. */
export type ClientSource =
  | { kind: 'command'; command: string; timeoutSeconds: number }
  /** Missing parts of the key are generated. */
  | { kind: 'listen'; port: number; key: { id?: string; secret?: string } }

interface JudgeOptions {
  source: ClientSource
  selected: Selected
  known: readonly ClientKnownEntry[]
  strict: boolean
  meta: Omit<ClientMeta, 'command' | 'started' | 'durationMs' | 'stopped'>
  /** Ends a run early, or a listening server. */
  signal: AbortSignal
  onDone(done: number, total: number): void
  /** Prints the environment for clients of a listening server. */
  announce(lines: readonly string[]): void
}

/**
 * Watches a client and judges it.
 *
 * @throws SuiteError (`command`, exit code 3) where the command cannot be started, (`usage`) where the port is taken
 */
export async function judgeRun(options: JudgeOptions): Promise<ClientReport> {
  const { source, selected, known, strict } = options
  const started = new Date()
  const { journals, interrupted } = await watch(options)
  return buildReport({
    meta: {
      ...options.meta,
      command: source.kind === 'command' ? source.command : null,
      started: started.toISOString(),
      durationMs: Date.now() - started.getTime(),
      stopped: interrupted ? 'it was interrupted' : null,
    },
    journals,
    results: judgeJournals(journals, (id) => selected.scenarios.find((scenario) => scenario.id === id)?.check ?? null),
    scenarios: selected.scenarios,
    isReported: selected.isReported,
    known,
    strict,
  })
}

async function watch(options: JudgeOptions): Promise<{ journals: Journal[]; interrupted: boolean }> {
  const { source, selected, signal, onDone, announce } = options
  if (source.kind === 'listen') {
    const { port, key } = source
    const journal = await listen({ port, key, signal, announce }).catch((cause: unknown) => {
      throw portError(port, cause)
    })
    return { journals: [journal], interrupted: false }
  }
  const { command, timeoutSeconds } = source
  const result = await runScenarios({ command, scenarios: selected.scenarios, timeoutSeconds, signal, onDone })
  if (result.kind === 'journals') return result
  const detail = result.stderr.trim() === '' ? 'the shell says nothing' : `the shell says "${result.stderr.trim()}"`
  throw new SuiteError('command', `Cannot start the command "${command}": ${detail}`)
}
