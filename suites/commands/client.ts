import type { Command } from 'commander'
import { checks } from '../client/judge-journals.ts'
import { judgeRun } from '../client/judge-run.ts'
import type { ClientReport } from '../client/report/client-report.ts'
import { renderHtml, renderMarkdown, renderText, testRun } from '../client/report/render.ts'
import { scenarios } from '../client/scenarios.ts'
import { jsonLine, printableLines } from '../engine/printable.ts'
import { renderBadge, renderCtrf, renderJunit } from '../report/formats.ts'
import { listenForSignals } from '../run/ending.ts'
import { type ClientFlags, type ClientOptions, defaultTimeoutSeconds, readClientOptions } from './client-options.ts'
import { packageVersion } from './package-version.ts'
import { collect } from './run-flags.ts'
import { type Outlet, processOutlet, type Renderers, writeFormats } from './write-reports.ts'

const renderers: Renderers<ClientReport> = {
  text: renderText,
  json: (report) => jsonLine(report, 2),
  junit: (report) => renderJunit(testRun(report)),
  html: renderHtml,
  markdown: renderMarkdown,
  ctrf: (report) => renderCtrf(testRun(report)),
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
    .description('judge how a client signs, refreshes and retries')
    .option('--command <cmd>', 'the adapter, as a shell command; run once for each scenario')
    .option('--listen', 'judge every call until Ctrl-C or SIGTERM')
    .option('--port <port>', 'port to listen on; 0: any free port')
    .option('--auth <auth>', 'only this authorization: hmac, ecc, basic or token; repeatable', collect)
    .option('--only <id>', 'only this check or scenario, or this id prefix; repeatable', collect)
    .option('--skip <id=reason>', 'leave out an id, with a reason; repeatable', collect)
    .option('--strict', 'fail the run for warnings')
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
    outlet.stdout(printableLines(listText()))
    return 0
  }
  const options = readClientOptions(flags, process.env)
  const stop = new AbortController()
  const end = (): void => stop.abort()
  const stopListening = listenForSignals({ first: end, second: end })
  try {
    const report = await judge(options, stop.signal, outlet)
    writeFormats(report, renderers, options.reports, outlet)
    return report.exitCode
  } finally {
    stopListening()
  }
}

function judge(options: ClientOptions, signal: AbortSignal, outlet: Outlet): Promise<ClientReport> {
  const { auth, again, skip } = options
  return judgeRun({
    ...options,
    meta: { version: packageVersion(), node: process.versions.node, auth, again, skipped: skip },
    signal,
    onDone: progressOn(process.stderr),
    announce: (lines) =>
      outlet.stderr(printableLines(`${lines.join('\n')}\nListening; Ctrl-C ends it and prints the report\n`)),
  })
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
