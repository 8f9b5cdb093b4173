import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { interruptedExitCode, SuiteError, unusableExitCode, usageError } from '../engine/errors.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { line, lines, printable } from '../engine/printable.ts'
import { runRenderers } from '../report/formats.ts'
import type { KnownEntry } from '../report/report.ts'
import { renderPlan } from '../report/tell.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { listenForSignals } from '../run/ending.ts'
import type * as flag from '../run/flags.ts'
import { failedIds, readBaseline, readRequirementSet, writeBaseline } from '../run/inputs.ts'
import { demandOwnFiles, type RunOptions, readRunOptions, runFlags } from '../run/options.ts'
import { planRun } from '../run/plan.ts'
import { startThreads } from '../run/threads.ts'
import { packageVersion, writeError, writeOut } from './console.ts'
import { startProgress } from './progress.ts'
import { lookOfStdout, writeFormats } from './write-reports.ts'

type Progress = ReturnType<typeof startProgress>

const help = `
Exit codes: 0 conforms, or only known failures, or some musts are not testable here; 1 a failure, a
blocked case, or a stale baseline entry; 2 wrong usage; 3 the target cannot be used; 130
interrupted. The report goes to stdout, the plan and the progress to stderr.

  npx svc-conformance run                                       the bundled server
  npx svc-conformance run --url http://127.0.0.1:8080 --plan    what a run would do there
  npx svc-conformance run --url http://127.0.0.1:8080 --disposable --report html=report.html`

export const command: flag.Command<typeof runFlags, string | undefined> = {
  about: 'run every scenario against a server, and report which sentences it breaks; without --url the bundled server',
  operand: ['[url]', 'the same as --url'],
  flags: runFlags,
  help,
  async run(typed, url) {
    const flags = withUrl(typed, url)
    const progress = startProgress(process.stderr)
    try {
      await runAndReport(readRunOptions(flags, process.env), progress)
    } finally {
      progress.end()
    }
  },
}

