import { hasRace } from '../engine/conversation/cases.ts'
import type { CaseOutcome, Problem } from '../engine/judge/outcome.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { blockersOf } from './causes.ts'
import { envelopeCases, everyAnswer } from './envelope.ts'
import { boundEvidence } from './evidence.ts'
import { wordsOfKey } from './explain.ts'
import { hintText } from './hint-text.ts'
import { applyKnown, knownFindings, staleEntries } from './known.ts'
import { type ProblemRenderer, problemText } from './problem-text.ts'
import { raceText } from './race-text.ts'
import type {
  CaseReport,
  Explored,
  Finding,
  KnownEntry,
  Meta,
  Observation,
  Plan,
  Report,
  ReportedProblem,
} from './report.ts'
import { type RequirementSet, splitBySet } from './requirement-set.ts'
import { plannedCases, reportRequirements } from './requirements.ts'
import { shellWord } from './shell.ts'
import { judgeRun, summarize } from './verdict.ts'

interface BuildInput {
  meta: Meta
  /** The outcomes of every selected case, including cases that are not testable here and `test-keys/NAME` cases. */
  outcomes: readonly CaseOutcome[]
  corpus: Corpus
  /** What the model found; the baseline is applied here. */
  findings?: readonly Omit<Finding, 'known'>[]
  /** How many calls the model made. */
  explored?: Explored | null
  known: readonly KnownEntry[]
  /** The frozen set that decides the verdict; null or absent: every case of the corpus does. */
  set?: RequirementSet | null
  plan?: Plan | null
  left?: readonly string[]
  /** Makes the message of a problem. */
  render?: ProblemRenderer
  options: {
    strict: boolean
    partial: 'only' | 'shard' | null
    /** What `--skip` left out, if it has no outcome. */
    skipped?: readonly { id: string; reason: string }[]
    /** The exit code of a run that was interrupted or lost its target; the table does not cover it. */
    ownExitCode?: number | null
  }
}

/**
 * The report of a run: cases after the baseline, requirements with the worst of their cases, the verdict and exit code
 * of the documented table. Pure; the same input gives the same report.
 */
export function buildReport(input: BuildInput): Report {
  const set = input.set ?? null
  const split = set === null ? null : splitBySet(set, input.corpus, input.outcomes)
  const judged = split?.outcomes ?? input.outcomes
  const ofAnswers = envelopeCases(judged).filter(
    ({ verdict, key }) =>
      (input.options.partial !== 'only' || verdict === 'passed' || verdict === 'failed') &&
      (split === null || [...split.planned.values()].some((keys) => keys.includes(key))),
  )
  const outcomes = [...judged, ...ofAnswers]
  const reported = (outcome: CaseOutcome): CaseReport =>
    reportCase(
      outcome,
      input.known,
      againOf(outcome, input),
      (problem) => `${(input.render ?? problemText)(problem)}${raceText(outcome, input.outcomes, input.corpus)}`,
    )
  const findings = knownFindings(input.findings ?? [], input.known)
  return assembleReport({
    ...input,
    ...(split === null
      ? {}
      : { corpus: { ...input.corpus, requirements: split.requirements }, planned: split.planned }),
    cases: boundEvidence(outcomes.map(reported)),
    // The model tests more than the cases of a set.
    findings: split === null ? findings : [],
    newer: {
      cases: boundEvidence((split?.newer ?? []).map(reported)).sort(byKey),
      findings: split === null ? [] : findings,
    },
    stale: staleEntries(outcomes, input.known),
    observed: observedIn(input.outcomes),
    throttledCalls: input.outcomes.reduce((sum, { throttled = 0 }) => sum + throttled, 0),
  })
}

interface AssembleInput extends Omit<BuildInput, 'outcomes' | 'known' | 'findings' | 'set'> {
  cases: readonly CaseReport[]
  findings: readonly Finding[]
  newer: Report['newer']
  /** Keys of the cases that prove each requirement; absent: as the corpus says. */
  planned?: ReadonlyMap<string, readonly string[]>
  stale: readonly KnownEntry[]
  observed: readonly Observed[]
  /** Calls that the target throttled; a merge of shards does not know their number. */
  throttledCalls?: number
}

/** An observation of an open question, and its case. */
interface Observed {
  question: string
  answer: string
  cases: readonly string[]
  asked: readonly string[]
}

