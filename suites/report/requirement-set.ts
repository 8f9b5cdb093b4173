/**
 * A frozen requirement set: the requirements of a version, with their levels and the cases that judge them. A newer suite judges by it as
 * the older one did, and reports separately what only newer cases and the model find.
 */

import type { CaseOutcome } from '../engine/judge/outcome.ts'
import { type Verdict, worst } from '../engine/judge/verdict.ts'
import type { Corpus, Requirement } from '../engine/language/fixture-types.ts'
import type { Level } from './report.ts'

export interface RequirementSet {
  version: string
  /** `cases`: keys of the cases that judge it. */
  requirements: { id: string; level: Level; cases: string[] }[]
  /** Keys of cases that judge nothing and only observe. */
  observing: string[]
}

/** The outcomes that a set judges, and those that it does not contain. */
interface Split {
  requirements: Requirement[]
  /** Keys of the cases that judge each requirement. */
  planned: Map<string, string[]>
  outcomes: CaseOutcome[]
  /** Outcomes of cases that are not in the set, or that broke a requirement for which the set does not use them. */
  newer: CaseOutcome[]
}

/** Separates what a set judges. Pure. */
export function splitBySet(set: RequirementSet, corpus: Corpus, outcomes: readonly CaseOutcome[]): Split {
  const levels = new Map(set.requirements.map(({ id, level }) => [id, level]))
  const judged = new Map<string, string[]>(set.observing.map((key) => [key, []]))
  for (const { id, cases } of set.requirements)
    for (const key of cases) judged.set(key, [...(judged.get(key) ?? []), id])
  const split: Split = {
    requirements: corpus.requirements.flatMap((requirement) => {
      const level = levels.get(requirement.id)
      return level === undefined ? [] : [{ ...requirement, level }]
    }),
    planned: new Map(set.requirements.map(({ id, cases }) => [id, cases])),
    outcomes: [],
    newer: [],
  }
  for (const outcome of outcomes) {
    const ids = judged.get(outcome.key)
    if (ids !== undefined) split.outcomes.push(judgeBySet(outcome, ids, levels))
    if (ids === undefined || brokenOf(outcome).some((id) => !ids.includes(id))) split.newer.push(outcome)
  }
  return split
}

const brokenOf = ({ requirements }: CaseOutcome): string[] =>
  Object.keys(requirements).filter((id) => requirements[id] === 'failed' || requirements[id] === 'warned')

/** The outcome with only the requirements of the set, at their levels then. */
function judgeBySet(outcome: CaseOutcome, ids: readonly string[], levels: ReadonlyMap<string, Level>): CaseOutcome {
  const known = Object.entries(outcome.requirements).filter(([id]) => ids.includes(id))
  const requirements = Object.fromEntries(
    known.map(([id, verdict]) => [id, atLevel(verdict, levels.get(id) ?? 'must')]),
  )
  const isBroken = outcome.verdict === 'failed' || outcome.verdict === 'warned'
  const verdict = isBroken ? worst(Object.values(requirements)) : outcome.verdict
  return {
    ...outcome,
    proves: outcome.proves.filter((id) => ids.includes(id)),
    requirements,
    verdict,
    problem: verdict === 'passed' ? null : withoutOthers(outcome.problem, ids),
  }
}

function atLevel(verdict: Verdict, level: Level): Verdict {
  if (verdict !== 'failed' && verdict !== 'warned') return verdict
  return level === 'must' ? 'failed' : 'warned'
}

function withoutOthers(problem: CaseOutcome['problem'], ids: readonly string[]): CaseOutcome['problem'] {
  return problem === null ? null : { ...problem, requirements: problem.requirements.filter((id) => ids.includes(id)) }
}
