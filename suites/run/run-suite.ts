/** One run in the main thread: preflight, cases (in threads, some of a bundled run here), model, clean-up, report. This thread outlives the others. */
import { setFlagsFromString } from 'node:v8'
import { fillsPlaces, hasRace, type Item, skipItem } from '../engine/conversation/cases.ts'
import { type CreatedKeysEntry, openCreatedKeys, type RunListener } from '../engine/conversation/conversation.ts'
import { offsetMs, type TargetFacts } from '../engine/conversation/target-facts.ts'
import { interruptedExitCode, SuiteError, unusableExitCode } from '../engine/errors.ts'
import type { CaseOutcome, StopReason } from '../engine/judge/problem.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { printable } from '../engine/printable.ts'
import { systemRandom } from '../engine/signer/random.ts'
import type { Target } from '../engine/target.ts'
import type { Exploration } from '../explore/explore.ts'
import type { RequirementSet } from '../report/build.ts'
import { buildReport, updatedKnown } from '../report/build.ts'
import { stopText } from '../report/problem-text.ts'
import type { Finding, KnownEntry, Meta, Report } from '../report/report.ts'
import { safetyClasses } from './capabilities.ts'
import { cleanUpLimitMs, openEndings } from './ending.ts'
import { asEntries, workAtTarget } from './keys.ts'
import type { RunOptions, TargetOptions } from './options.ts'
import type { planRun } from './plan.ts'
import type { RanCases, WorkerRequest } from './run.ts'
import type { startThreads } from './threads.ts'

/** One run, after its options and files were read. */
interface SuiteRun {
  options: RunOptions
  corpus: Corpus
  planned: ReturnType<typeof planRun>
  seed: number
  /** The baseline. */
  known: readonly KnownEntry[]
  listener: RunListener
  threads: ReturnType<typeof startThreads>
  /** Prints one line for the user. */
  say(line: string): void
}

/** The results of the cases. */
interface CasesResult extends RanCases {
  outcomes: CaseOutcome[]
  /** null for the bundled server. */
  facts: TargetFacts | null
  /** A thread did not end in time, so the process must be ended. */
  isStuck: boolean
}

/** The results of a run, and what it left on the target. */
interface SuiteResult extends CasesResult {
  /** What the model found after the cases; null if it made no calls. */
  exploration: Exploration | null
  /** What the model found, by calls of its own or by listening to the cases. */
  findings: Omit<Finding, 'known'>[]
  /** Lines about created keys that are still on the target, and creations whose answer was lost. */
  left: string[]
}

/**
 * Runs the selected items, in threads of their own and partly in this one; against a URL with the preflight before, the model among them and the clean-up afterwards.
 *
 * @throws SuiteError (`unreachable`, exit code 3; `interrupted`, exit code 130) when the target cannot be used at all
 */
export async function runSuite(suite: SuiteRun): Promise<SuiteResult> {
  const { options, corpus, planned, seed, known, say } = suite
  const { target, timeout, trace, bail } = options
  const cleansUp = target?.settings.cleanup !== undefined
  const endings = openEndings({
    timeoutSeconds: timeout,
    cleanUpMs: cleansUp && target.allow.includes('keys') ? cleanUpLimitMs : 0,
    tell: () => say(cleansUp ? 'Interrupted: cleaning up; press Ctrl-C again to leave at once' : 'Interrupted'),
  })
  const unique = Date.now().toString(36)
  const request: WorkerRequest = {
    url: target,
    corpus,
    allow: target?.allow ?? safetyClasses,
    items: planned.selected.map(({ key }) => key),
    seed,
    unique,
    trace,
    bail: bail === null ? null : { failures: bail, met: sharedCount(), known },
    endsAtMs: endings.cases.endsAtMs,
  }
  try {
    if (target !== null) return await runAgainstUrl(suite, target, request, endings)
    return { ...(await runInThreads(suite, request, endings)), exploration: null, findings: [], left: [] }
  } finally {
    endings.stop()
  }
}

/** An Int32 that threads share. */
const sharedCount = (): SharedArrayBuffer => new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)

type Endings = ReturnType<typeof openEndings>

