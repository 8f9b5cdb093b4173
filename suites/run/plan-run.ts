import { allItems, type Item, provesOf } from '../engine/case/cases.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import type { Plan } from '../report/model.ts'
import { cannotAsk } from './capabilities.ts'
import { expectedCapabilities } from './expected-capabilities.ts'
import { earlierKeys } from './keys-of-target.ts'
import type { RunOptions } from './options.ts'
import { makePlan } from './plan.ts'
import { failedIds, readReportFile } from './report-file.ts'
import { select } from './select.ts'

/** What a run is about to do. */
export interface PlannedRun {
  selected: readonly Item[]
  skipped: readonly { item: Item; reason: string }[]
  /** Cases were chosen, so the run gives no verdict on the whole document. */
  isPartial: boolean
  plan: Plan
}

/**
 * @param again keys of cases, or requirements, that alone are asked again; null: what the options select
 * @throws SuiteError (`usage`) for an id that nothing answers to, and a report or a record of created keys that cannot be used
 */
export function planRun(
  { target, selection }: RunOptions,
  corpus: Corpus,
  again: readonly string[] | null = selection.failed === null ? null : failedIds(readReportFile(selection.failed)),
): PlannedRun {
  const all = allItems(corpus)
  const items = again === null ? all : all.filter((item) => again.some((id) => isNamed(item, id)))
  const { selected, skipped } = items.length === 0 ? { selected: [], skipped: [] } : select(items, selection)
  const kept = target === null || target.keys.testKeysFile === null ? [] : earlierKeys(target.keys).keys
  const capabilities = expectedCapabilities(target, corpus, kept)
  const notSelected = all.length - selected.length - skipped.length
  const plan = makePlan(selected, notSelected, (item) => cannotAsk(item, capabilities), capabilities)
  return { selected, skipped, isPartial: again !== null || selection.only.length > 0, plan }
}

const isNamed = (item: Item, id: string): boolean => item.key === id || provesOf(item).includes(id)
