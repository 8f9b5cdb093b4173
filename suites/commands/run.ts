import { randomInt } from 'node:crypto'
import type { Command } from 'commander'
import { allItems, skipItem } from '../engine/case/cases.ts'
import { offsetMs } from '../engine/case/clock-offset.ts'
import { buildReport } from '../report/build.ts'
import { updatedKnown } from '../report/known.ts'
import { readKnownFile, writeKnownFile } from '../report/known-file.ts'
import type { KnownEntry, Meta } from '../report/model.ts'
import { renderPlan } from '../report/text.ts'
import { cannotAsk } from '../run/capabilities.ts'
import { openCorpus } from '../run/corpus-cache.ts'
import { expectedCapabilities } from '../run/expected-capabilities.ts'
import { demandPlaceFor } from '../run/inputs.ts'
import { type RunOptions, readRunOptions } from '../run/options.ts'
import { makePlan } from '../run/plan.ts'
import { runSuite, type SuiteResult } from '../run/run-suite.ts'
import { keptTestKeys } from '../run/test-keys-file.ts'
import { packageVersion } from './package-version.ts'
import { startProgress } from './progress.ts'
import { addRunFlags, type RunFlags } from './run-flags.ts'
import { select } from './select.ts'
import { lockUrl } from './shard-lock.ts'
import { processOutlet, writeReports } from './write-reports.ts'

/** 128 + SIGINT. */
const interruptedExitCode = 130
const goneExitCode = 3
const defectExitCode = 2
/** Below this an offset is as likely the resolution of the Date header. */
const notableOffsetMs = 2000

/** Adds `run` to the command line. */
export function registerRun(program: Command): void {
  addRunFlags(
    program
      .command('run')
      .description('ask a server every scenario and report which sentences it keeps; without --url the bundled server'),
  ).action(async (flags: RunFlags) => {
    const options = readRunOptions(flags, process.env)
    const unlock = options.shard !== null && options.url !== null ? lockUrl(options.url) : () => {}
    try {
      process.exitCode = await run(options)
    } finally {
      unlock()
    }
  })
}

/** @returns the exit code of the documented table */
async function run(options: RunOptions): Promise<number> {
  const started = new Date()
  const corpus = await openCorpus()
  const known = options.known === null ? [] : readKnownFile(options.known, corpus, options.updateKnown)
  const items = allItems(corpus)
  const { selected, skipped } = select(items, options)
  demandWritable(options)
  const capabilities = expectedCapabilities(
    options,
    corpus,
    keptTestKeys(options).flatMap(({ member }) => (member === undefined ? [] : [member])),
  )
  const notSelected = items.length - selected.length - skipped.length
  const plan = makePlan(selected, notSelected, (item) => cannotAsk(item, capabilities), capabilities)
  const outlet = processOutlet(process.env)
  if (options.plan) {
    outlet.stdout(renderPlan(plan, { ids: true, columns: outlet.columns }))
    return 0
  }
  if (options.url !== null) outlet.stderr(renderPlan(plan, { ids: false, columns: outlet.columns }))

  const seed = randomInt(2 ** 32)
  const showsText = options.reports.some(({ file }) => file === null)
  let progress: ReturnType<typeof startProgress> | undefined
  const suiteResult = await runSuite({
    options,
    corpus,
    selected,
    seed,
    say: (line) => outlet.stderr(`${line}\n`),
    onStart: (total) => {
      if (options.url !== null || process.stderr.isTTY || !showsText) progress = startProgress(total, process.stderr)
    },
    onOutcome: (outcome) => progress?.testCase(outcome),
  })
  progress?.end()

  const stopped = suiteResult.interrupted ? 'The run was interrupted' : (suiteResult.stopped?.message ?? null)
  const meta: Meta = {
    version: packageVersion(),
    target: options.url ?? 'bundled',
    started: started.toISOString(),
    durationMs: Date.now() - started.getTime(),
    seed: String(seed),
    node: process.versions.node,
    again: options.again,
    allow: [...capabilities.allow],
    clock: suiteResult.facts === null ? null : clockOf(offsetMs(suiteResult.facts.offset)),
    shard: options.shard === null ? null : `${options.shard.index}/${options.shard.count}`,
    stopped,
  }
  const evidence = {
    meta,
    outcomes: [
      ...suiteResult.outcomes,
      ...skipped.map(({ item, reason }) => skipItem(item, `left out by --skip: ${reason}`)),
    ],
    corpus,
    plan,
    left: suiteResult.left,
    options: {
      strict: options.strict,
      partial: options.shard !== null ? ('shard' as const) : options.only.length > 0 ? ('only' as const) : null,
      skipped: options.skip,
      ownExitCode: ownExitCodeOf(suiteResult),
    },
  }
  let report = buildReport({ ...evidence, known })
  if (options.known !== null && options.updateKnown && stopped === null) {
    const updated = updatedKnown(report.scenarios, report.stale, known)
    writeKnownFile(options.known, updated)
    outlet.stderr(`${baselineSentence(options.known, known, updated)}\n`)
    // What was just written down is known now.
    report = buildReport({ ...evidence, known: updated })
  }
  writeReports(report, options.reports, outlet)
  const [defect] = suiteResult.defects
  if (defect !== undefined && !suiteResult.interrupted) {
    const cases = suiteResult.defects.length === 1 ? '1 case' : `${suiteResult.defects.length} cases`
    outlet.stderr(`The suite itself failed in ${cases}, which is a defect of the suite: ${defect}\n`)
  }
  return ownExitCodeOf(suiteResult) ?? report.exitCode
}

/** Of a run that ended in a way of its own; null where its cases decide. */
function ownExitCodeOf({ interrupted, stopped, defects }: SuiteResult): number | null {
  if (interrupted) return interruptedExitCode
  if (defects.length > 0) return defectExitCode
  return stopped?.kind === 'gone' ? goneExitCode : null
}

function baselineSentence(file: string, before: readonly KnownEntry[], after: readonly KnownEntry[]): string {
  const added = after.filter((entry) => !before.includes(entry)).length
  const removed = before.filter((entry) => !after.includes(entry)).length
  const todo = added === 0 ? '' : '; say in it why each new one is known'
  return `Wrote ${file}: ${after.length} known failures, ${added} added, ${removed} removed${todo}`
}

/** A run may take minutes and make keys: that its results can be written is seen before it begins. */
function demandWritable({ reports, known, updateKnown, testKeysFile, url, plan }: RunOptions): void {
  if (plan) return
  for (const { file } of reports) if (file !== null) demandPlaceFor(file, 'the report', true)
  if (known !== null && updateKnown) demandPlaceFor(known, 'the baseline', false)
  if (testKeysFile !== null && url !== null) demandPlaceFor(testKeysFile, 'the kept test keys', false)
}

function clockOf(offset: number): Meta['clock'] {
  const minutes = Math.abs(offset) / 60_000
  const amount = minutes >= 1 ? `${Math.round(minutes)} min` : `${Math.round(Math.abs(offset) / 1000)} s`
  const sentence =
    Math.abs(offset) < notableOffsetMs
      ? "Your server's clock agrees with ours"
      : `Your server's clock is ${amount} ${offset > 0 ? 'ahead' : 'behind'}`
  return { offsetMs: offset, sentence }
}