/** What was tried, in the words of the case and the step; otherwise the end of its key. */
function observedIn(outcomes: readonly CaseOutcome[]): Observed[] {
  return outcomes.flatMap(({ key, case: name, observations }) =>
    observations.map(({ question, answer, step }) => {
      const words = [name, step].filter((part) => part !== null && part !== undefined).join(', ')
      return { question, answer, cases: [key], asked: [words === '' ? wordsOfKey(key) : words] }
    }),
  )
}

/** The part of buildReport that merging shards needs too: the cases are already judged. Pure. */
export function assembleReport(input: AssembleInput): Report {
  const { meta, corpus, options, stale, findings } = input
  const { strict, partial } = options
  const sorted = [...input.cases].sort(byKey)
  const blockers = blockersOf(corpus.requirements, sorted)
  const cases = sorted.map((testCase) => ({ ...testCase, blockedBy: blockers.get(testCase.key) ?? null }))
  const skipped = options.skipped ?? []
  const requirements = reportRequirements(corpus, cases, findings, {
    partial,
    skipReason: (key) => skipped.find(({ id }) => key.startsWith(id))?.reason,
    planned: input.planned ?? plannedCases(corpus),
  })
  const summary = summarize(cases, stale)
  return {
    meta,
    ...judgeRun({
      summary,
      cases,
      findings,
      newer: input.newer,
      set: meta.set,
      requirements,
      strict,
      partial,
      absent: meta.absent,
      stopped: meta.stopped,
      ownExitCode: options.ownExitCode ?? null,
      throttledCalls: input.throttledCalls ?? 0,
    }),
    summary,
    requirements,
    cases,
    findings: [...findings],
    explored: input.explored ?? null,
    newer: input.newer,
    observations: mergeObservations(corpus, input.observed),
    stale: [...stale],
    left: [...(input.left ?? [])],
    plan: input.plan ?? null,
  }
}

const byKey = (one: CaseReport, other: CaseReport): number => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0)

function reportCase(
  outcome: CaseOutcome,
  known: readonly KnownEntry[],
  again: string,
  render: (problem: Problem) => string,
): CaseReport {
  const { verdict, requirements, entry } = applyKnown(outcome, known)
  return {
    id: outcome.id,
    case: outcome.case,
    key: outcome.key,
    title: outcome.title,
    verdict: verdict === 'blocked' && outcome.problem?.kind === 'not-run' ? 'not-run' : verdict,
    proves: outcome.proves,
    requirements,
    sides: outcome.sides,
    calls: outcome.calls,
    durationMs: outcome.durationMs,
    problem: outcome.problem === null ? null : reportProblem(outcome.problem, render),
    again,
    known: entry === null ? null : { reason: entry.reason, issue: entry.issue },
    blockedBy: null,
  }
}

/** The command that runs a case again. A comment of the shell says that what fills a limit needs a fresh instance each time. */
function againOf({ id, key, proves }: CaseOutcome, { meta, corpus }: Pick<BuildInput, 'meta' | 'corpus'>): string {
  // A case about every answer makes no calls; the cases that prove its requirement receive such answers too.
  const only = id === everyAnswer ? (proves[0] ?? key) : key
  const scenario = corpus.scenarios.find((one) => one.id === id)
  const { needs = [] } = scenario ?? {}
  const leavesMuch =
    needs.includes('limits') && (needs.includes('keys') || (scenario !== undefined && hasRace(scenario)))
  const where = leavesMuch && meta.target !== 'bundled' ? ' # on a fresh instance' : ''
  return `${meta.again} --only ${shellWord(only)} --trace${where}`
}

function reportProblem(problem: Problem, render: (problem: Problem) => string): ReportedProblem {
  const { hint, ...facts } = problem
  const withHint = hint === undefined ? {} : { hint: { ...hint, message: hintText(hint) } }
  return { ...facts, message: render(problem), ...withHint }
}

const mergeObservations = (corpus: Corpus, observed: readonly Observed[]): Observation[] =>
  corpus.questions.flatMap((question) => {
    const mine = observed.filter((one) => one.question === question.id)
    if (mine.length === 0) return []
    const answers = [...new Set(mine.map(({ answer }) => answer))].sort().map((answer) => {
      const same = mine.filter((one) => one.answer === answer)
      const all = (of: (one: Observed) => readonly string[]): string[] => [...new Set(same.flatMap(of))].sort()
      return { answer, cases: all(({ cases }) => cases), asked: all(({ asked }) => asked) }
    })
    return [
      {
        question: question.id,
        answer: answers.map(({ answer }) => answer).join('; '),
        answers,
        text: question.question,
        reference: question.reference,
      },
    ]
  })
