import type { Command } from 'commander'
import { SuiteError } from '../engine/errors.ts'
import { matrixOf, renderMatrixMarkdown, renderMatrixText } from '../report/matrix.ts'
import { mergeReports } from '../report/merge.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { readReportFile } from '../run/report-file.ts'
import { readReports } from '../run/values.ts'
import { collect } from './run-flags.ts'
import { processOutlet, writeReports } from './write-reports.ts'

interface CompareFlags {
  markdown?: boolean
  merge?: boolean
  strict?: boolean
  report?: string[]
}

/** `compare FILE…`: reports side by side, or with `--merge` the shards of one run as one report. */
export function registerCompare(program: Command): void {
  program
    .command('compare')
    .description('lay JSON reports side by side, or merge the shards of a run')
    .argument('<files...>', 'JSON reports')
    .option('--markdown', 'the matrix as a markdown table')
    .option('--merge', 'make one report of the shards of a run; the exit code is that of the whole')
    .option('--strict', 'with --merge: as in run')
    .option('--report <format[=file]>', 'with --merge: as in run; repeatable', collect)
    .action(async (files: string[], flags: CompareFlags) => {
      const reports = files.map(readReportFile)
      if (flags.merge === true) {
        const merged = mergeReports(reports, await openCorpus(), { strict: flags.strict === true })
        writeReports(merged, readReports(flags.report ?? []), processOutlet(process.env))
        process.exitCode = merged.exitCode
        return
      }
      for (const flag of ['strict', 'report'] as const)
        if (flags[flag] !== undefined) throw new SuiteError('usage', `"--${flag}" goes with "--merge"`)
      const matrix = matrixOf(reports, files)
      process.stdout.write(flags.markdown === true ? renderMatrixMarkdown(matrix) : renderMatrixText(matrix))
    })
}
