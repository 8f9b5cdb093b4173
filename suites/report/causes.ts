/** Groups cases by cause: one defect often breaks several cases. The first is reported in full, and the others are listed under it. */
import { firstFew, groupBy } from '../engine/group.ts'
import type { Hint, Mismatch, Problem, Verdict } from '../engine/judge/problem.ts'
import { groupFindings, type PrintedReport } from './explain.ts'
import type { CaseReport, ReportedProblem, RequirementReport } from './report.ts'
import { casesOf, glyphs } from './verdict-words.ts'

/** The level and kind of each requirement. */
type Levels = readonly Pick<RequirementReport, 'id' | 'level' | 'kind'>[]

export interface Cause {
  /** The case that is reported in full. */
  first: CaseReport
  others: CaseReport[]
}

/** Groups cases of one verdict by cause, in the order of their first cases. This affects only the output, never a verdict. */
export function groupByCause(levels: Levels, cases: readonly CaseReport[]): Cause[] {
  const telling = tellingOf(levels)
  return [...groupBy(cases, causeOf).values()].map((mine) => {
    const first = mine.reduce((best, testCase) => (telling(testCase) > telling(best) ? testCase : best))
    return { first, others: mine.filter((testCase) => testCase !== first) }
  })
}

/**
 * Finds the failed case that explains why a case is blocked, by key: its preparation failed in the same way. Of failed cases of one cause it
 * is the one that is reported in full. Cases that something else blocks are left out.
 */
export function blockersOf(levels: Levels, cases: readonly CaseReport[]): Map<string, string> {
  const failures = cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'known')
  const tellers = new Map<string, string>()
  for (const { first, others } of groupByCause(levels, failures.map(asFailure)))
    for (const testCase of [first, ...others]) for (const cause of causesOf(testCase)) tellers.set(cause, first.key)
  const firstOf = firstOfCause(levels, cases)
  const blockers = new Map<string, string>()
  for (const testCase of cases) {
    if (testCase.verdict !== 'blocked' || testCase.problem === null) continue
    const blocker =
      causesOf(asFailure(testCase))
        .map((cause) => tellers.get(cause))
        .find((key) => key !== undefined) ?? blockerByKind(testCase.problem, failures)
    if (blocker !== undefined) blockers.set(testCase.key, firstOf.get(blocker) ?? blocker)
  }
  return blockers
}

/** For each failed case the one of its cause that is reported in full. Known failures have none, because what they block is known too. */
function firstOfCause(levels: Levels, cases: readonly CaseReport[]): Map<string, string> {
  const failed = cases.filter(({ verdict }) => verdict === 'failed')
  return new Map(
    groupByCause(levels, failed).flatMap(({ first, others }) => others.map(({ key }) => [key, first.key] as const)),
  )
}

/** The failure that causes an obstacle of this kind. */
function blockerByKind(problem: Problem, failures: readonly CaseReport[]): string | undefined {
  const breaking = (ids: readonly string[]): string | undefined =>
    failures.find((failure) => failure.problem?.requirements.some((id) => ids.includes(id)))?.key
  switch (problem.kind) {
    case 'test-key-missing':
      return failures.find(({ key }) => key === `test-keys/${problem.testKey}`)?.key
    case 'no-token-word':
      return problem.because.kind === 'not-accepted' ? breaking(['tokens/authorize']) : undefined
    case 'limit-spoilt':
      return failures.find(({ key }) => key === problem.by)?.key
    case 'no-room-for-sessions':
      return breaking(['sessions/next-works'])
    case 'expiry-not-a-timestamp':
      return breaking(expiryRequirements)
    case 'junk-accepted':
    case 'open-to-all':
      return breaking(junkControlRequirements)
    default:
      return undefined
  }
}

/** Whether a known failure blocks a case: such a case is accepted for now, like the failure. */
export function blockedByKnown(cases: readonly CaseReport[], { verdict, blockedBy }: CaseReport): boolean {
  return verdict === 'blocked' && cases.some((testCase) => testCase.key === blockedBy && testCase.verdict === 'known')
}

/** The requirements that a method open to everyone breaks. */
const junkControlRequirements: readonly string[] = ['authorization/required', 'keys/create-authorized']

/** The requirements about the times that cases wait for. */
const expiryRequirements: readonly string[] = [
  'grants/result-access-token-expiry',
  'grants/result-refresh-token-expiry',
]