/** Makes the preflight, lets threads run the cases, and removes created keys, also after a failure. */
async function runAgainstUrl(
  suite: SuiteRun,
  options: TargetOptions,
  request: WorkerRequest,
  endings: Endings,
): Promise<SuiteResult> {
  // Loaded first, so that nothing else is done while the preflight measures how near the target is.
  const { runPreflight, stillValidKeys } = await import('./run.ts')
  const { wait, timeout, explore } = suite.options
  const { result, left } = await workAtTarget(options, { say: suite.say, endings }, async (held) => {
    const { target, removeLeftovers } = held
    const listener: RunListener = (event) => {
      suite.listener(event)
      held.listener(event)
    }
    const setup = { ...request, target, random: systemRandom, ending: endings.cases, listener }
    const goOn = (): void => demandToGoOn(endings, timeout)
    const facts = await runPreflight(setup, (wait ?? 0) * 1000).finally(goOn)
    const tested = held.read().keys.filter(held.isKept)
    const kept = await stillValidKeys({ ...setup, facts }, tested)
    const refused = tested.filter((key) => !kept.includes(key)).map(({ id }) => id)
    if (refused.length > 0 && held.record !== null) {
      // They would count as keys on the target.
      for (const removed of refused) held.listener({ kind: 'key-noted', entry: { removed } })
      suite.say(
        printable(`The target refuses test keys that earlier runs kept, so they are forgotten: ${refused.join(', ')}`),
      )
    }
    goOn()
    await removeLeftovers()
    const prepared: WorkerRequest = {
      ...request,
      facts,
      keyRecord: held.record,
      keptTestKeys: kept,
      earlierKeys: asEntries(held.read()),
    }
    if (explore === null) return { ...(await runInThreads(suite, prepared, endings)), exploration: null }
    return runWithModel(suite, { ...explore, options, target, request: prepared, listener: held.listener }, endings)
  })
  const { withoutReason } = await import('../explore/findings.ts')
  const { listeningFindings } = await import('../explore/listen.ts')
  const explored = (result.exploration?.findings ?? []).map(withoutReason)
  return { ...result, left, findings: [...explored, ...listeningFindings(result.outcomes, explored)] }
}

/** @throws SuiteError (`unreachable`) where the run was ended; it also replaces the error of a call that was ended with it */
function demandToGoOn({ cases: { reason } }: Endings, timeoutSeconds: number | null): void {
  if (reason === null) return
  const why = reason.kind === 'time' ? `--timeout ${timeoutSeconds} was too short` : stopText(reason)
  throw new SuiteError('unreachable', `The run ended before its first case: ${why}`)
}

/** `listener` records created keys. */
type WithModel = NonNullable<RunOptions['explore']> & {
  options: TargetOptions
  target: Target
  request: WorkerRequest
  listener: RunListener
}

/**
 * Runs the cases, the model, the cases that fill the places for keys, and last the calls that may lock a key: the model makes its calls
 * while places for keys are free.
 */
