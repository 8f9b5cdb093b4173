/** What is made of the outcomes of cases before a report counts them: departures from the envelope fail once, and a frozen set judges as an older suite did. */
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import { envelopeRequirements } from '../engine/judge/classify.ts'
import {
  type CaseOutcome,
  type EnvelopeNote,
  type EnvelopeProblem,
  type Problem,
  type Verdict,
  worst,
} from '../engine/judge/problem.ts'
import type { Corpus, Requirement } from '../engine/language/fixture-types.ts'
import type { Level } from './report.ts'

const shownExchanges = 3

const casesOfAnswers: { testCase: string; requirement: string; title: string }[] = [
  { testCase: 'jsonrpc', requirement: 'envelope/response-jsonrpc', title: 'Every answer carries jsonrpc "2.0"' },
  { testCase: 'id', requirement: 'envelope/id-echo', title: 'Every answer carries the id of its request' },
  {
    testCase: 'result',
    requirement: 'envelope/result-object',
    title: 'Every result of a documented method is an object',
  },
]

/** The id of the scenario that stands for all answers of a run. */
export const everyAnswer = 'envelope/every-answer'

/** Three cases made from the notes of all cases: failed, passed, or nothing to look at. */
export function envelopeCases(outcomes: readonly CaseOutcome[]): CaseOutcome[] {
  const notes = outcomes.flatMap((outcome) => outcome.envelope)
  const answers = outcomes.reduce((sum, outcome) => sum + outcome.envelopeAnswers, 0)
  const calls = outcomes.reduce((sum, outcome) => sum + outcome.calls, 0)
  return casesOfAnswers.map(({ testCase, requirement, title }) => {
    const mine = notes.filter(({ problem }) => envelopeRequirements[problem.kind] === requirement)
    const verdict: Verdict =
      mine.length > 0 ? 'failed' : answers > 0 ? 'passed' : calls > 0 ? 'blocked' : 'not-testable'
    return {
      id: everyAnswer,
      case: testCase,
      key: `${everyAnswer}/${testCase}`,
      title,
      verdict,
      proves: [requirement],
      requirements: { [requirement]: verdict },
      sides: {},
      problem: verdict === 'passed' ? null : problemOf(verdict, requirement, mine, answers),
      observations: [],
      envelope: [],
      envelopeAnswers: answers,
      calls: 0,
      durationMs: 0,
    }
  })
}

function problemOf(verdict: Verdict, requirement: string, notes: EnvelopeNote[], answers: number): Problem {
  const common = {
    requirements: verdict === 'failed' ? [requirement] : [],
    step: 'every successful answer of the run',
    exchanges: notes.slice(0, shownExchanges).map((note) => note.exchange),
  }
  if (verdict === 'blocked') return { kind: 'no-successful-answer', ...common }
  if (verdict === 'not-testable') return { kind: 'no-call', ...common }
  const distinct = [...new Map(notes.map(({ problem }) => [JSON.stringify(problem), problem])).values()]
  const departures: EnvelopeProblem[] = distinct.slice(0, shownExchanges)
  const more = distinct.length - departures.length
  return { kind: 'envelope-of-answers', departures, more, count: notes.length, answers, ...common }
}

/** A frozen set: the requirements of a version, with their levels and the cases that judge them. */
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
  const problem = verdict === 'passed' ? null : outcome.problem
  return {
    ...outcome,
    proves: outcome.proves.filter((id) => ids.includes(id)),
    requirements,
    verdict,
    problem: problem && { ...problem, requirements: problem.requirements.filter((id) => ids.includes(id)) },
  }
}

function atLevel(verdict: Verdict, level: Level): Verdict {
  if (verdict !== 'failed' && verdict !== 'warned') return verdict
  return level === 'must' ? 'failed' : 'warned'
}

/** The set of all requirements and cases of a corpus. Pure. */
export function freezeSet(version: string, corpus: Corpus): RequirementSet {
  const cases = [
    ...allItems(corpus).map((item) => ({ key: item.key, proves: provesOf(item) })),
    ...envelopeCases([]).map(({ key, proves }) => ({ key, proves })),
  ]
  return {
    version,
    requirements: corpus.requirements.map(({ id, level }) => ({
      id,
      level,
      cases: cases.filter(({ proves }) => proves.includes(id)).map(({ key }) => key),
    })),
    observing: cases.filter(({ proves }) => proves.length === 0).map(({ key }) => key),
  }
}
