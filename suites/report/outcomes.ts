/**
 * What is made of the outcomes of cases before a report counts them: departures from the envelope fail once, a baseline makes failures
 * known, and a frozen set judges as an older suite did.
 */
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import { envelopeRequirements } from '../engine/judge/classify.ts'
import type { CaseOutcome, EnvelopeNote, EnvelopeProblem, Problem } from '../engine/judge/problem.ts'
import { type Verdict, worst } from '../engine/judge/problem.ts'
import type { Corpus, Requirement } from '../engine/language/fixture-types.ts'
import type { Finding, KnownEntry, Level, Report } from './report.ts'

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

type Judged = Pick<CaseOutcome, 'id' | 'case' | 'key' | 'verdict' | 'requirements'>

/** Whether the entry names this case; a case may be written as its name or as the last part of its key. */
export const entryNamesCase = (entry: KnownEntry, testCase: Pick<Judged, 'id' | 'case' | 'key'>): boolean =>
  entry.scenario === testCase.key ||
  (entry.scenario === testCase.id &&
    (entry.case === undefined || entry.case === testCase.case || testCase.key === `${testCase.id}/${entry.case}`))

const failedRequirements = (testCase: Judged): string[] =>
  Object.keys(testCase.requirements).filter((id) => testCase.requirements[id] === 'failed')

const covers = (entry: KnownEntry, requirement: string): boolean =>
  entry.requirement === undefined || entry.requirement === requirement

/**
 * Makes a failed case a known one if all of its failures are listed; otherwise it stays failed. Returns the verdicts and the entry that
 * explains the case.
 */
export function applyKnown(
  testCase: Judged,
  entries: readonly KnownEntry[],
): { verdict: Verdict; requirements: { [id: string]: Verdict }; entry: KnownEntry | null } {
  const unchanged = { verdict: testCase.verdict, requirements: testCase.requirements, entry: null }
  if (testCase.verdict !== 'failed') return unchanged
  const mine = entries.filter((entry) => entryNamesCase(entry, testCase))
  const failures = failedRequirements(testCase)
  const listed = failures.filter((id) => mine.some((entry) => covers(entry, id)))
  const entry = mine.find((one) => failures.length === 0 || failures.some((id) => covers(one, id)))
  if (entry === undefined) return unchanged
  const requirements = { ...testCase.requirements }
  for (const id of listed) requirements[id] = 'known'
  return { verdict: listed.length === failures.length ? 'known' : 'failed', requirements, entry }
}

/** Adds to each finding the baseline entry that makes it known. */
export function knownFindings(findings: readonly Omit<Finding, 'known'>[], entries: readonly KnownEntry[]): Finding[] {
  return findings.map((finding) => {
    const entry = entries.find(
      ({ scenario, requirement }) =>
        (scenario === finding.id || scenario === finding.case) &&
        (requirement === undefined || requirement === finding.requirement),
    )
    return { ...finding, known: entry === undefined ? null : { reason: entry.reason, issue: entry.issue } }
  })
}

/** Verdicts that say nothing about the case's requirements. */
const unjudged: readonly Verdict[] = ['blocked', 'not-testable', 'not-applicable', 'not-run']

/**
 * Entries whose cases pass: at least one case that they name was judged, and no such case shows the failure. Entries of findings are never
 * stale, because a run that does not find them may not have made their calls.
 */
export const staleEntries = (cases: readonly Judged[], entries: readonly KnownEntry[]): KnownEntry[] =>
  entries.filter((entry) => {
    if (entry.sometimes === true) return false
    const named = cases.filter((testCase) => entryNamesCase(entry, testCase))
    const judged = named.filter((testCase) => !unjudged.includes(testCase.verdict))
    const shown = judged.some((testCase) =>
      entry.requirement === undefined
        ? testCase.verdict !== 'passed'
        : holdsNot(testCase.requirements[entry.requirement]),
    )
    return judged.length > 0 && !shown && (named.length === judged.length || entry.case !== undefined)
  })

const holdsNot = (verdict: Verdict | undefined): boolean => verdict !== undefined && verdict !== 'passed'

/**
 * The baseline that makes this run's failures known. Valid entries keep their reasons and issues, entries of cases that were not judged are
 * kept, stale ones are removed, and new failures get a reason for a person to replace.
 */
export function updatedKnown(
  { cases, findings, stale }: Pick<Report, 'cases' | 'findings' | 'stale'>,
  entries: readonly KnownEntry[],
): KnownEntry[] {
  const kept = entries.filter((entry) => !stale.includes(entry))
  const added = cases
    .filter((testCase) => testCase.verdict === 'failed')
    .flatMap((testCase) =>
      failedRequirements(testCase).map(
        (requirement): KnownEntry => ({
          scenario: testCase.id,
          ...(testCase.case === null ? {} : { case: testCase.case }),
          requirement,
          reason: unexplained,
          issue: null,
        }),
      ),
    )
  const found = findings
    .filter(({ known, level }) => known === null && level === 'must')
    .map(({ id, requirement }): KnownEntry => ({ scenario: id, requirement, reason: unexplained, issue: null }))
  return [...kept, ...added, ...found]
}

/** The reason that `--update-known` writes for a new failure, for a person to replace. */
const unexplained = 'not explained yet'

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