/** A known failure or a failed preparation as an ordinary failure. */
function asFailure(testCase: CaseReport): CaseReport {
  const { problem } = testCase
  if (problem === null) return { ...testCase, verdict: 'failed' }
  const { inPreparation: _preparation, ...plain } = problem
  return { ...testCase, verdict: 'failed', problem: plain as CaseReport['problem'] }
}

/**
 * The keys by which the cause of a case is recognised in another case: with its hint and without, because hints are not always looked for.
 */
function causesOf(testCase: CaseReport): string[] {
  const { problem } = testCase
  if (problem === null) return [causeOf(testCase)]
  const { hint: _hint, ...plain } = problem
  // A wrong field also breaks preparations, which prove nothing.
  const field =
    problem.kind === 'wrong-value'
      ? [causeOf({ ...testCase, problem: { ...plain, requirements: [] } as CaseReport['problem'] })]
      : []
  return [causeOf(testCase), causeOf({ ...testCase, problem: plain as CaseReport['problem'] }), ...field]
}

/**
 * The key that cases of one cause share. For unjudged cases it is the reason; otherwise the found mistake; for a call that should have been
 * accepted, the call and its answer; else the requirement and how it was broken.
 */
function causeOf({ key, verdict, problem }: CaseReport): string {
  if (problem === null) return key
  if (verdict !== 'failed' && verdict !== 'warned') return JSON.stringify(['reason', reasonKey(problem)])
  if (problem.hint !== undefined) {
    const { message: _words, ...hint } = problem.hint
    return JSON.stringify(['hint', hint])
  }
  if (problem.kind === 'wrong-outcome' && problem.expected === 'accepted')
    return JSON.stringify(['call', problem.got, shapeOfCall(problem)])
  return JSON.stringify(['broken', failureKey(problem), problem.requirements])
}

/** The reason of a problem. Missing test keys share one reason. */
function reasonKey(problem: ReportedProblem): unknown {
  const {
    message: _words,
    requirements: _of,
    step: _at,
    where: _in,
    hint: _hint,
    exchanges: _shown,
    ...facts
  } = problem
  if (facts.kind === 'wrong-outcome' || facts.kind === 'wrong-count') {
    const { doubt: _perhaps, ...broken } = facts
    return broken
  }
  return facts.kind === 'test-key-missing' ? { ...facts, testKey: '' } : facts
}

/** How an expectation was broken. The received value is left out, because ids and times differ from case to case. */
function failureKey(problem: ReportedProblem): unknown {
  switch (problem.kind) {
    case 'wrong-value':
      return [problem.kind, problem.path, mismatchKey(problem.mismatch)]
    case 'wrong-count':
      return [problem.kind, problem.side, typeof problem.wanted]
    case 'envelope-of-answers':
      return [problem.kind, problem.departures.map(({ kind }) => kind)]
    case 'wrong-jsonrpc':
    case 'wrong-id':
    case 'wrong-result-type':
      return problem.kind
    case 'wrong-outcome':
    case 'effect-shown':
    case 'call-not-answered':
      return [problem.kind, problem.kind === 'wrong-outcome' ? problem.expected : '', problem.got]
    default:
      return reasonKey(problem)
  }
}

function mismatchKey(mismatch: Mismatch): unknown {
  if (mismatch.rule === 'schema') return [mismatch.rule, mismatch.wanted, mismatch.place]
  return mismatch.rule === 'equals' ? [mismatch.rule, mismatch.wanted] : mismatch.rule
}

/** The method, the kind of authorization and the names of the params; of scopes only the word before the colon. */
function shapeOfCall({ step, exchanges }: Problem): string {
  // A trace includes the calls before it.
  const exchange = exchanges.at(-1)
  if (exchange === undefined) return step
  const who = exchange.request.find((line) => /^authorization:/i.test(line))?.split(' ')[1] ?? 'nobody'
  try {
    const { method, params } = JSON.parse(exchange.request.at(-1) ?? '')
    const scope: unknown[] = Array.isArray(params?.scope) ? params.scope : []
    const restrictions = scope.map((word) => /^[a-zA-Z]+:/.exec(String(word))?.[0] ?? '')
    const names = Object.keys(params ?? {})
    return [method, who, ...names, params?.grantType, ...new Set(restrictions)].join(' ')
  } catch {
    return `${exchange.request[0]} ${who}`
  }
}

