import { clientAuths } from '../client/journal.ts'
import { checks, judgeJournals, selectChecks } from '../client/judge.ts'
import { buildReport, clientRenderers, parseClientKnown } from '../client/report.ts'
import { scenarios } from '../client/scenarios.ts'
import { listen, runScenarios } from '../client/watch.ts'
import { usageError } from '../engine/errors.ts'
import { defined } from '../engine/json.ts'
import { printableLines } from '../engine/printable.ts'
import { listenForSignals } from '../run/ending.ts'
import { given, readText } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { packageVersion, writeError, writeOut } from './console.ts'
import { writeFormats } from './write-reports.ts'

const help = `
CMD is run once per scenario with SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET or SVC_PRIVATE_KEY_FILE, SVC_SCHEME,
SVC_TOKEN_PREFIX, SVC_SCENARIO, SVC_AUTH, SVC_SCOPE, SVC_METHOD, SVC_CALLS, SVC_PARALLEL and SVC_PAUSE_MS
in its environment. It makes SVC_CALLS calls and prints "ok" or "error" for each; docs/clients.md shows how.

Exit codes: 0 conforms; 1 a check failed, or nothing is known; 2 wrong usage; 3 the command cannot be
started; 130 interrupted.

  npx svc-conformance client --command './adapter'
  npx svc-conformance client --command './adapter' --auth hmac --only signature
  npx svc-conformance client --listen --port 8080`

const defaultTimeoutSeconds = 20

const clientFlags = {
  command: flag.value('--command <cmd>', 'the adapter, as a shell command; run once for each scenario'),
  listen: flag.mark('--listen', 'judge every call until Ctrl-C or SIGTERM'),
  port: flag.value('--port <port>', 'port to listen on; 0: any free port', flag.number.port),
  auth: flag.many(
    '--auth <auth>',
    'only this authorization: hmac, ecc, basic or token; repeatable',
    flag.someOf(clientAuths),
  ),
  only: flag.many('--only <id>', 'only this check or scenario, or this id prefix; repeatable'),
  skip: flag.many('--skip <id=reason>', 'leave out an id, with a reason; repeatable', flag.skip),
  strict: flag.mark('--strict', 'fail the run for warnings'),
  known: flag.value('--known <file>', 'baseline of known failures'),
  report: flag.reportFlag,
  timeout: flag.value(
    '--timeout <seconds>',
    `end a client that runs for longer in one scenario; ${defaultTimeoutSeconds} by default`,
    flag.number.seconds,
  ),
  list: flag.mark('--list', 'print the checks and scenarios, and stop'),
}

export const command: flag.Command<typeof clientFlags> = {
  about: 'judge how a client signs, refreshes and retries',
  flags: clientFlags,
  help,
  run: (typed) => judgeClient(flag.read(clientFlags, typed)),
}

/** @throws SuiteError (`usage`, `fixture`; exit code 2), (`command`; exit code 3) where the command cannot be started */
async function judgeClient(flags: flag.Values<typeof clientFlags>): Promise<number> {
  if (flags.list) {
    writeOut(printableLines(listText()))
    return 0
  }
  const { command, only, skip: skipped, known: file, strict } = flags
  const source = readSource(flags, process.env)
  const wanted = flags.auth.flat()
  const auth = clientAuths.filter((one) => wanted.length === 0 || wanted.includes(one))
  const selected = selectChecks({ auth, only, skip: skipped })
  const known = file === null ? [] : parseClientKnown(readText(file, 'the baseline'), file)
  const stop = new AbortController()
  const stopListening = listenForSignals(() => stop.abort())
  const started = new Date()
  try {
    const isCommand = source.kind === 'command'
    const journals = isCommand
      ? await runScenarios(selected.scenarios, { ...source, signal: stop.signal }, (done) =>
          showProgress(done, selected.scenarios.length),
        )
      : [await listen(source, stop.signal, announce)]
    const report = buildReport({
      meta: {
        version: packageVersion(),
        command: isCommand ? source.command : null,
        started: started.toISOString(),
        durationMs: Date.now() - started.getTime(),
        node: process.versions.node,
        auth,
        again: flag.commandLine('client', command === null ? { listen: true } : { command, auth: flags.auth.flat() }),
        stopped: isCommand && stop.signal.aborted ? 'it was interrupted' : null,
        skipped,
      },
      journals,
      results: judgeJournals(journals, selected.scenarios),
      selected,
      known,
      strict,
    })
    writeFormats(report, clientRenderers, flags.report)
    return report.exitCode
  } finally {
    stopListening()
  }
}

const announce = (lines: readonly string[]): void =>
  writeError(printableLines(`${lines.join('\n')}\nListening; Ctrl-C ends it and prints the report\n`))

/** One line that redraws itself on a terminal; nothing elsewhere, since a run takes seconds. */
function showProgress(done: number, total: number): void {
  const { stderr } = process
  if (stderr.isTTY === true) stderr.write(done === total ? '\r\u001b[K' : `\r\u001b[K${done} of ${total} scenarios`)
}

function listText(): string {
  const width = Math.max(...[...checks, ...scenarios].map(({ id }) => id.length))
  const ofChecks = checks.map(({ id, level, title }) => `  ${id.padEnd(width)}  ${level.padEnd(8)}  ${title}`)
  const ofScenarios = scenarios.map(({ id, about }) => `  ${id.padEnd(width)}  ${about}`)
  return ['Checks', ...ofChecks, '', 'Scenarios', ...ofScenarios, ''].join('\n')
}

/** Where the client comes from. */
type ClientSource =
  | { kind: 'command'; command: string; timeoutSeconds: number }
  | ({ kind: 'listen' } & Parameters<typeof listen>[0])

/** @param env SVC_KEY_ID and SVC_KEY_SECRET: the key of a server that listens */
function readSource(
  { command, listen: listens, port, timeout }: flag.Values<typeof clientFlags>,
  env: NodeJS.ProcessEnv,
): ClientSource {
  if (command !== null && listens) throw usageError('Choose one of "--command CMD" and "--listen"')
  if (port !== null && !listens) throw usageError('"--port" needs "--listen"')
  if (listens) {
    const key = defined({ id: given(env.SVC_KEY_ID), secret: given(env.SVC_KEY_SECRET) })
    return { kind: 'listen', port: port ?? 0, key }
  }
  if (command === null) throw usageError('Name the client: "--command CMD" runs it, "--listen" waits for it')
  if (command.trim() === '') throw usageError('Give "--command" a command')
  return { kind: 'command', command, timeoutSeconds: timeout ?? defaultTimeoutSeconds }
}
