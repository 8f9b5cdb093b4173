import { type ClientAuth, clientAuths } from '../client/journal.ts'
import { type Selected, selectChecks } from '../client/judge-journals.ts'
import type { ClientSource } from '../client/judge-run.ts'
import { parseClientKnown } from '../client/report/build.ts'
import type { ClientKnownEntry } from '../client/report/client-report.ts'
import { usageError } from '../engine/errors.ts'
import { defined } from '../engine/json.ts'
import { shellWord } from '../report/lines.ts'
import { type Environment, given, readText } from '../run/files.ts'
import type { RunFlags } from '../run/options.ts'
import { oneOf, portNumber, type ReportRequest, readReports, readSkips, someSeconds } from '../run/values.ts'

/** The flags of `client` as they were typed. */
export interface ClientFlags extends Pick<RunFlags, 'only' | 'skip' | 'strict' | 'known' | 'report' | 'timeout'> {
  command?: string
  listen?: boolean
  port?: string
  auth?: string[]
  list?: boolean
}

export interface ClientOptions {
  source: ClientSource
  auth: ClientAuth[]
  selected: Selected
  skip: { id: string; reason: string }[]
  strict: boolean
  known: ClientKnownEntry[]
  reports: ReportRequest[]
  /** The command that repeats this run, without the flags that select checks. */
  again: string
}

export const defaultTimeoutSeconds = 20

/**
 * @param env SVC_KEY_ID and SVC_KEY_SECRET: the key of a server that listens
 * @throws SuiteError (`usage`, `fixture`; exit code 2)
 */
export function readClientOptions(flags: ClientFlags, env: Environment): ClientOptions {
  const source = readSource(flags, env)
  const skip = readSkips(flags.skip ?? [])
  const auth = readAuths(flags.auth)
  return {
    source,
    auth,
    selected: selectChecks({ auth, only: flags.only ?? [], skip }),
    skip,
    strict: flags.strict === true,
    known: flags.known === undefined ? [] : parseClientKnown(readText(flags.known, 'the baseline'), flags.known),
    reports: readReports(flags.report ?? []),
    again: againCommand(flags),
  }
}

function readSource({ command, listen, port, timeout }: ClientFlags, env: Environment): ClientSource {
  if (command !== undefined && listen === true) throw usageError('Choose one of "--command CMD" and "--listen"')
  if (port !== undefined && listen !== true) throw usageError('"--port" needs "--listen"')
  if (listen === true) {
    const key = defined({ id: given(env.SVC_KEY_ID), secret: given(env.SVC_KEY_SECRET) })
    return { kind: 'listen', port: portNumber('--port', port), key }
  }
  if (command === undefined) throw usageError('Name the client: "--command CMD" runs it, "--listen" waits for it')
  if (command.trim() === '') throw usageError('Give "--command" a command')
  const timeoutSeconds = timeout === undefined ? defaultTimeoutSeconds : someSeconds('--timeout', timeout)
  return { kind: 'command', command, timeoutSeconds }
}

function readAuths(words: readonly string[] = []): ClientAuth[] {
  const wanted = words.flatMap((word) => word.split(',')).map((word) => oneOf('--auth', word.trim(), clientAuths))
  return wanted.length === 0 ? [...clientAuths] : clientAuths.filter((auth) => wanted.includes(auth))
}

function againCommand({ command, auth = [] }: ClientFlags): string {
  const words = ['npx', 'svc-conformance', 'client']
  if (command === undefined) return [...words, '--listen'].join(' ')
  return [...words, '--command', command, ...auth.flatMap((word) => ['--auth', word])].map(shellWord).join(' ')
}
