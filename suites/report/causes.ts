/** Groups cases by cause and open requirements by reason: one defect often breaks several cases, and one lack leaves several musts open. */
import { groupBy } from '../engine/group.ts'
import type { Hint, Mismatch, Problem, Verdict } from '../engine/judge/problem.ts'
import { joinReasons, keyOfReason, reasonText } from './problem-text.ts'
import type { CaseReport, Report, ReportedProblem, RequirementReport } from './report.ts'
import { verdictOrder } from './verdict-words.ts'

/** The level and kind of each requirement. */
type Levels = readonly Pick<RequirementReport, 'id' | 'level' | 'kind'>[]

export interface Cause<Case = CaseReport> {
  /** The case that is reported in full. */
  first: Case
  others: Case[]
}

/** Groups cases of one verdict by cause, in the order of their first cases. This affects only the output, never a verdict. */
export function groupByCause<Case extends CaseReport>(levels: Levels, cases: readonly Case[]): Cause<Case>[] {
  const weightOf = weightsOf(levels)
  return [...groupBy(cases, causeOf).values()].map((ofCause) => {
    const first = ofCause.reduce((best, testCase) => (weightOf(testCase) > weightOf(best) ? testCase : best))
    return { first, others: ofCause.filter((testCase) => testCase !== first) }
  })
}

/**
 * Finds the failed case that explains why a case is blocked, by key: its preparation failed in the same way. Of failed cases of one cause it
 * is the one that is reported in full. Cases that something else blocks are left out.
 */
export function blockersOf(levels: Levels, cases: readonly CaseReport[]): Map<string, string> {
  const failures = cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'known')
  const reportedFor = new Map<string, string>()
  for (const { first, others } of groupByCause(levels, failures.map(asFailure)))
    for (const testCase of [first, ...others]) for (const cause of causesOf(testCase)) reportedFor.set(cause, first.key)
  // Of failed cases, the one of each cause that is reported in full. Known failures have none, because what they block is known too.
  const failed = cases.filter(({ verdict }) => verdict === 'failed')
  const firstOf = new Map(
    groupByCause(levels, failed).flatMap(({ first, others }) => others.map(({ key }) => [key, first.key] as const)),
  )
  const blockers = new Map<string, string>()
  for (const testCase of cases) {
    if (testCase.verdict !== 'blocked' || testCase.problem === null) continue
    const blocker =
      causesOf(asFailure(testCase))
        .map((cause) => reportedFor.get(cause))
        .find((key) => key !== undefined) ?? blockerByKind(testCase.problem, failures)
    if (blocker !== undefined) blockers.set(testCase.key, firstOf.get(blocker) ?? blocker)
  }
  return blockers
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

/** Returns the case as if it had failed in a judged step, so that a known failure or a failed preparation has the same cause as an ordinary failure. */
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
function weightsOf(levels: Levels): (testCase: CaseReport) => number {
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

type Counts = { [verdict in Verdict]: number }

/** How many there are of each verdict, 0 included. */
export function countVerdicts(all: readonly { verdict: Verdict }[]): Counts {
  const counts = Object.fromEntries(verdictOrder.map((verdict) => [verdict, 0])) as Counts
  for (const { verdict } of all) counts[verdict] += 1
  return counts
}

/** `must`: open for this target; `implied`: the same for what is implied; `excused`: for a written reason that holds here. */
type OpenKind = 'must' | 'implied' | 'excused'

export interface OpenGroup {
  kind: OpenKind
  reason: string
  /** Cases that `--only` left out are not listed: the user knows them. */
  notSelectedByOnly: boolean
  ids: string[]
}

/**
 * Groups not-testable requirements by kind and reason, beginning with those that a run could change. Each reason is given once, so a
 * requirement with two reasons is in two groups; all reasons that need a probe are one.
 */
export function groupNotTestable({ requirements }: Pick<Report, 'requirements'>): OpenGroup[] {
  const open = requirements.flatMap(({ id, level, verdict, reasons, gap }) => {
    if (verdict !== 'not-testable') return []
    const kind: OpenKind = gap ? 'must' : level === 'must' ? 'excused' : 'implied'
    const byKey =
      reasons.length === 0
        ? new Map([['none', []]])
        : groupBy(reasons, (reason) => (reason.kind === 'needs-probe' ? 'probes' : keyOfReason(reason)))
    return [...byKey].map(([key, mine]) => ({ kind, key: `${kind} ${key}`, reasons: mine, id }))
  })
  const order: readonly OpenKind[] = ['must', 'implied', 'excused']
  return [...groupBy(open, ({ key }) => key).values()]
    .map((mine): OpenGroup => {
      const reasons = mine.flatMap((one) => one.reasons)
      const [joined] = joinReasons(reasons)
      return {
        kind: mine[0]?.kind ?? 'must',
        reason: joined === undefined ? 'No reason given' : reasonText(joined.reasons),
        notSelectedByOnly: isLeftOutByOnly({ reasons }),
        ids: mine.map(({ id }) => id),
      }
    })
    .sort((one, other) => order.indexOf(one.kind) - order.indexOf(other.kind) || other.ids.length - one.ids.length)
}

/** The user selected other cases and knows that this requirement is not judged. */
export function isLeftOutByOnly({ reasons }: Pick<RequirementReport, 'reasons'>): boolean {
  return reasons.some((one) => one.kind === 'not-selected' && one.by === 'only')
}
