import type { Command } from 'commander'
import { SuiteError } from '../engine/errors.ts'
import { jsonLine } from '../engine/printable.ts'
import { diffReports, renderDiff, verdictsDiffer } from '../report/diff.ts'
import { readReportFile } from '../run/report-file.ts'
import { processOutlet } from './write-reports.ts'

/** `diff REPORT REPORT`: where the verdicts of two reports differ. */
export function registerDiff(program: Command): void {
  program
    .command('diff')
    .description('say where the verdicts of two JSON reports differ; exit code 1 where one does')
    .argument('<reports...>', 'two JSON reports (run --report json=FILE)')
    .option('--json', 'the differences as JSON')
    .action((files: string[], flags: { json?: boolean }) => {
      const [one, other, ...more] = files
      if (one === undefined || other === undefined || more.length > 0)
        throw new SuiteError('usage', `Name two reports to compare, not ${files.length}`)
      const diff = diffReports(readReportFile(one), readReportFile(other))
      const outlet = processOutlet(process.env)
      outlet.stdout(flags.json === true ? jsonLine(diff, 2) : renderDiff(diff))
      process.exitCode = verdictsDiffer(diff) ? 1 : 0
    })
}