async function runWithModel(
  suite: SuiteRun,
  { calls, only, options, target, request, listener }: WithModel,
  endings: Endings,
): Promise<Omit<SuiteResult, 'left' | 'findings'>> {
  const { keptTestKeys = [], earlierKeys = [] } = request
  const entries: CreatedKeysEntry[] = [...earlierKeys]
  // This thread waits for the cases, so it has time to load and prepare the model.
  let loading: Promise<typeof import('./explore.ts')> | undefined
  const load = (): Promise<typeof import('./explore.ts')> => {
    loading ??= import('./explore.ts').then((model) => {
      model.prepareModel()
      return model
    })
    return loading
  }
  const heard: SuiteRun = {
    ...suite,
    listener: (event) => {
      if (event.kind === 'key-noted') entries.push(event.entry)
      if (event.kind === 'case-ended') load()
      suite.listener(event)
    },
  }
  const filling = suite.planned.selected.filter(fillsPlaces)
  const keysOfFilling = filling.map(({ key }) => key)
  const before = request.items.filter((key) => !keysOfFilling.includes(key))
  const first = before.length === 0 ? nothingRan : await runInThreads(heard, { ...request, items: before }, endings)
  if (first.stopped !== null)
    return { ...first, outcomes: [...first.outcomes, ...notReached(suite, filling, first.stopped)], exploration: null }
  const ending = endings.cases
  const { keys } = openCreatedKeys(() => {}, entries.slice(earlierKeys.length))
  const testKeys = [...keptTestKeys, ...keys.filter(({ member }) => member !== undefined)]
  await waitUntilKeysWork(target, { ...request, keptTestKeys: testKeys, earlierKeys: entries }, ending)
  const { openModelOfRun } = await load()
  const race = lostRaceOfSessions(suite, first.outcomes)
  if (race !== undefined)
    suite.say(
      `The model does not judge which sessions are removed: ${race} left more than the limit allows, and they may stay`,
    )
  const places = {
    entries: [...entries],
    testKeys,
    hasPlaces: options.disposable,
    hasSurplusSessions: race !== undefined,
  }
  const model = await openModelOfRun(
    suite,
    options,
    { allow: options.allow, calls, only, ending, ...places },
    (created) => {
      entries.push({ created })
      listener({ kind: 'key-noted', entry: { created } })
    },
  )
  await model.ask()
  const later = { ...request, items: keysOfFilling, keptTestKeys: testKeys, earlierKeys: entries }
  const goesOn = filling.length > 0 && ending.reason === null
  if (goesOn) await waitUntilKeysWork(target, later, ending)
  // Starting a thread takes longer than these few cases.
  const last = goesOn
    ? await runCases(heard, later, endings, async (hear) => [
        await runHere(later, ending, (event) => {
          if (event.kind === 'key-noted') listener(event)
          hear(event)
        }),
      ])
    : { ...first, outcomes: notReached(suite, filling, ending.reason), defects: [] }
  if (goesOn) model.giveWay()
  const exploration = await model.finish()
  return {
    ...last,
    outcomes: [...first.outcomes, ...last.outcomes],
    stopped: ending.reason ?? last.stopped,
    defects: [...first.defects, ...last.defects],
    isStuck: first.isStuck || last.isStuck,
    exploration,
  }
}

/** Waits until root and the test keys work, because wrong calls before may have locked them. */
async function waitUntilKeysWork(target: Target, request: WorkerRequest, ending: Endings['cases']): Promise<void> {
  const { facts = null } = request
  if (facts === null) return
  const { waitForKeys } = await import('./run.ts')
  await waitForKeys({ ...request, target, random: systemRandom, ending, facts })
}

/** The case that lost a race of sessions, if there is one: what it left may stay on the target. */
function lostRaceOfSessions({ planned }: SuiteRun, outcomes: readonly CaseOutcome[]): string | undefined {
  const lost = outcomes.filter(({ requirements }) => requirements['sessions/at-most-sixteen'] === 'failed')
  const races = planned.selected.filter((item) => item.kind === 'case' && hasRace(item.scenario))
  return lost.find(({ key }) => races.some((item) => item.key === key))?.key
}

const nothingRan: CasesResult = { outcomes: [], facts: null, stopped: null, defects: [], isStuck: false }

// The threads.

/** How long to wait for the threads after a run was ended; their calls and waits end at once. In ms. */
const graceMs = 2000

/** Runs the cases in threads, and in this thread, too, where they need help. */
function runInThreads(suite: SuiteRun, asked: WorkerRequest, endings: Endings): Promise<CasesResult> {
  const request = { ...asked, taken: sharedCount() }
  // Optimizing takes a quarter of the processor time of a bundled run, which ends before most of it pays off: only code that runs fifteen
  // times as long as usual is worth it, such as hashing.
  if (request.url === null) setFlagsFromString('--interrupt-budget=1000000')
  const { cases: ending } = endings
  const { threads } = suite
  const wanted = threadsFor(request, threads.most)
  const workers = Math.min(Math.max(1, wanted - 1), threads.count)
  return runCases(suite, request, endings, async (listener) => {
    const sent = { ...request, corpus: JSON.stringify(request.corpus) }
    const there = threads.begin(sent, workers, { ending, listener })
    const here = wanted > workers ? [runHere(request, ending, listener)] : []
    return Promise.all([...there, ...here])
  })
}

