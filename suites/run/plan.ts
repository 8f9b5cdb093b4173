/** What a run will do, before its first request: which cases it selects, the calls that they make, and what stays on the target. */

import {
  allItems,
  aloneReasons,
  answersTo,
  claimsOf,
  type Item,
  limitOf,
  provesOf,
  selectItems,
} from '../engine/conversation/cases.ts'
import { keyLimit, sparePlaces } from '../engine/document.ts'
import { usageError } from '../engine/errors.ts'
import { counted, groupBy } from '../engine/group.ts'
import type { Gap } from '../engine/judge/problem.ts'
import type { CallStep, Corpus, SendStep, Tally } from '../engine/language/fixture-types.ts'
import { parseDuration, withCase } from '../engine/language/resolve.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { isLoopback } from '../engine/target.ts'
import { envelopeCases } from '../report/build.ts'
import { joinReasons, keyOfReason, reasonText } from '../report/problem-text.ts'
import type { Plan } from '../report/report.ts'
import { bundledSettings } from '../targets/bundled.ts'
import { urlSettings } from '../targets/url.ts'
import { type Capabilities, safetyClasses, testKeysMade, whyNotRun } from './capabilities.ts'
import { failedIds, readReportFile } from './inputs.ts'
import { earlierKeys } from './keys.ts'
import type { RunOptions, TargetOptions } from './options.ts'

type Selection = Parameters<typeof selectItems>[1]

/** About how many calls the preflight makes. */
const preflightCalls = 20

/**
 * @param again keys of cases, or requirements, to run instead of those that the options select; null: the options decide
 *
 * @throws SuiteError (`usage`) for an unknown id, and for a report or a record of created keys that cannot be used
 */
export function planRun(options: RunOptions, corpus: Corpus, again: readonly string[] | null = null) {
  const { target, explore, failed, only, rowsAlone } = options
  const all = allItems(corpus)
  const ids = again ?? (failed === null ? null : failedIds(readReportFile(failed)))
  const isNamed = (item: Item): boolean =>
    ids === null || ids.some((id) => item.key === id || provesOf(item).includes(id))
  const items = rowsAlone ? [] : all.filter(isNamed)
  const { selected, skipped } = items.length === 0 ? { selected: [], skipped: [] } : select(items, options)
  const capabilities = expectedCapabilities(target, corpus)
  const gaps = new Map(selected.map((item) => [item, whyNotRun(item, capabilities)]))
  const cannot = (item: Item): Gap | undefined => gaps.get(item)
  const testable = selected.filter((item) => cannot(item) === undefined)
  // The items of test keys make no creation of their own.
  const cases = testable.filter(({ kind }) => kind === 'case')
  const calls = [...cases.flatMap(callsOf), ...testKeysMade(testable, capabilities).map(() => creation)]
  const made = preflightCalls + count(calls)
  const ofAnswers = envelopeCases([]).length
  /** Cases were chosen, so the run gives no verdict on the whole document. */
  const isPartial = ids !== null || only.length > 0 || rowsAlone
  // Where no chosen case makes a call, the report has no cases about every answer.
  const ofAnswersHere = isPartial && testable.length === 0 ? 0 : ofAnswers
  return {
    selected,
    skipped,
    /** Why a selected item cannot run, as far as the options say; undefined if it can. */
    cannot,
    /** How many cases its report has, including those about every answer. */
    reported: selected.length + ofAnswersHere,
    isPartial,
    plan: {
      cases: testable.length + ofAnswersHere,
      total: all.length + ofAnswers,
      notSelected: all.length - selected.length - skipped.length,
      calls: made,
      refusals: calls.reduce((sum, { refused }) => sum + refused, 0),
      perhapsRefused: count(calls.filter(({ isOpen }) => isOpen)),
      seconds: target === null ? 0 : secondsOf(testable.map(caseWork), made, target),
      creates: createdThings(testable, calls, target),
      cannot: reasons(selected, cannot),
      ...(target === null || explore === null ? {} : { model: plannedModel(explore.calls, target) }),
    } satisfies Plan,
    /** What each selected item does; empty if all take about the same time. */
    work: new Map<string, CaseWork>(
      target === null ? [] : selected.map((item) => [item.key, testable.includes(item) ? caseWork(item) : noWork]),
    ),
  }
}

