import { aloneReasons, claimsOf, type Item, provesOf, testKeysUsed } from '../engine/conversation/cases.ts'
import { parseDuration } from '../engine/conversation/perform-step.ts'
import { keyLimit } from '../engine/document.ts'
import { counted } from '../engine/group.ts'
import type { Gap } from '../engine/judge/problem.ts'
import type { CallStep, Scenario, SendStep, Step } from '../engine/language/fixture-types.ts'
import { joinReasons, keyOfReason, reasonText } from '../report/problem-text.ts'
import type { Plan } from '../report/report.ts'

/** About how many calls the preflight makes. */
const preflightCalls = 20

/** What a plan must know about the target. */
export interface PlannedTarget {
  /** The names of all test keys. */
  testKeyNames: readonly string[]
  /** The test key that calls where the secret of the root key is wanted. */
  standIn: string
  /** Test keys that are kept from an earlier run. */
  keptTestKeys: readonly string[]
  /** The target file names a method that removes keys. */
  cleanup: boolean
  /** The created keys stay on the target, because it is not disposable. */
  lasts: boolean
  /** About how long a call takes. In ms; null: neither calls nor waits take time worth planning, because the clock is virtual. */
  callMs: number | null
  /** How many calls may be under way at once. */
  atOnce: number
  /** Calls a second at most; 0: no limit. */
  rate: number
}

/** The items of a run. */
interface PlannedItems {
  selected: readonly Item[]
  notSelected: number
  /** Every selected item. */
  all: number
  /** Cases about every answer, which are made from the answers to all others. */
  ofAnswers: number
  /** Returns why an item cannot run; undefined if it can. */
  cannot: (item: Item) => Gap | undefined
}

/** Plans what a run will do to its target, before the first request. */
export function makePlan(items: PlannedItems, target: PlannedTarget): Plan {
  const testable = items.selected.filter((item) => items.cannot(item) === undefined)
  const ofCases = testable.filter(({ kind }) => kind === 'case').flatMap(callsOf)
  const calls = [...ofCases, ...testKeysMade(testable, target).map(() => creation)]
  const all = preflightCalls + count(calls)
  return {
    cases: testable.length + items.ofAnswers,
    total: items.all + items.ofAnswers,
    notSelected: items.notSelected,
    calls: all,
    refusals: count(calls.filter(({ refused }) => refused)),
    seconds: secondsOf(testable, all, target),
    creates: createdThings(testable, calls, target),
    cannot: reasons(items.selected, items.cannot),
  }
}

const creation: PlannedCall = { method: 'manager/createApiKey', count: 1, refused: false }

/** The test keys that the items create: their own, and those that cases use, selected or not. */
function testKeysMade(testable: readonly Item[], { testKeyNames, standIn, keptTestKeys }: PlannedTarget): string[] {
  const used = new Set(
    testable.flatMap((item) =>
      item.kind === 'case' ? [...testKeysUsed(item.scenario, item.testCase, testKeyNames)] : [item.member.name],
    ),
  )
  if (used.delete('root')) used.add(standIn)
  return [...used].filter((name) => name !== 'root' && !keptTestKeys.includes(name))
}

function secondsOf(testable: readonly Item[], calls: number, { callMs, atOnce, rate }: PlannedTarget): number {
  if (callMs === null) return 0
  const work = preflightCalls + testable.reduce((sum, item) => sum + workOf(item, atOnce), 0)
  const pacedMs = rate > 0 ? (calls * 1000) / rate : 0
  return Math.ceil((Math.max(work * callMs, pacedMs) + waitsMs(testable)) / 1000)
}

/** The duration of an item, in sequential calls; other cases run at the same time unless it runs alone. */
export function workOf(item: Item, atOnce: number): number {
  const calls = count(callsOf(item))
  return aloneReasons(claimsOf(item)).length > 0 ? calls : calls / atOnce
}

const count = (calls: readonly PlannedCall[]): number => calls.reduce((sum, call) => sum + call.count, 0)

