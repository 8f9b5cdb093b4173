import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import { jsonLine } from '../engine/printable.ts'
import { diffReports, renderDiff, verdictsDiffer } from '../report/compare/tables.ts'
import { readReportFile } from '../run/inputs.ts'
import { type DiffServersFlags, runDiffServers } from './diff-servers.ts'
import { addServerFlags, collect } from './run-flags.ts'
import { processOutlet } from './write-reports.ts'

const afterHelp = `
Exit codes: 0 alike, 1 a verdict differs, 2 wrong usage, 3 a server cannot be used. Flags of a key may be
given once for both servers, or twice: for the first and for the second.

  npx svc-conformance diff old.json new.json
  npx svc-conformance diff --url http://127.0.0.1:8080 --url http://127.0.0.1:8081 --allow sessions`

/** `diff REPORT REPORT`: where the verdicts of two reports differ. `diff --url A --url B`: where the answers of two servers differ. */
export function registerDiff(program: Command): void {
  const command = program
    .command('diff')
    .description('compare the verdicts of two JSON reports, or the answers of two servers; exit code 1 if they differ')
    .argument('[reports...]', 'two JSON reports (run --report json=FILE)')
    .option('--json', 'print the differences as JSON')
  addServerFlags(command, 'Two servers (give --url twice)', collect, 'base URL')
    .option('--allow <classes>', 'sessions: also grant tokens')
    .option('--disposable', 'these instances may be filled')
    .option('--rate <number>', 'maximum number of calls a second')
    .option('--wait <seconds>', 'how long to wait for a server to come up')
    .option('--calls <number>', 'how many calls to make to each server; 150 by default')
    .option('--seed <number>', 'another order of the calls')
    .addHelpText('after', afterHelp)
    .action(async (files: string[], flags: DiffServersFlags) => {
      const { json, ...ofServers } = flags
      const comparesServers = Object.keys(ofServers).length > 0
      if (comparesServers && files.length > 0)
        throw usageError('Compare two reports or two servers, not both: remove the reports or the flags')
      process.exitCode = comparesServers ? await runDiffServers(flags) : diffReportFiles(files, json === true)
    })
}

/** @returns the exit code */
function diffReportFiles(files: readonly string[], asJson: boolean): number {
  const [one, other, ...more] = files
  if (one === undefined || other === undefined || more.length > 0)
    throw usageError(`Name two reports to compare, not ${files.length}`)
  const diff = diffReports(readReportFile(one), readReportFile(other))
  processOutlet(process.env).stdout(asJson ? jsonLine(diff, 2) : renderDiff(diff))
  return verdictsDiffer(diff) ? 1 : 0
}
