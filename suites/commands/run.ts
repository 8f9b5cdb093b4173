import { randomInt } from 'node:crypto'
import type { Command } from 'commander'
import type { KnownEntry } from '../report/model.ts'
import { renderPlan } from '../report/plan-text.ts'
import { readBaseline, writeBaseline } from '../run/baseline-file.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import type { RunFlags } from '../run/flags.ts'
import { demandPlaceFor } from '../run/inputs.ts'
import { type RunOptions, readRunOptions } from '../run/options.ts'
import { type PlannedRun, planRun } from '../run/plan-run.ts'
import { reportRun } from '../run/report-run.ts'
import { runSuite } from '../run/run-suite.ts'
import { packageVersion } from './package-version.ts'
import { noProgress, type Progress, startProgress } from './progress.ts'
import { addRunFlags } from './run-flags.ts'
import { type Outlet, processOutlet, writeReports } from './write-reports.ts'

/** Adds `run` to the command line. */
export function registerRun(program: Command): void {
  addRunFlags(
    program
      .command('run')
      .description('ask a server every scenario and report which sentences it keeps; without --url the bundled server'),
  ).action(async (flags: RunFlags) => {
    process.exitCode = await run(readRunOptions(flags, process.env))
  })
}

/** @returns the exit code of the documented table */
async function run(options: RunOptions): Promise<number> {
  const started = new Date()
  const startedMs = performance.now()
  const outlet = processOutlet(process.env)
  const corpus = await openCorpus()
  const { known: file, updateKnown } = options.reporting
  const known = file === null ? [] : readBaseline(file, corpus, updateKnown)
  const planned = planRun(options, corpus)
  demandWritable(options)
  if (options.plan) {
    outlet.stdout(renderPlan(planned.plan, { ids: true, columns: outlet.columns }))
    return 0
  }
  if (options.target !== null) outlet.stderr(renderPlan(planned.plan, { ids: false, columns: outlet.columns }))
  const seed = randomInt(2 ** 32)
  const progress = progressOf(options, planned)
  const result = await runSuite({
    options,
    corpus,
    selected: planned.selected,
    seed,
    listener: progress.listener,
    say: (line) => outlet.stderr(`${line}\n`),
  })
  progress.end()
  const version = packageVersion()
  const durationMs = Math.round(performance.now() - startedMs)
  const made = reportRun({ options, corpus, planned, result, known, version, seed, started, durationMs })
  if (made.updated !== null && file !== null) {
    writeBaseline(file, made.updated)
    outlet.stderr(`${baselineSentence(file, known, made.updated)}\n`)
  }
  writeReports(made.report, options.reporting.reports, outlet)
  tellDefects(result.defects, outlet)
  // A worker that does not end would keep the process alive.
  if (result.isStuck) setTimeout(() => process.exit(), stuckProcessMs).unref()
  return made.report.exitCode
}

/** Time for what is still to be written to a pipe. */
const stuckProcessMs = 1000

/** Without a terminal a run of the bundled server is over before progress would say much. */
function progressOf({ target, reporting }: RunOptions, { selected }: PlannedRun): Progress {
  const showsText = reporting.reports.some(({ file }) => file === null)
  if (target === null && !process.stderr.isTTY && showsText) return noProgress
  return startProgress(selected.length, process.stderr)
}

function tellDefects(defects: readonly string[], outlet: Outlet): void {
  const [defect] = defects
  if (defect === undefined) return
  const cases = defects.length === 1 ? '1 case' : `${defects.length} cases`
  outlet.stderr(`The suite itself failed in ${cases}, which is a defect of the suite: ${defect}\n`)
}

function baselineSentence(file: string, before: readonly KnownEntry[], after: readonly KnownEntry[]): string {
  const added = after.filter((entry) => !before.includes(entry)).length
  const removed = before.filter((entry) => !after.includes(entry)).length
  const todo = added === 0 ? '' : '; say in it why each new one is known'
  return `Wrote ${file}: ${after.length} known failures, ${added} added, ${removed} removed${todo}`
}

/** A run may take minutes and make keys: that its results can be written is seen before it begins. */
function demandWritable({ reporting, target, plan }: RunOptions): void {
  if (plan) return
  const { reports, known, updateKnown } = reporting
  for (const { file } of reports) if (file !== null) demandPlaceFor(file, 'the report', true)
  if (known !== null && updateKnown) demandPlaceFor(known, 'the baseline', false)
  const testKeys = target?.keys.testKeysFile ?? null
  if (testKeys !== null) demandPlaceFor(testKeys, 'the kept test keys', false)
}
