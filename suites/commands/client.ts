import type { Command } from 'commander'
import { checks } from '../client/all-checks.ts'
import { clientAuths } from '../client/journal.ts'
import { judgeJournals } from '../client/judge-journals.ts'
import { listen } from '../client/listen.ts'
import { buildReport } from '../client/report/build.ts'
import { renderCtrf } from '../client/report/ctrf.ts'
import { renderHtml } from '../client/report/html.ts'
import { renderJunit } from '../client/report/junit.ts'
import { readClientKnown } from '../client/report/known.ts'
import { renderMarkdown } from '../client/report/markdown.ts'
import type { ClientMeta, ClientReport } from '../client/report/model.ts'
import { renderText } from '../client/report/text.ts'
import { runScenarios } from '../client/run-scenarios.ts'
import { scenarios } from '../client/scenarios.ts'
import { type Selected, selectChecks } from '../client/select.ts'
import { SuiteError } from '../engine/errors.ts'
import { renderBadge } from '../report/badge.ts'
import { shellWord } from '../report/shell.ts'
import { given } from '../run/inputs.ts'
import { oneOf, positive, readReports, readSkips } from '../run/values.ts'
import { packageVersion } from './package-version.ts'
import { collect } from './run-flags.ts'
import { processOutlet, type Renderers, writeFormats } from './write-reports.ts'

interface ClientFlags {
  command?: string
  listen?: boolean
  port?: string
  auth?: string[]
  only?: string[]
  skip?: string[]
  strict?: boolean
  known?: string
  report?: string[]
  timeout?: string
  list?: boolean
}

const defaultTimeoutSeconds = 20

const renderers: Renderers<ClientReport> = {
  text: renderText,
  json: (report) => `${JSON.stringify(report, null, 2)}\n`,
  junit: renderJunit,
  html: renderHtml,
  markdown: renderMarkdown,
  ctrf: renderCtrf,
  badge: renderBadge,
}

const afterHelp = `
CMD is run once per scenario with SVC_URL, SVC_KEY_ID, SVC_KEY_SECRET or SVC_PRIVATE_KEY_FILE, SVC_SCHEME,
SVC_TOKEN_PREFIX, SVC_SCENARIO, SVC_AUTH, SVC_SCOPE, SVC_METHOD, SVC_CALLS, SVC_PARALLEL and SVC_PAUSE_MS
in its environment. It makes SVC_CALLS calls and prints "ok" or "error" for each; docs/clients.md shows how.

Exit codes: 0 conforms; 1 a check failed, or nothing is known; 2 wrong usage; 3 the command cannot be
started; 130 interrupted.

  npx svc-conformance client --command './adapter'
  npx svc-conformance client --command './adapter' --auth hmac --only signature
  npx svc-conformance client --listen --port 8080`

/** Adds `client` to the command line. */
export function registerClient(program: Command): void {
  program
    .command('client')
    .description('judge a client: does it sign, refresh and retry as it should?')
    .option('--command <cmd>', 'the adapter, for a shell; run once per scenario')
    .option('--listen', 'judge whatever comes until Ctrl-C or SIGTERM')
    .option('--port <port>', 'where to listen; 0: any free port')
    .option('--auth <auth>', 'hmac, ecc, basic or token; repeatable, all by default', collect)
    .option('--only <id>', 'a check or a scenario, or how its id begins; repeatable', collect)
    .option('--skip <id=reason>', 'leave out, with a reason; repeatable', collect)
    .option('--strict', 'warnings fail the run')
    .option('--known <file>', 'baseline of known failures')
    .option('--report <format[=file]>', 'text, json, junit, html, markdown, ctrf or badge; repeatable', collect)
    .option(
      '--timeout <seconds>',
      `end a client that runs for longer in one scenario; ${defaultTimeoutSeconds} by default`,
    )
    .option('--list', 'print the checks and scenarios, and stop')
    .addHelpText('after', afterHelp)
    .action(async (flags: ClientFlags) => {
      process.exitCode = await judgeClient(flags)
    })
}

async function judgeClient(flags: ClientFlags): Promise<number> {
  const outlet = processOutlet(process.env)
  if (flags.list === true) {
    outlet.stdout(listText())
    return 0
  }
  demandOneSource(flags)
  const reports = readReports(flags.report ?? [])
  const skip = readSkips(flags.skip ?? [])
  const auth = readAuths(flags.auth)
  const selected = selectChecks({ auth, only: flags.only ?? [], skip })
  const known = flags.known === undefined ? [] : readClientKnown(flags.known)
  const started = new Date()
  const { journals, interrupted } = await watchClient(flags, selected, outlet.stderr)
  const meta: ClientMeta = {
    version: packageVersion(),
    command: flags.command ?? null,
    started: started.toISOString(),
    durationMs: Date.now() - started.getTime(),
    node: process.versions.node,
    auth,
    again: againCommand(flags),
    stopped: interrupted ? 'it was interrupted' : null,
    skipped: skip,
  }
  const paysFor = (id: string): string | null =>
    selected.scenarios.find((scenario) => scenario.id === id)?.check ?? null
  const report = buildReport({
    meta,
    journals,
    results: judgeJournals(journals, paysFor),
    scenarios: selected.scenarios,
    isReported: selected.isReported,
    known,
    strict: flags.strict === true,
  })
  writeFormats(report, renderers, reports, outlet)
  return report.exitCode
}

