import type { Corpus } from '../engine/fixture/model.ts'
import { allItems, type Item, provesOf } from '../engine/items.ts'
import type { RowOutcome } from '../engine/outcome.ts'
import { runAll } from '../engine/run-all.ts'
import { bundledTarget, type Mutant } from '../targets/bundled.ts'

/** What the scenarios of a requirement showed about a mutant that breaks it. */
export interface Hunt {
  mutant: Mutant
  /** Keys of the rows that killed it: `failed` at the broken requirement for a must, `warned` for an implied. */
  killers: string[]
  /** Rows of other requirements that noticed it. Empty unless everything was run. */
  elsewhere: string[]
  /** What its own rows said instead, for a survivor. */
  seen: { [verdict: string]: number }
}

/** The items that prove a requirement. */
export function itemsOf(corpus: Corpus, requirement: string): Item[] {
  return allItems(corpus).filter((item) => provesOf(item).includes(requirement))
}

/** Runs the items against a mutant. A target that the preflight finds unusable kills nothing: it says so by its exit code. */
export async function hunt(mutant: Mutant, corpus: Corpus, items: readonly Item[]): Promise<Hunt> {
  const outcomes = await runAll({ target: bundledTarget({ rules: mutant.with }), corpus, items })
  const level = corpus.requirements.find(({ id }) => id === mutant.breaks)?.level
  const wanted = level === 'must' ? 'failed' : 'warned'
  const at = ({ requirements }: RowOutcome) => requirements[mutant.breaks]
  const killers = outcomes.filter((outcome) => at(outcome) === wanted)
  const own = outcomes.filter((outcome) => at(outcome) !== undefined)
  const seen: Hunt['seen'] = {}
  for (const outcome of own) seen[String(at(outcome))] = (seen[String(at(outcome))] ?? 0) + 1
  return {
    mutant,
    killers: killers.map(({ key }) => key),
    elsewhere: outcomes
      .filter((outcome) => !killers.includes(outcome))
      .filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
      .map(({ key }) => key),
    seen,
  }
}
