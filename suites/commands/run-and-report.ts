import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { interruptedExitCode, SuiteError } from '../engine/errors.ts'
import { counted } from '../engine/group.ts'
import { line, lines, printable } from '../engine/printable.ts'
import type { KnownEntry } from '../report/report.ts'
import { renderPlan } from '../report/text.ts'
import { openCorpusWith } from '../run/corpus-cache.ts'
import { listenForSignals } from '../run/ending/signals.ts'
import { readBaseline, writeBaseline } from '../run/options/baseline-file.ts'
import { demandOwnFiles } from '../run/options/demand-own-files.ts'
import type { RunOptions } from '../run/options/options.ts'
import { failedIds } from '../run/options/report-file.ts'
import { readRequirementSet } from '../run/options/requirement-sets.ts'
import { type PlannedRun, planRun } from '../run/plan-run.ts'
import { type FinishedRun, reportRun } from '../run/report-run.ts'
import { packageVersion } from './package-version.ts'
import type { Progress } from './progress.ts'
import { type Outlet, processOutlet, writeReports } from './write-reports.ts'

const usualTargetFile = 'svc-target.yaml'
const unusableExitCode = 3
/** The time to write remaining output to a pipe. In ms. */
const stuckProcessMs = 1000

/** Runs once, or with `--watch` again and again, and sets the exit code of the documented table. */
export async function runAndReport(options: RunOptions, progress: Progress): Promise<void> {
  const outlet = processOutlet(process.env)
  if (options.target === null && existsSync(usualTargetFile))
    progress.say(
      `${usualTargetFile} is here, and is not used unless it is named: npx svc-conformance run --target ${usualTargetFile}`,
    )
  const first = await runOnce(options, outlet, progress, null)
  process.exitCode = first.exitCode
  if (options.selection.watch) await watch(options, outlet, progress, first)
}

interface Ran {
  exitCode: number
  /** The cases that `--watch` runs next; null: those that the options select. */
  again: readonly string[] | null
}

/** Runs again whenever the target comes back, until Ctrl-C. */
async function watch(options: RunOptions, outlet: Outlet, progress: Progress, first: Ran): Promise<void> {
  const { target } = options
  if (target === null) return
  const { targetReturned } = await import('../run/ending/target-return.ts')
  for (let ran = first; ran.exitCode !== interruptedExitCode; ) {
    progress.say(`Waiting until ${target.url} goes away and comes back; Ctrl-C ends`)
    const controller = new AbortController()
    const stopListening = listenForSignals({ first: () => controller.abort(), second: () => {} })
    const isBack = await targetReturned(target, controller.signal)
    stopListening()
    if (!isBack) return
    ran = await runOnce(options, outlet, progress, ran.again).catch((error: unknown) => {
      // A server that is being fixed may come back broken.
      if (!(error instanceof SuiteError) || error.exitCode !== unusableExitCode) throw error
      progress.say(error.message)
      return { exitCode: error.exitCode, again: ran.again }
    })
    process.exitCode = ran.exitCode
  }
}

/** @param again the cases to run instead of those that the options select; null: the options decide */
async function runOnce(
  options: RunOptions,
  outlet: Outlet,
  progress: Progress,
  again: readonly string[] | null,
): Promise<Ran> {
  const started = new Date()
  const startedMs = performance.now()
  const { selection, reporting } = options
  const corpus = await openCorpusWith(selection.fixtures)
  const known = reporting.known === null ? [] : readBaseline(reporting.known, corpus, reporting.updateKnown)
  const set = readRequirementSet(reporting.set)
  const planned = again === null ? planRun(options, corpus) : planRun(options, corpus, again)
  demandOwnFiles(options)
  if (!printPlan(options, planned, outlet, progress)) return { exitCode: 0, again: null }
  const seed = selection.seed ?? randomInt(2 ** 32)
  const { runSuite } = await import('../run/run-suite.ts')
  const result = await runSuite({
    options,
    corpus,
    selected: planned.selected,
    seed,
    known,
    listener: progress.listener,
    say: progress.say,
  })
  progress.end()
  const durationMs = Math.round(performance.now() - startedMs)
  const version = packageVersion()
  return print({ options, corpus, planned, result, known, set, version, seed, started, durationMs }, outlet)
}

/** @returns whether the run goes on */
function printPlan(
  { plan, target, selection }: RunOptions,
  planned: PlannedRun,
  outlet: Outlet,
  progress: Progress,
): boolean {
  if (planned.selected.length === 0 && !selection.rowsAlone) {
    progress.say(`Nothing failed or was blocked in ${selection.failed ?? 'the last run'}`)
    return false
  }
  if (plan) {
    outlet.stdout(renderPlan(planned.plan, { ids: true, columns: outlet.columns }))
    return false
  }
  if (target !== null) progress.say(renderPlan(planned.plan, { ids: false, columns: outlet.columns }).trimEnd())
  progress.begin(target?.url ?? 'the bundled server')
  progress.start(planned.selected.length, planned.reported, planned.work, planned.plan.model !== undefined)
  return true
}

function print(finished: FinishedRun, outlet: Outlet): Ran {
  const { options, known, result } = finished
  const { reporting } = options
  const made = reportRun(finished)
  if (made.updated !== null && reporting.known !== null) {
    writeBaseline(reporting.known, made.updated)
    outlet.stderr(lines([printable(baselineSentence(reporting.known, known, made.updated))]))
  }
  writeReports(made.report, reporting.reports, { ...outlet, observations: reporting.observations })
  printDefects(result.defects, outlet)
  if (result.isStuck) leaveStuckWorker(made.report.exitCode)
  const failed = failedIds(made.report)
  return { exitCode: made.report.exitCode, again: failed.length === 0 ? null : failed }
}

/** A worker that does not end would keep the process alive, and vitest may still set another exit code. */
function leaveStuckWorker(exitCode: number): void {
  process.on('exit', () => {
    process.exitCode = exitCode
  })
  setTimeout(() => process.exit(exitCode), stuckProcessMs).unref()
}

function printDefects(defects: readonly string[], outlet: Outlet): void {
  const [defect] = defects
  if (defect === undefined) return
  const cases = counted(defects.length, 'case')
  outlet.stderr(lines([line`The suite itself failed in ${cases}, which is a defect of the suite: ${defect}`]))
}

function baselineSentence(file: string, before: readonly KnownEntry[], after: readonly KnownEntry[]): string {
  const added = after.filter((entry) => !before.includes(entry)).length
  const removed = before.filter((entry) => !after.includes(entry)).length
  const todo = added === 0 ? '' : '; say in it why each new one is known'
  return `Wrote ${file}: ${after.length} known failures, ${added} added, ${removed} removed${todo}`
}