async function watchClient(flags: ClientFlags, { scenarios: wanted }: Selected, say: (text: string) => void) {
  const stop = new AbortController()
  const onSignal = (): void => stop.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    if (flags.command === undefined) return { journals: [await listenFor(flags, stop.signal, say)], interrupted: false }
    const result = await runScenarios({
      command: flags.command,
      scenarios: wanted,
      timeoutSeconds: timeoutOf(flags.timeout),
      signal: stop.signal,
      onDone: progressOn(process.stderr),
    })
    if (result.kind === 'not-started') throw cannotStart(flags.command, result.stderr)
    return result
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

async function listenFor(flags: ClientFlags, signal: AbortSignal, say: (text: string) => void) {
  const id = given(process.env.SVC_KEY_ID)
  const secret = given(process.env.SVC_KEY_SECRET)
  const port = portOf(flags.port)
  try {
    return await listen({
      port,
      key: { ...(id === undefined ? {} : { id }), ...(secret === undefined ? {} : { secret }) },
      signal,
      announce: (lines) => say(`${lines.join('\n')}\nListening; Ctrl-C ends it and prints the report\n`),
    })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw cause
    const why = code === 'EACCES' ? 'not allowed, choose a port above 1023' : 'the port is taken, choose another one'
    throw new SuiteError('usage', `Cannot listen on port ${port}: ${why}`, { cause })
  }
}

/** @throws SuiteError (`usage`) */
function demandOneSource({ command, listen: listens, port }: ClientFlags): void {
  if (command !== undefined && listens === true)
    throw new SuiteError('usage', 'Choose one of "--command CMD" and "--listen"')
  if (command === undefined && listens !== true)
    throw new SuiteError('usage', 'Name the client: "--command CMD" runs it, "--listen" waits for it')
  if (command !== undefined && command.trim() === '') throw new SuiteError('usage', 'Give "--command" a command')
  if (port !== undefined && listens !== true) throw new SuiteError('usage', '"--port" needs "--listen"')
}

function readAuths(words: readonly string[] = []): (typeof clientAuths)[number][] {
  const wanted = words.flatMap((word) => word.split(',')).map((word) => oneOf('--auth', word.trim(), clientAuths))
  return wanted.length === 0 ? [...clientAuths] : clientAuths.filter((auth) => wanted.includes(auth))
}

function portOf(text: string | undefined): number {
  const port = positive('--port', text, 0)
  if (Number.isInteger(port) && port <= 65_535) return port
  throw new SuiteError('usage', `Cannot use "${text}" for "--port": expected a port from 0 to 65535`)
}

function timeoutOf(text: string | undefined): number {
  const seconds = positive('--timeout', text, defaultTimeoutSeconds)
  if (seconds > 0) return seconds
  throw new SuiteError('usage', `Cannot use "${text}" for "--timeout": expected a number of seconds above 0`)
}

function cannotStart(command: string, stderr: string): SuiteError {
  const said = stderr.trim() === '' ? 'the shell says nothing' : `the shell says "${stderr.trim()}"`
  return new SuiteError('command', `Cannot start the command "${command}": ${said}`, { exitCode: 3 })
}

function againCommand({ command, auth = [] }: ClientFlags): string {
  const words = ['npx', 'svc-conformance', 'client']
  if (command === undefined) return [...words, '--listen'].join(' ')
  return [...words, '--command', command, ...auth.flatMap((word) => ['--auth', word])].map(shellWord).join(' ')
}

/** One line that redraws itself on a terminal; nothing elsewhere, since a run takes seconds. */
function progressOn(stream: NodeJS.WriteStream): (done: number, total: number) => void {
  return (done, total) => {
    if (stream.isTTY === true) stream.write(done === total ? '\r\u001b[K' : `\r\u001b[K${done} of ${total} scenarios`)
  }
}

function listText(): string {
  const width = Math.max(...[...checks, ...scenarios].map(({ id }) => id.length))
  const ofChecks = checks.map(({ id, level, title }) => `  ${id.padEnd(width)}  ${level.padEnd(8)}  ${title}`)
  const ofScenarios = scenarios.map(({ id, about }) => `  ${id.padEnd(width)}  ${about}`)
  return ['Checks', ...ofChecks, '', 'Scenarios', ...ofScenarios, ''].join('\n')
}
