/** One run from start to clean-up, and its report. */
import { skipItem } from '../engine/conversation/cases.ts'
import { offsetMs, type TargetFacts } from '../engine/conversation/target-facts.ts'
import { interruptedExitCode } from '../engine/errors.ts'
import { withoutReason } from '../explore/findings.ts'
import { exploredOf } from '../explore/report.ts'
import { buildReport, updatedKnown } from '../report/build.ts'
import type { RequirementSet } from '../report/outcomes.ts'
import { stopText } from '../report/problem-text.ts'
import type { KnownEntry, Meta, Report } from '../report/report.ts'
import { safetyClasses } from './capabilities.ts'
import { type Endings, openEndings } from './ending.ts'
import { listeningFindings } from './explore/listen-to-cases.ts'
import { cleanUpLimitMs } from './keys.ts'
import { runInWorkers, type SuiteResult, type SuiteRun } from './run-vitest.ts'
import { requestFor, type WorkerRequest } from './worker.ts'

/**
 * Runs the selected items in workers; against a URL with the preflight before, the model among them and the clean-up afterwards.
 *
 * @throws SuiteError (`unreachable`, exit code 3; `interrupted`, exit code 130) when the target cannot be used at all
 */
export async function runSuite(suite: SuiteRun): Promise<SuiteResult> {
  const { options, say } = suite
  const { target, timeout: timeoutSeconds } = options
  const cleansUp = target?.settings.cleanup !== undefined
  const endings = openEndings({
    timeoutSeconds,
    cleanUpMs: cleansUp && target.allow.includes('keys') ? cleanUpLimitMs : 0,
    tell: () => say(cleansUp ? 'Interrupted: cleaning up; press Ctrl-C again to leave at once' : 'Interrupted'),
  })
  const request = requestOf(suite, endings)
  try {
    if (target !== null) {
      const { runAgainstUrl } = await import('./run-against-url.ts')
      return await runAgainstUrl(suite, target, request, endings)
    }
    return { ...(await runInWorkers(suite, request, endings)), exploration: null, left: [] }
  } finally {
    endings.stop()
  }
}

function requestOf({ options, corpus, planned, seed, known }: SuiteRun, { cases }: Endings): WorkerRequest {
  const { target, trace, bail } = options
  const unique = Date.now().toString(36)
  return requestFor({
    url: target,
    corpus,
    allow: target?.allow ?? safetyClasses,
    items: planned.selected.map(({ key }) => key),
    seed,
    unique,
    trace,
    bail: bail === null ? null : { failures: bail, known },
    taken: target === null ? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT) : null,
    channel: `svc-conformance-${process.pid}-${unique}`,
    endsAtMs: cases.endsAtMs,
  })
}

const goneExitCode = 3
const defectExitCode = 2
/** A smaller offset may be due to the resolution of the Date header. */
const notableOffsetMs = 2000

/** A finished run. */
interface FinishedRun extends SuiteRun {
  result: SuiteResult
  /** The frozen set that judges; null: every case does. */
  set: RequirementSet | null
  /** Of this package. */
  version: string
  started: Date
  durationMs: number
}

/** What a run prints and writes. */
interface RunReport {
  report: Report
  /** The baseline to write; null if it stays unchanged. */
  updated: KnownEntry[] | null
}

/** Builds the report of a run, and the baseline for `--update-known`. Pure. */
export function reportRun(run: FinishedRun): RunReport {
  const { options, known, result } = run
  const ownExitCode = ownExitCodeOf(result)
  const report = reportWith(run, known, ownExitCode)
  if (!options.updateKnown || result.stopped !== null) return { report, updated: null }
  const updated = updatedKnown(report, known)
  // Failures that are written to the baseline now count as known.
  const again = reportWith(run, updated, ownExitCode)
  return { report: again, updated }
}

function reportWith(run: FinishedRun, known: readonly KnownEntry[], ownExitCode: number | null): Report {
  const { options, corpus, planned, result } = run
  const explored = (result.exploration?.findings ?? []).map(withoutReason)
  return buildReport({
    meta: metaOf(run),
    outcomes: [
      ...result.outcomes,
      ...planned.skipped.map(({ item, reason }) => skipItem(item, { kind: 'left-out', reason })),
    ],
    corpus,
    findings: [...explored, ...listeningFindings(result.outcomes, explored)],
    explored: result.exploration === null ? null : exploredOf(result.exploration),
    known,
    set: run.set,
    plan: planned.plan,
    left: result.left,
    options: {
      strict: options.strict,
      partial: options.shard !== null ? 'shard' : planned.isPartial ? 'only' : null,
      skipped: options.skip,
      ownExitCode,
    },
  })
}

function metaOf({ options, result, version, seed, started, durationMs }: FinishedRun): Meta {
  const { target, shard, set, again } = options
  const { facts, stopped } = result
  return {
    version,
    target: target?.url ?? 'bundled',
    started: started.toISOString(),
    durationMs,
    seed: String(seed),
    node: process.versions.node,
    set,
    again,
    allow: [...(target?.allow ?? safetyClasses)],
    absent: [...(target?.settings.absent ?? [])],
    clock: facts === null ? null : clockOf(facts),
    shard: shard === null ? null : `${shard.index}/${shard.count}`,
    stopped: stopped === null ? null : stopText(stopped),
  }
}

/** The exit code of a run that was interrupted or lost its target; null if its cases decide. */
function ownExitCodeOf({ stopped, defects }: SuiteResult): number | null {
  if (stopped?.kind === 'interrupted') return interruptedExitCode
  if (defects.length > 0) return defectExitCode
  return stopped?.kind === 'gone' ? goneExitCode : null
}

function clockOf({ offset, wrongDateMs }: TargetFacts): Meta['clock'] {
  if (wrongDateMs !== undefined)
    return {
      offsetMs: 0,
      sentence: `Your server's Date header is ${distance(wrongDateMs)} the clock by which it checks signatures, so the header is not used`,
    }
  const aheadMs = offsetMs(offset)
  const sentence =
    Math.abs(aheadMs) < notableOffsetMs
      ? "Your server's clock agrees with ours"
      : `Your server's clock is ${distance(aheadMs)} ours`
  return { offsetMs: aheadMs, sentence }
}

const distanceUnits = [
  { unit: 'days', ms: 86_400_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'min', ms: 60_000 },
] as const

function distance(aheadMs: number): string {
  const { unit, ms } = distanceUnits.find((one) => Math.abs(aheadMs) >= 2 * one.ms) ?? { unit: 's', ms: 1000 }
  return `${Math.round(Math.abs(aheadMs) / ms)} ${unit} ${aheadMs > 0 ? 'ahead of' : 'behind'}`
}