/** Collects the results of cases that run in some threads. */
async function runCases(
  { planned, listener }: Pick<SuiteRun, 'planned' | 'listener'>,
  { items, facts = null }: WorkerRequest,
  { cases: ending, cleanUp }: Endings,
  run: (hear: RunListener) => Promise<RanCases[]>,
): Promise<CasesResult> {
  const outcomes = new Map<string, CaseOutcome>()
  /** A thread has had its time to end, or the user presses Ctrl-C again. */
  const stuck = new Promise<null>((resolve) => {
    ending.onEnd(() => setTimeout(() => resolve(null), graceMs).unref())
    // Where the time for all is up at once, what has ended is still told.
    cleanUp.onEnd(({ kind }) => kind === 'interrupted' && resolve(null))
  })
  const hear: RunListener = (event) => {
    if (event.kind === 'case-ended') outcomes.set(event.outcome.key, event.outcome)
    listener(event)
  }
  const ran = await Promise.race([run(hear), stuck])
  const defects = (ran ?? []).flatMap((part) => part.defects)
  const stopped = ending.reason ?? ran?.find((part) => part.stopped !== null)?.stopped ?? null
  const missing = planned.selected.filter(({ key }) => items.includes(key) && !outcomes.has(key))
  if (missing.length > 0 && defects.length === 0) defects.push('a thread ended before its cases did')
  return {
    outcomes: [...outcomes.values(), ...notReached({ planned }, missing, stopped)],
    facts,
    stopped,
    defects: stopped === null ? defects : [],
    isStuck: ran === null,
  }
}

/** Runs cases in this thread. What goes wrong is a defect, as in the others. */
async function runHere(request: WorkerRequest, ending: Endings['cases'], listener: RunListener): Promise<RanCases> {
  const { runRequested } = await import('./run.ts')
  return runRequested(request, { ending, listener }).catch(({ message }: Error) => ({
    defects: [message],
    stopped: null,
  }))
}

/** The minimum number of cases for one more thread; fewer finish before it is ready. */
const leastCases = 100

/** Cases against the bundled server share nothing and run in several threads. Cases on one server run in one. */
function threadsFor({ url, items }: WorkerRequest, most: number): number {
  return url !== null ? 1 : Math.max(1, Math.min(most, Math.floor(items.length / leastCases)))
}

// The report.

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

/** Builds the report of a run, and the baseline for `--update-known`; null if that stays unchanged. Pure. */
export function reportRun(run: FinishedRun): { report: Report; updated: KnownEntry[] | null } {
  const { options, known, result } = run
  const ownExitCode = ownExitCodeOf(result)
  const report = reportWith(run, known, ownExitCode)
  if (!options.updateKnown || result.stopped !== null) return { report, updated: null }
  const updated = updatedKnown(report, known)
  // Failures that are written to the baseline now count as known.
  return { report: reportWith(run, updated, ownExitCode), updated }
}

function reportWith(run: FinishedRun, known: readonly KnownEntry[], ownExitCode: number | null): Report {
  const { options, corpus, planned, result } = run
  return buildReport({
    meta: metaOf(run),
    outcomes: [
      ...result.outcomes,
      ...planned.skipped.map(({ item, reason }) => skipItem(item, { kind: 'left-out', reason })),
    ],
    corpus,
    findings: result.findings,
    explored: result.exploration?.explored ?? null,
    known,
    set: run.set,
    plan: planned.plan,
    left: result.left,
    options: {
      strict: options.strict,
      again: options.againForCase,
      trace: options.trace,
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
function ownExitCodeOf({ stopped, defects, outcomes }: SuiteResult): number | null {
  if (stopped?.kind === 'interrupted') return interruptedExitCode
  if (defects.length > 0) return defectExitCode
  const hasBegun = outcomes.some(({ verdict }) => verdict !== 'not-run')
  return stopped?.kind === 'gone' || (stopped?.kind === 'time' && !hasBegun) ? unusableExitCode : null
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

/** The outcomes of the items that a run did not reach, so that none is silently missing. @param reason null: a defect of the suite */
function notReached(
  { planned }: Pick<SuiteRun, 'planned'>,
  items: readonly Item[],
  reason: StopReason | null,
): CaseOutcome[] {
  const notRun = { kind: 'not-run', because: reason ?? { kind: 'defect' } } as const
  return items.map((item) => skipItem(item, planned.cannot(item) ?? notRun))
}
