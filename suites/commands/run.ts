import { randomInt } from 'node:crypto'
import type { Command } from 'commander'
import { expectedCapabilities } from '../capabilities-of.ts'
import { keptCast } from '../cast-file.ts'
import { type Conducted, conduct } from '../conduct.ts'
import { openCorpus } from '../corpus-cache.ts'
import { cannotAsk } from '../engine/capabilities.ts'
import { allItems, skipItem } from '../engine/items.ts'
import { offsetMs } from '../engine/offset.ts'
import { makePlan } from '../engine/plan.ts'
import { buildReport } from '../engine/report/build.ts'
import { updatedKnown } from '../engine/report/known.ts'
import { readKnownFile, writeKnownFile } from '../engine/report/known-file.ts'
import type { KnownEntry, Meta } from '../engine/report/model.ts'
import { renderPlan } from '../engine/report/text.ts'
import { demandPlaceFor } from './inputs.ts'
import { packageVersion } from './package-version.ts'
import { startProgress } from './progress.ts'
import { addRunFlags, type RunFlags } from './run-flags.ts'
import { type RunOptions, readRunOptions } from './run-options.ts'
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
    keptCast(options).flatMap(({ member }) => (member === undefined ? [] : [member])),
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
  const conducted = await conduct({
    options,
    corpus,
    selected,
    seed,
    say: (line) => outlet.stderr(`${line}\n`),
    onStart: (total) => {
      if (options.url !== null || process.stderr.isTTY || !showsText) progress = startProgress(total, process.stderr)
    },
    onOutcome: (outcome) => progress?.row(outcome),
  })
  progress?.end()

  const stopped = conducted.interrupted ? 'The run was interrupted' : (conducted.stopped?.message ?? null)
  const meta: Meta = {
    version: packageVersion(),
    target: options.url ?? 'bundled',
    started: started.toISOString(),
    durationMs: Date.now() - started.getTime(),
    seed: String(seed),
    node: process.versions.node,
    again: options.again,
    allow: [...capabilities.allow],
    clock: conducted.knowledge === null ? null : clockOf(offsetMs(conducted.knowledge.offset)),
    shard: options.shard === null ? null : `${options.shard.index}/${options.shard.count}`,
    stopped,
  }
  const evidence = {
    meta,
    outcomes: [
      ...conducted.outcomes,
      ...skipped.map(({ item, reason }) => skipItem(item, `left out by --skip: ${reason}`)),
    ],
    corpus,
    plan,
    left: conducted.left,
    options: {
      strict: options.strict,
      partial: options.shard !== null ? ('shard' as const) : options.only.length > 0 ? ('only' as const) : null,
      skipped: options.skip,
      ownExitCode: ownExitCodeOf(conducted),
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
  const [defect] = conducted.defects
  if (defect !== undefined && !conducted.interrupted) {
    const rows = conducted.defects.length === 1 ? '1 row' : `${conducted.defects.length} rows`
    outlet.stderr(`The suite itself failed in ${rows}, which is a defect of the suite: ${defect}\n`)
  }
  return ownExitCodeOf(conducted) ?? report.exitCode
}

/** Of a run that ended in a way of its own; null where its rows decide. */
function ownExitCodeOf({ interrupted, stopped, defects }: Conducted): number | null {
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
function demandWritable({ reports, known, updateKnown, castFile, url, plan }: RunOptions): void {
  if (plan) return
  for (const { file } of reports) if (file !== null) demandPlaceFor(file, 'the report', true)
  if (known !== null && updateKnown) demandPlaceFor(known, 'the baseline', false)
  if (castFile !== null && url !== null) demandPlaceFor(castFile, 'the kept cast', false)
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