/** Matches texts that begin like a URL, or like a host with a port. */
const likeUrl = /^https?:|^[\w.-]+:\d|^\[|^[\w-]+(\.[\w-]+)+(\/|$)/

/** `run http://…` means `run --url http://…`. @throws SuiteError (`usage`) for any other word */
function withUrl(flags: flag.Typed<typeof runFlags>, url: string | undefined): flag.Typed<typeof runFlags> {
  if (url === undefined) return flags
  if (flags.url !== undefined) throw usageError(`Name the server once: "${url}" and "--url ${flags.url}" were given`)
  if (!likeUrl.test(url))
    throw usageError(`Cannot use "${url}": name the server with "--url", and cases with "--only ${url}"`)
  return { ...flags, url }
}

const usualTargetFile = 'svc-target.yaml'

/** Runs once, or with `--watch` again and again, and sets the exit code of the documented table. */
async function runAndReport(options: RunOptions, progress: Progress): Promise<void> {
  if (options.target === null && existsSync(usualTargetFile))
    progress.say(
      `${usualTargetFile} is here, and is not used unless it is named: npx svc-conformance run --target ${usualTargetFile}`,
    )
  for (const doubt of options.target?.doubts ?? []) progress.say(doubt)
  const first = await runOnce(options, progress, null)
  process.exitCode = first.exitCode
  if (options.watch) await watch(options, progress, first)
}

interface Ran {
  exitCode: number
  /** The cases that `--watch` runs next; null: those that the options select. */
  again: readonly string[] | null
}

/** Runs again whenever the target comes back, until Ctrl-C. */
async function watch(options: RunOptions, progress: Progress, first: Ran): Promise<void> {
  const { target } = options
  if (target === null) return
  const { targetReturned } = await import('../run/target-return.ts')
  for (let ran = first; ran.exitCode !== interruptedExitCode; ) {
    progress.say(`Waiting until ${target.url} goes away and comes back; Ctrl-C ends`)
    const controller = new AbortController()
    const stopListening = listenForSignals(() => controller.abort())
    const isBack = await targetReturned(target, controller.signal)
    stopListening()
    if (!isBack) return
    ran = await runOnce(options, progress, ran.again).catch((error: unknown) => {
      // A server that is being fixed may come back broken.
      if (!(error instanceof SuiteError) || error.exitCode !== unusableExitCode) throw error
      progress.say(error.message)
      return { exitCode: error.exitCode, again: ran.again }
    })
    process.exitCode = ran.exitCode
  }
}

/** @param again the cases to run instead of those that the options select; null: the options decide */
async function runOnce(options: RunOptions, progress: Progress, again: readonly string[] | null): Promise<Ran> {
  const started = new Date()
  const startedMs = performance.now()
  const threads = startThreads(options)
  const corpus = await openCorpusWith(options.fixtures)
  const known = options.known === null ? [] : readBaseline(options.known, corpus, options.updateKnown)
  const set = readRequirementSet(options.set)
  const planned = planRun(options, corpus, again)
  demandOwnFiles(options)
  if (!printPlan(options, planned, progress)) return { exitCode: 0, again: null }
  const seed = options.seed ?? randomInt(2 ** 32)
  const { listener, say } = progress
  const { reportRun, runSuite } = await import('../run/run-suite.ts')
  const suite = { options, corpus, planned, seed, known, listener, say, threads }
  // A signal between the end of the cases and the report does not take the report away.
  const stopListening = listenForSignals(() => {})
  try {
    const result = await runSuite(suite).finally(threads.close)
    progress.end()
    const durationMs = Math.round(performance.now() - startedMs)
    const { report, updated } = reportRun({ ...suite, result, set, version: packageVersion(), started, durationMs })
    if (updated !== null && options.known !== null) {
      writeBaseline(options.known, updated)
      writeError(lines([printable(baselineSentence(options.known, known, updated))]))
    }
    writeFormats(report, runRenderers(), options.report, options)
    const [defect] = result.defects
    if (defect !== undefined) {
      const more = result.defects.length === 1 ? '' : ` (and ${result.defects.length - 1} more)`
      writeError(lines([line`The suite itself failed, which is a defect of the suite: ${defect}${more}`]))
    }
    if (result.isStuck) leaveStuckWorker(report.exitCode)
    const failed = failedIds(report)
    return { exitCode: report.exitCode, again: failed.length === 0 ? null : failed }
  } finally {
    stopListening()
  }
}

/** @returns whether the run goes on */
function printPlan(
  { plan, target, failed, rowsAlone }: RunOptions,
  planned: ReturnType<typeof planRun>,
  progress: Progress,
): boolean {
  if (planned.selected.length === 0 && !rowsAlone) {
    progress.say(`Nothing failed or was blocked in ${failed ?? 'the last run'}`)
    return false
  }
  const { columns } = lookOfStdout()
  if (plan) {
    writeOut(renderPlan(planned.plan, { ids: true, columns }))
    return false
  }
  if (target !== null) progress.say(renderPlan(planned.plan, { ids: false, columns }).trimEnd())
  progress.begin(target?.url ?? 'the bundled server')
  progress.start(planned.selected.length, planned.reported, planned.work, planned.plan.model !== undefined)
  return true
}

function baselineSentence(file: string, before: readonly KnownEntry[], after: readonly KnownEntry[]): string {
  const added = after.filter((entry) => !before.includes(entry)).length
  const removed = before.filter((entry) => !after.includes(entry)).length
  const todo = added === 0 ? '' : '; say in it why each new one is known'
  return `Wrote ${file}: ${after.length} known failures, ${added} added, ${removed} removed${todo}`
}

/** The time to write remaining output to a pipe. In ms. */
const stuckProcessMs = 1000

/** A thread that does not end would keep the process alive. */
function leaveStuckWorker(exitCode: number): void {
  setTimeout(() => process.exit(exitCode), stuckProcessMs).unref()
}

/** Returns the corpus with a user's own scenarios added. @throws SuiteError (`fixture`) */
async function openCorpusWith(fixtures: string | null): Promise<Corpus> {
  const corpus = await openCorpus()
  if (fixtures === null) return corpus
  const { loadOwnScenarios } = await import('../engine/language/corpus.ts')
  return { ...corpus, scenarios: [...corpus.scenarios, ...loadOwnScenarios(fixtures, corpus)] }
}
