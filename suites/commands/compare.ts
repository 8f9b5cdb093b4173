import { usageError } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import { line, lines } from '../engine/printable.ts'
import { mergeReports } from '../report/build.ts'
import { comparisonPage } from '../report/compare/build-comparison.ts'
import { addReport, type Comparison, noComparison } from '../report/compare/comparison.ts'
import { renderMatrix } from '../report/compare/tables.ts'
import { runRenderers } from '../report/formats.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { demandPlaceFor, replaceFile } from '../run/files.ts'
import * as flag from '../run/flags.ts'
import { everyCase, readReportFile, readRequirementSet } from '../run/inputs.ts'
import { packageVersion, writeError, writeOut } from './console.ts'
import { writeFormats } from './write-reports.ts'

const compareFlags = {
  markdown: flag.mark('--markdown', 'print a Markdown table'),
  html: flag.value('--html <file>', 'write one page of all servers, with their changes and trends'),
  merge: flag.mark('--merge', 'merge the shards of a run into one report; the exit code is that of the whole run'),
  strict: flag.mark('--strict', 'with --merge: as in run'),
  report: { ...flag.reportFlag, about: 'with --merge: as in run; repeatable' },
}

const help = `
Exit codes: 0 compared; 2 wrong usage. With "--merge" the exit code is that of the whole run, see "run --help".

  npx svc-conformance compare a.json b.json
  npx svc-conformance compare --html servers.html reports/*.json
  npx svc-conformance compare --merge shard-1.json shard-2.json --report json=whole.json`

/** Reports side by side, on a page of many servers, or with `--merge` the shards of one run as one report. */
export const command: flag.Command<typeof compareFlags, string[]> = {
  about: 'compare JSON reports side by side, or merge the shards of a run',
  operand: ['<reports...>', 'JSON reports (run --report json=FILE)'],
  flags: compareFlags,
  help,
  async run(typed, files) {
    demandFlagsTogether(typed)
    const { merge, html, markdown, strict, report } = flag.read(compareFlags, typed)
    if (html !== null) return writePage(files, html)
    const reports = files.map(readReportFile)
    if (!merge) return writeOut(renderMatrix(reports, { files, markdown }))
    const set = readRequirementSet(reports[0]?.meta.set ?? everyCase)
    const merged = mergeReports(reports, await openCorpus(), { strict, set })
    writeFormats(merged, runRenderers(), report)
    return merged.exitCode
  },
}

function demandFlagsTogether(typed: flag.Typed<typeof compareFlags>): void {
  if (typed.merge === undefined) {
    for (const flag of ['strict', 'report'] as const)
      if (typed[flag] !== undefined) throw usageError(`"--${flag}" goes with "--merge"`)
  }
  const chosen = (['merge', 'html', 'markdown'] as const).filter((flag) => typed[flag] !== undefined)
  if (chosen.length > 1) throw usageError(`Choose one of ${chosen.map((flag) => `"--${flag}"`).join(' and ')}`)
}

async function writePage(files: readonly string[], file: string): Promise<void> {
  demandPlaceFor(file, 'the page', true)
  // One at a time: a thousand reports would not fit into memory together.
  const comparison = files.reduce<Comparison>((all, one) => addReport(all, readReportFile(one)), noComparison)
  replaceFile(file, await comparisonPage(comparison, { version: packageVersion(), made: new Date() }), 'the page')
  const servers = counted(comparison.servers.length, 'server')
  writeError(lines([line`Wrote ${file}: ${servers}, ${counted(files.length, 'report')}`]))
}