/** What the model costs a target. */
export const modelCosts = {
  /** About how long a call takes, as if one followed another, although some are made at once. In ms. */
  callMs: (url: string): number => (isLoopback(url) ? 2 : 110),
  /** How many keys it may create. */
  newKeys: 4,
}

/** What a plan tells of the model. */
const plannedModel = (calls: number, { url, allow }: TargetOptions): NonNullable<Plan['model']> => ({
  calls,
  seconds: Math.ceil((calls * modelCosts.callMs(url)) / 1000),
  keys: allow.includes('keys') ? modelCosts.newKeys : 0,
})

/** Placeholders for the ids that every bundled server generates. */
const twoSolutions = ['first', 'second']

/** What a target offers according to its options, before the first request. */
function expectedCapabilities(target: TargetOptions | null, { testKeys }: Corpus): Capabilities {
  return {
    allow: target?.allow ?? safetyClasses,
    lasting: target !== null,
    fresh: target?.disposable ?? true,
    // Whether waits are long enough is not known before the preflight.
    clockControlled: target === null,
    settings: target === null ? bundledSettings(twoSolutions) : urlSettings(target.url, target.settings),
    root: target?.root ?? { kind: 'secret' },
    testKeys,
    kept: target === null || target.testKeysFile === null ? [] : earlierKeys(target).keys,
    facts: null,
  }
}

/** An estimate of a call's duration before one was made. In ms. */
const nearCallMs = 5
const farCallMs = 110

/** How long the suite takes to start and to write its report. In ms. */
const startMs = 1500

/** The assumed number of calls under way if the user does not set it; it grows to sixteen. */
const usualAtOnce = 12

/**
 * Selects items by `--only`, `--skip` and `--shard`.
 *
 * @throws SuiteError (`usage`) for an unknown id, with a did-you-mean, and if nothing is left
 */
function select(items: readonly Item[], selection: Selection): ReturnType<typeof selectItems> {
  demandKnownIds(items, selection)
  const chosen = selectItems(items, selection)
  if (chosen.selected.length > 0) return chosen
  const { only, skip, shard } = selection
  const place = only.length === 0 ? 'the scenarios' : `what --only selects (${only.join(', ')})`
  const why = skip.length > 0 ? '--skip leaves nothing of' : `there are fewer than ${shard?.index ?? 1} shards in`
  throw usageError(`Nothing is selected: ${why} ${place}`)
}

/** Checks that every id exists: a misspelt one would silently select the wrong cases. @throws SuiteError (`usage`) with a did-you-mean */
function demandKnownIds(items: readonly Item[], { only, skip }: Selection): void {
  const given = [...only.map((id) => ['--only', id] as const), ...skip.map(({ id }) => ['--skip', id] as const)]
  const wrong = given.find(([, id]) => !items.some((item) => answersTo(item, id)))
  if (wrong === undefined) return
  const [flag, id] = wrong
  if (id.startsWith('found/'))
    throw usageError(
      `"${flag} ${id}" names a finding of the model, not a case; "explore --save DIR" writes findings as scenarios that "run --fixtures DIR" runs`,
    )
  const scenarios = items.flatMap(({ scenario, key }) => [scenario.id, key])
  const areas = scenarios.map((key) => key.split('/')[0] ?? key)
  const ids = [...new Set(id.includes('/') ? [...scenarios, ...items.flatMap(provesOf)] : areas)]
  throw usageError(
    `No scenario or requirement matches "${flag} ${id}"${suggestion(id, ids) || '; "svc-conformance list" shows them'}`,
  )
}

const creation: PlannedCall = { method: 'manager/createApiKey', count: 1, refused: 0, isOpen: false }

function secondsOf(work: readonly CaseWork[], calls: number, { url, settings }: TargetOptions): number {
  const { rate, concurrency = usualAtOnce } = settings
  const sum = (of: keyof CaseWork): number => work.reduce((total, one) => total + one[of], 0)
  // Two cases that run alone go on at once where they use different keys.
  const inTurn = (sum('beside') + sum('atOnce')) / concurrency + sum('alone') / Math.min(2, concurrency)
  const callsMs = (preflightCalls + inTurn) * (isLoopback(url) ? nearCallMs : farCallMs)
  const pacedMs = rate > 0 ? (calls * 1000) / rate : 0
  // Cases wait at the same time, and while others make their calls. Waits that separate sessions happen only on a server that needs them.
  const longestMs = Math.max(callsMs, pacedMs, ...work.map(({ waitMs }) => waitMs))
  return Math.round((startMs + longestMs) / 1000)
}

