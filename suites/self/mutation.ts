import { allItems, type Item, provesOf } from '../engine/conversation/cases.ts'
import type { CaseOutcome } from '../engine/judge/problem.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { buildReport } from '../report/build.ts'
import { toldLines } from '../report/causes.ts'
import { runAll } from '../run/run.ts'
import type { BrokenServer } from '../servers/table.ts'
import { bundledTarget } from '../targets/bundled.ts'
import { madeUpMeta } from './made-up-report.ts'

/** What the cases showed about a mutant. */
export interface Hunt {
  mutant: BrokenServer
  /** Cases with the wanted verdict at the broken requirement: `failed` for a must, `warned` for an implied. */
  killers: CaseOutcome[]
  /** Cases that failed or warned at other requirements only. */
  elsewhere: CaseOutcome[]
  /** The requirements of the lines in which a report tells what is wrong. */
  told: readonly (readonly string[])[]
  /** For a survivor: the verdicts of the cases of the broken requirement, as in `passed 3, blocked 1`. */
  seen: string
}

/** The items that prove a requirement. */
export const itemsOf = (corpus: Corpus, requirement: string): readonly Item[] =>
  allItems(corpus).filter((item) => provesOf(item).includes(requirement))

/**
 * Asks the items of a mutant.
 *
 * @param extent `first-kill` ends with the first case that catches it
 * @throws SuiteError where the preflight finds the mutant unusable: such a one is no test of a scenario
 */
export async function hunt(
  mutant: BrokenServer,
  corpus: Corpus,
  items: readonly Item[],
  extent: 'all' | 'first-kill' = 'all',
): Promise<Hunt> {
  const { breaks } = mutant
  const isMust = corpus.requirements.some(({ id, level }) => id === breaks && level === 'must')
  const kills = ({ requirements }: CaseOutcome): boolean => requirements[breaks] === (isMust ? 'failed' : 'warned')
  const outcomes = await runAll({
    target: bundledTarget(mutant.create()),
    corpus,
    items,
    ...(extent === 'first-kill' ? { isLast: kills } : {}),
  })
  const killers = outcomes.filter(kills)
  const noticed = outcomes.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')
  const verdicts = outcomes.flatMap(({ requirements }) => requirements[breaks] ?? [])
  return {
    mutant,
    killers,
    elsewhere: noticed.filter((outcome) => !killers.includes(outcome)),
    told: extent === 'all' ? toldOf(corpus, outcomes) : [],
    seen: [...new Set(verdicts)]
      .map((verdict) => `${verdict} ${verdicts.filter((v) => v === verdict).length}`)
      .join(', '),
  }
}

function toldOf(corpus: Corpus, outcomes: readonly CaseOutcome[]): string[][] {
  const options = { strict: false, partial: null }
  const { requirements, cases } = buildReport({ meta: madeUpMeta, outcomes, corpus, known: [], options })
  return toldLines(requirements, cases, []).map(
    ({ first }) => cases.find(({ key }) => key === first)?.problem?.requirements ?? [],
  )
}

/** Scenarios that judge something, and the test keys, that killed no mutant. */
export function idleScenarios(corpus: Corpus, hunts: readonly Hunt[]): string[] {
  const killing = new Set(hunts.flatMap(({ killers }) => killers.map(({ id }) => id)))
  const judging = allItems(corpus).filter((item) => provesOf(item).length > 0)
  return [...new Set(judging.map(({ scenario }) => scenario.id))].sort().filter((id) => !killing.has(id))
}

/** Scenarios that judge something but kill no mutant, each with its reason. */
export const idleReasons: { readonly [scenario: string]: string } = {}
