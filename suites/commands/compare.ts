import type { Command } from 'commander'
import { usageError } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import { line, lines } from '../engine/printable.ts'
import { mergeReports } from '../report/build.ts'
import { comparisonPage } from '../report/compare/build-comparison.ts'
import { addReport, type Comparison, noComparison } from '../report/compare/comparison.ts'
import { renderMatrix } from '../report/compare/tables.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { demandPlaceFor, replaceFile } from '../run/files.ts'
import { everyCase, readReportFile, readRequirementSet } from '../run/inputs.ts'
import { readReports } from '../run/values.ts'
import { packageVersion, writeError, writeOut } from './console.ts'
import { collect } from './run-flags.ts'
import { writeReports } from './write-reports.ts'

interface CompareFlags {
  markdown?: boolean
  html?: string
  merge?: boolean
  strict?: boolean
  report?: string[]
}

const afterHelp = `
Exit codes: 0 compared; 2 wrong usage. With "--merge" the exit code is that of the whole run, see "run --help".

  npx svc-conformance compare a.json b.json
  npx svc-conformance compare --html servers.html reports/*.json
  npx svc-conformance compare --merge shard-1.json shard-2.json --report json=whole.json`

/** `compare REPORT…`: reports side by side, on a page of many servers, or with `--merge` the shards of one run as one report. */
export function registerCompare(program: Command): void {
  program
    .command('compare')
    .description('compare JSON reports side by side, or merge the shards of a run')
    .argument('<reports...>', 'JSON reports (run --report json=FILE)')
    .option('--markdown', 'print a Markdown table')
    .option('--html <file>', 'write one page of all servers, with their changes and trends')
    .option('--merge', 'merge the shards of a run into one report; the exit code is that of the whole run')
    .option('--strict', 'with --merge: as in run')
    .option('--report <format[=file]>', 'with --merge: as in run; repeatable', collect)
    .addHelpText('after', afterHelp)
    .action(async (files: string[], flags: CompareFlags) => {
      demandFlagsTogether(flags)
      if (flags.merge === true) return merge(files, flags)
      if (flags.html !== undefined) return writePage(files, flags.html)
      const markdown = flags.markdown === true
      writeOut(renderMatrix(files.map(readReportFile), { files, markdown }))
    })
}

function demandFlagsTogether(flags: CompareFlags): void {
  if (flags.merge !== true) {
    for (const flag of ['strict', 'report'] as const)
      if (flags[flag] !== undefined) throw usageError(`"--${flag}" goes with "--merge"`)
  }
  const given = (['merge', 'html', 'markdown'] as const).filter((flag) => flags[flag] !== undefined)
  if (given.length > 1) throw usageError(`Choose one of ${given.map((flag) => `"--${flag}"`).join(' and ')}`)
}

async function merge(files: readonly string[], flags: CompareFlags): Promise<void> {
  const reports = files.map(readReportFile)
  const set = readRequirementSet(reports[0]?.meta.set ?? everyCase)
  const merged = mergeReports(reports, await openCorpus(), { strict: flags.strict === true, set })
  writeReports(merged, readReports(flags.report ?? []))
  process.exitCode = merged.exitCode
}

async function writePage(files: readonly string[], file: string): Promise<void> {
  demandPlaceFor(file, 'the page', true)
  // One at a time: a thousand reports would not fit into memory together.
  const comparison = files.reduce<Comparison>((all, one) => addReport(all, readReportFile(one)), noComparison)
  replaceFile(file, await comparisonPage(comparison, { version: packageVersion(), made: new Date() }), 'the page')
  const servers = counted(comparison.servers.length, 'server')
  writeError(lines([line`Wrote ${file}: ${servers}, ${counted(files.length, 'report')}`]))
}
