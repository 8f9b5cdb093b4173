import { allItems, type Item } from '../engine/case/cases.ts'
import type { Corpus } from '../engine/fixture/model.ts'
import type { Plan } from '../report/model.ts'
import { cannotAsk } from './capabilities.ts'
import { expectedCapabilities } from './expected-capabilities.ts'
import { earlierKeys } from './keys-of-target.ts'
import type { RunOptions } from './options.ts'
import { makePlan } from './plan.ts'
import { select } from './select.ts'

/** What a run is about to do. */
export interface PlannedRun {
  selected: readonly Item[]
  skipped: readonly { item: Item; reason: string }[]
  plan: Plan
}

/** @throws SuiteError (`usage`) for an id that nothing answers to, and a record of created keys that cannot be used */
export function planRun({ target, selection }: RunOptions, corpus: Corpus): PlannedRun {
  const items = allItems(corpus)
  const { selected, skipped } = select(items, selection)
  const kept = target === null || target.keys.testKeysFile === null ? [] : earlierKeys(target.keys).keys
  const capabilities = expectedCapabilities(target, corpus, kept)
  const notSelected = items.length - selected.length - skipped.length
  const plan = makePlan(selected, notSelected, (item) => cannotAsk(item, capabilities), capabilities)
  return { selected, skipped, plan }
}