function createdThings(testable: readonly Item[], calls: readonly PlannedCall[], target: PlannedTarget): string[] {
  const tokens = count(calls.filter(({ method }) => method === 'manager/auth'))
  const creations = calls.filter(({ method }) => method === 'manager/createApiKey')
  const keys = count(creations.filter(({ refused }) => !refused))
  const tried = count(creations.filter(({ refused }) => refused))
  const fillsSessions = testable.some((item) => item.kind === 'case' && fills(item, 'sessions'))
  return [
    ...(keys > 0 ? [createdKeys(testable, keys, target)] : []),
    ...(keys > 0 && !target.cleanup && target.lasts ? [howKeysGo] : []),
    ...(tried > 0 ? [wrongKeys(Math.min(tried, keyLimit), keys > 0)] : []),
    ...(tokens > 0 ? [`about ${counted(tokens, 'token pair')}`] : []),
    ...(fillsSessions ? ['sessions up to the limit of 16, which may push out others of the same user'] : []),
  ]
}

const wrongKeys = (most: number, isMore: boolean): string =>
  `up to ${isMore ? `${most} more` : counted(most, 'API key')} if the target takes keys that it should refuse`

const howKeysGo =
  'these keys stay there: "cleanup" in a target file names a method that removes them, "testKeys" keeps those that the next run can use'

function createdKeys(testable: readonly Item[], keys: number, { cleanup }: PlannedTarget): string {
  const fillsKeys = testable.some((item) => item.kind === 'case' && fills(item, 'keys'))
  if (cleanup) {
    const atOnce = fillsKeys || keys > keyLimit ? `, at most ${keyLimit} at once` : ''
    return `${counted(keys, 'API key')}${atOnce}, removed through the cleanup method`
  }
  return fillsKeys ? 'API keys up to the limit of ten' : counted(Math.min(keys, keyLimit), 'API key')
}

/** The assumed length of a wait for a time that the server reports, which is not known in advance. */
const usualWaitMs = 3000

/** Cases wait at the same time. Waits that separate sessions happen only on a server that needs them. */
function waitsMs(testable: readonly Item[]): number {
  const waiting = testable.filter((item) => item.kind === 'case' && claimsOf(item).fills !== 'sessions')
  return Math.max(0, ...waiting.map((item) => (item.kind === 'case' ? waitOf(item.scenario) : 0)))
}

function waitOf({ given, steps }: Scenario): number {
  const waits = [...given, ...steps].flatMap((step) => ('wait' in step ? [step.wait] : []))
  return waits.reduce<number>(
    (sum, wait) => sum + (typeof wait === 'string' ? (parseDuration(wait) ?? usualWaitMs) : usualWaitMs),
    0,
  )
}

interface PlannedCall {
  method: string
  count: number
  refused: boolean
}

function callsOf(item: Item): PlannedCall[] {
  if (item.kind === 'test-key') return [creation]
  return [...item.scenario.given, ...item.scenario.steps].flatMap((step) => ('wait' in step ? [] : [plannedCall(step)]))
}

function plannedCall(step: CallStep | SendStep): PlannedCall {
  const times = Number(step.repeat ?? step.parallel ?? 1)
  return {
    method: 'call' in step ? step.call : 'raw',
    count: Number.isNaN(times) ? 1 : times,
    refused: isRefusal(step),
  }
}

function isRefusal(step: Exclude<Step, { wait: unknown }>): boolean {
  return step.expect === 'refused'
}

function fills(item: Extract<Item, { kind: 'case' }>, what: 'keys' | 'sessions'): boolean {
  return item.scenario.needs.includes('limits') && item.scenario.needs.includes(what)
}

/** Why cases are left out, the most common reason first. */
function reasons(items: readonly Item[], cannot: (item: Item) => Gap | undefined): Plan['cannot'] {
  const byReason = new Map<string, { gap: Gap; items: Item[] }>()
  for (const item of items) {
    const gap = cannot(item)
    if (gap === undefined) continue
    const known = byReason.get(keyOfReason(gap)) ?? { gap, items: [] }
    known.items.push(item)
    byReason.set(keyOfReason(gap), known)
  }
  return joinReasons([...byReason.values()].map(({ gap }) => gap))
    .map(({ reasons: joined }) => {
      const mine = joined.flatMap((gap) => byReason.get(keyOfReason(gap))?.items ?? [])
      return {
        reason: reasonText(joined),
        cases: mine.length,
        requirements: [...new Set(mine.flatMap(provesOf))].sort(),
      }
    })
    .sort((one, other) => other.cases - one.cases)
}