/** What a case does, from which progress estimates how long the rest takes. */
export interface CaseWork {
  /** Calls that are made while other cases make theirs. */
  readonly beside: number
  /** Calls that are made one after another while no other case runs. */
  readonly alone: number
  /** Calls that are made at once while no other case runs; `alone` does not count them. */
  readonly atOnce: number
  readonly waitMs: number
}

const noWork: CaseWork = { beside: 0, alone: 0, atOnce: 0, waitMs: 0 }

function caseWork(item: Item): CaseWork {
  const calls = callsOf(item)
  const waitMs = waitMsOf(item)
  if (aloneReasons(claimsOf(item)).length === 0) return { ...noWork, beside: count(calls), waitMs }
  const atOnce = count(calls.filter(({ isTogether }) => isTogether))
  return { beside: 0, alone: count(calls) - atOnce, atOnce, waitMs }
}

const count = (calls: readonly PlannedCall[]): number => calls.reduce((sum, call) => sum + call.count, 0)

function createdThings(
  testable: readonly Item[],
  calls: readonly PlannedCall[],
  target: TargetOptions | null,
): string[] {
  const isCleaned = target === null || target.settings.cleanup !== undefined
  const lasts = target !== null && !target.disposable && target.testKeysFile === null
  const accepted = (ofMethod: readonly PlannedCall[]): number =>
    ofMethod.reduce((sum, call) => sum + call.count - call.refused, 0)
  const tokens = accepted(calls.filter(({ method }) => method === 'manager/auth'))
  const isShared = target !== null && !target.disposable
  const creations = calls.filter(({ method }) => method === 'manager/createApiKey')
  const wanted = accepted(creations)
  const tried = count(creations) - wanted
  const earlier = isCleaned ? null : earlierKeys(target)
  const recorded = earlier === null ? 0 : earlier.keys.length + earlier.unanswered.length
  const spare = fills(testable, 'keys') ? 0 : sparePlaces
  const keys = isCleaned ? wanted : Math.min(wanted, Math.max(0, keyLimit - spare - recorded))
  const stay = tokens === 1 ? 'stays valid until it expires' : 'stay valid until they expire'
  return [
    ...(wanted > 0 ? [createdKeys(testable, { keys, wanted, recorded, isCleaned })] : []),
    ...(keys > 0 && !isCleaned && lasts ? [howKeysGo] : []),
    ...(tried > 0 && recorded < keyLimit ? [wrongKeys(Math.min(tried, keyLimit - recorded), keys > 0)] : []),
    ...(tokens > 0
      ? [`about ${counted(tokens, 'token pair')}, which ${stay}${isShared ? ` and ${mayPushOut}` : ''}`]
      : []),
    ...(fills(testable, 'sessions')
      ? [`sessions up to the limit of 16${isShared ? `, which ${mayPushOut}` : ''}`]
      : []),
  ]
}

const mayPushOut = 'may push out sessions of the same user'

const wrongKeys = (most: number, isMore: boolean): string =>
  `up to ${isMore ? `${most} more` : counted(most, 'API key')} if the target takes keys that it should refuse`

const howKeysGo =
  'these keys stay there: "cleanup" in a target file names a method that removes them, "testKeys" keeps those that the next run can use'

function createdKeys(
  testable: readonly Item[],
  { keys, wanted, recorded, isCleaned }: { keys: number; wanted: number; recorded: number; isCleaned: boolean },
): string {
  const fillsKeys = fills(testable, 'keys')
  if (isCleaned) {
    const atOnce = fillsKeys || keys > keyLimit ? `, at most ${keyLimit} at once` : ''
    return `${counted(keys, 'API key')}${atOnce}, removed through the cleanup method`
  }
  const number = counted(keys, 'API key')
  if (keys < wanted && recorded > 0)
    return `${keys === 0 ? 'no API key' : `only ${number}`}, because ${counted(recorded, 'API key')} of earlier runs ${recorded === 1 ? 'is' : 'are'} recorded there: "svc-conformance keys" lists them`
  return fillsKeys ? 'API keys up to the limit of ten' : number
}

