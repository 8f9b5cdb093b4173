import { allItems, type Item, provesOf } from '../engine/conversation/cases.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { isLoopback } from '../engine/target.ts'
import { envelopeCases } from '../report/outcomes.ts'
import type { Plan } from '../report/report.ts'
import { whyNotRun } from './capabilities.ts'
import { expectedCapabilities } from './expected-capabilities.ts'
import { mostNewKeys } from './explore/explore-after-cases.ts'
import { earlierKeys } from './keys/keys-of-target.ts'
import type { RunOptions } from './options/options.ts'
import { failedIds, readReportFile } from './options/report-file.ts'
import { select } from './options/select.ts'
import { makePlan, workOf } from './plan.ts'

/** What a run will do. */
export interface PlannedRun {
  selected: readonly Item[]
  skipped: readonly { item: Item; reason: string }[]
  /** How many cases its report has, including those about every answer. */
  reported: number
  /** Cases were chosen, so the run gives no verdict on the whole document. */
  isPartial: boolean
  plan: Plan
  /** The duration of each selected item, in sequential calls; empty where all take about the same time. */
  work: ReadonlyMap<string, number>
}

/**
 * @param again keys of cases, or requirements, to run instead of those that the options select; null: the options decide
 *
 * @throws SuiteError (`usage`) for an unknown id, and for a report or a record of created keys that cannot be used
 */
export function planRun(
  { target, selection, explore }: RunOptions,
  corpus: Corpus,
  again: readonly string[] | null = selection.failed === null ? null : failedIds(readReportFile(selection.failed)),
): PlannedRun {
  const all = allItems(corpus)
  const named = again === null ? all : all.filter((item) => again.some((id) => isNamed(item, id)))
  const items = selection.rowsAlone ? [] : named
  const { selected, skipped } = items.length === 0 ? { selected: [], skipped: [] } : select(items, selection)
  const kept = target === null || target.keys.testKeysFile === null ? [] : earlierKeys(target.keys).keys
  const capabilities = expectedCapabilities(target, corpus, kept)
  const notSelected = all.length - selected.length - skipped.length
  const ofAnswers = envelopeCases([]).length
  const atOnce = target?.settings.concurrency ?? usualAtOnce
  const plan = makePlan(
    { selected, notSelected, all: all.length, ofAnswers, cannot: (item) => whyNotRun(item, capabilities) },
    {
      testKeyNames: capabilities.testKeyNames,
      standIn: capabilities.standIn,
      keptTestKeys: capabilities.keptTestKeys,
      cleanup: capabilities.cleanup,
      lasts: target !== null && !target.disposable && target.keys.testKeysFile === null,
      callMs: callMsOf(target),
      atOnce,
      rate: target?.settings.rate ?? 0,
    },
  )
  const model = target === null || explore === null ? {} : { model: modelPlan(target, explore.calls) }
  const isPartial = again !== null || selection.only.length > 0 || selection.rowsAlone
  const timed = target === null ? [] : selected
  const work = new Map(
    timed.map((item) => [item.key, whyNotRun(item, capabilities) === undefined ? workOf(item, atOnce) : 0]),
  )
  return { selected, skipped, reported: selected.length + ofAnswers, isPartial, plan: { ...plan, ...model }, work }
}

/** An estimate of a call's duration before one was made. In ms. */
const nearCallMs = 5
const farCallMs = 110

function callMsOf(target: RunOptions['target']): number | null {
  if (target === null) return null
  return isLoopback(target.url) ? nearCallMs : farCallMs
}

/** The model makes one call after another. In ms. */
const nearModelCallMs = 2

function modelPlan({ url, allow }: NonNullable<RunOptions['target']>, calls: number): NonNullable<Plan['model']> {
  const callMs = isLoopback(url) ? nearModelCallMs : farCallMs
  return { calls, seconds: Math.ceil((calls * callMs) / 1000), keys: allow.includes('keys') ? mostNewKeys : 0 }
}

/** The assumed number of calls under way if the user does not set it; it grows from four to sixteen. */
const usualAtOnce = 8

const isNamed = (item: Item, id: string): boolean => item.key === id || provesOf(item).includes(id)