const isAboutSignatures = (hint: Hint | undefined): boolean =>
  hint?.kind === 'server-mistake' || hint?.kind === 'signature-unexplained'

/** Weighs how much a case explains: the case whose own claim broke, a must before an implied, a guard before a field. */
function tellingOf(levels: Levels): (testCase: CaseReport) => number {
  const weights = new Map(
    levels.map(({ id, level, kind }) => [id, (level === 'must' ? 3 : 1) + (kind === 'guard' ? 1 : 0)]),
  )
  return ({ id, problem, proves }) => {
    const ids = problem === null || problem.requirements.length === 0 ? proves : problem.requirements
    const ownClaim = proves.every((id) => ids.includes(id)) ? 1 : 0
    const namesake = isAboutSignatures(problem?.hint) ? id.startsWith('signatures/') : ids.includes(id)
    return 4 * Math.max(0, ...ids.map((one) => weights.get(one) ?? 0)) + 2 * ownClaim + (namesake ? 1 : 0)
  }
}

/** Failures and warnings by cause. A warning that a failure explains is listed as its consequence. */
export function causesOfProblems({ requirements, cases }: PrintedReport): { failed: Cause[]; warned: Cause[] } {
  const broken = (['failed', 'warned'] as const).flatMap((verdict) => cases.filter((one) => one.verdict === verdict))
  const causes = groupByCause(requirements, broken).map(({ first, others }) => {
    const failure = [first, ...others].find(({ verdict }) => verdict === 'failed')
    if (failure === undefined || first.verdict === 'failed') return { first, others }
    return { first: failure, others: [first, ...others.filter((testCase) => testCase !== failure)] }
  })
  return {
    failed: causes.filter(({ first }) => first.verdict === 'failed'),
    warned: causes.filter(({ first }) => first.verdict === 'warned'),
  }
}

/** Blocked cases that no failure explains, by cause, beginning with the cause that blocks most. */
export function causesOfBlocked({ requirements, cases }: PrintedReport): Cause[] {
  const open = cases.filter(({ verdict, blockedBy }) => verdict === 'blocked' && blockedBy === null)
  return groupByCause(requirements, open).sort((one, other) => other.others.length - one.others.length)
}

/** One problem of the list that a reader looks at first, by the case or finding that represents it. */
interface ProblemItem {
  verdict: Verdict
  kind: 'case' | 'finding'
  /** Of the case or the finding. */
  id: string
  /** What follows the id: the broken requirements, and how many cases show or suffer it. */
  rest: string
}

/** Failed cases and findings, what no failure explains, then warned cases and findings. */
export function problemsOf(report: PrintedReport): ProblemItem[] {
  const { failed, warned } = causesOfProblems(report)
  const fresh = report.findings.filter(({ known }) => known === null)
  const found = groupFindings(report, fresh).map(({ first, others, shownBy }): ProblemItem => {
    const rest = `${moreLike(others)}${shownBy === null ? '' : `; ${shownBy} shows the same`}`
    return { verdict: first.verdict, kind: 'finding', id: first.id, rest }
  })
  const ofCause = ({ first: { verdict, key, problem }, others }: Cause): ProblemItem => {
    const broken = problem === null || problem.requirements.length === 0 ? '' : ` (${problem.requirements.join(', ')})`
    const blocked = report.cases.filter((one) => one.verdict === 'blocked' && one.blockedBy === key).length
    const effect = blocked === 0 ? '' : `; it blocks ${casesOf(blocked)}`
    return { verdict, kind: 'case', id: key, rest: `${broken}${moreLike(others)}${effect}` }
  }
  return [
    ...failed.map(ofCause),
    ...found.filter(({ verdict }) => verdict === 'failed'),
    ...causesOfBlocked(report).map(ofCause),
    ...warned.map(ofCause),
    ...found.filter(({ verdict }) => verdict === 'warned'),
  ]
}

const moreLike = (others: readonly unknown[]): string =>
  others.length === 0 ? '' : `, and ${others.length} more like it`

/** How many problems are listed next to the verdict; the rest of the report has all. */
const shownProblems = 20

/** The same as lines, and how many more there are. */
export function problemLines(report: PrintedReport): string[] {
  const lines = problemsOf(report).map(({ verdict, id, rest }) => `${glyphs[verdict]} ${id}${rest}`)
  return firstFew(lines, shownProblems)
}