/** The assumed length of a wait for a time that the server reports, which is not known in advance. */
const usualWaitMs = 3000

function waitMsOf(item: Item): number {
  if (limitOf(item.scenario) === 'sessions') return 0
  const ofSteps = [...item.scenario.given, ...item.scenario.steps].map((step) => {
    if (!('wait' in step)) return 0
    return typeof step.wait === 'string' ? (parseDuration(step.wait) ?? usualWaitMs) : usualWaitMs
  })
  return ofSteps.reduce((sum, ms) => sum + ms, 0)
}

/** The calls of a step. */
interface PlannedCall {
  method: string
  count: number
  /** How many of them at least are expected to be refused. */
  refused: number
  /** The document leaves open whether they are accepted. */
  isOpen: boolean
  /** Made at once: with `parallel` always; with `repeat` or `for` only where several calls may be under way. */
  isTogether?: boolean
}

function callsOf(item: Item): PlannedCall[] {
  if (item.kind === 'test-key') return [creation]
  const { scenario, testCase } = item
  // How many values a name keeps: the calls of a step `for` each of them are counted so.
  const kept = new Map<string, number>()
  return [...scenario.given, ...scenario.steps].flatMap((raw) => {
    // A step with `unless` makes up for a refusal.
    if ('wait' in raw || 'unless' in raw) return []
    const step = withCase(raw, testCase.values) as CallStep | SendStep
    const planned = plannedCall(step, kept)
    for (const name of Object.keys(step.keep ?? {})) kept.set(`$${name}`, planned.count)
    return [planned]
  })
}

function plannedCall(step: CallStep | SendStep, kept: ReadonlyMap<string, number>): PlannedCall {
  const { for: items = ['once'], expect, tally } = step
  const each = typeof items === 'string' ? (kept.get(items) ?? keyLimit) : items.length
  const times = Number(step.repeat ?? step.parallel ?? 1)
  const made = each * (Number.isNaN(times) ? 1 : times)
  const refused = expect === 'refused' ? made : fewestRefused(tally, made)
  const isOpen = tally === undefined && (expect === undefined || (typeof expect === 'object' && 'refused-or' in expect))
  const method = 'call' in step ? step.call : 'raw'
  const isTogether = step.parallel !== undefined || (made > 1 && method === 'solution/listSolutions')
  return { method, count: made, refused, isOpen, isTogether }
}

/** How many of `made` calls are refused at least, if a tally like `at-most 16` holds. */
function fewestRefused(tally: Tally = {}, made: number): number {
  const numberOf = (bound: number | string | undefined, word: string): number =>
    typeof bound === 'number' ? bound : Number(bound?.startsWith(word) ? bound.slice(word.length) : Number.NaN)
  const mostAccepted = numberOf(tally.accepted, 'at-most ')
  const bounds = [made - mostAccepted, numberOf(tally.refused, 'at-least ')]
  return Math.max(0, ...bounds.filter((bound) => !Number.isNaN(bound)))
}

const fills = (items: readonly Item[], what: 'keys' | 'sessions'): boolean =>
  items.some(({ scenario }) => limitOf(scenario) === what)

/** Why cases are left out, the most common reason first. */
function reasons(items: readonly Item[], cannot: (item: Item) => Gap | undefined): Plan['cannot'] {
  const left = items.flatMap((item) => {
    const gap = cannot(item)
    return gap === undefined ? [] : [{ gap, item }]
  })
  const byReason = groupBy(left, ({ gap }) => keyOfReason(gap))
  return joinReasons([...byReason.values()].flatMap(([first]) => first?.gap ?? []))
    .map(({ reasons: joined }) => {
      const mine = joined.flatMap((gap) => byReason.get(keyOfReason(gap)) ?? []).map(({ item }) => item)
      const requirements = [...new Set(mine.flatMap(provesOf))].sort()
      return { reason: reasonText(joined), cases: mine.length, requirements }
    })
    .sort((one, other) => other.cases - one.cases)
}
