import { portError, SuiteError } from '../engine/errors.ts'
import type { Journal } from './journal.ts'
import { judgeJournals } from './judge-journals.ts'
import { listen } from './listen.ts'
import { buildReport } from './report/build.ts'
import type { ClientKnownEntry, ClientMeta, ClientReport } from './report/client-report.ts'
import { runScenarios } from './run-scenarios.ts'
import type { Selected } from './select.ts'

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
