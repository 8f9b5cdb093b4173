/** One defect often shows in several cases: what looks like one cause is told once, and the other cases are listed under it. */
import type { Problem } from '../engine/judge/outcome.ts'
import type { Mismatch } from '../engine/judge/problem.ts'
import type { CaseReport, ReportedProblem, RequirementReport } from './model.ts'

/** What a requirement weighs. */
export type Levels = readonly Pick<RequirementReport, 'id' | 'level' | 'kind'>[]

export interface Cause {
  /** The case that is told in full. */
  first: CaseReport
  others: CaseReport[]
}

/** Cases of one verdict by cause, in the order of their first cases. Only what is printed follows from this, never a verdict. */
export function groupByCause(levels: Levels, cases: readonly CaseReport[]): Cause[] {
  const byCause = new Map<string, CaseReport[]>()
  for (const testCase of cases) {
    const cause = causeOf(testCase)
    byCause.set(cause, [...(byCause.get(cause) ?? []), testCase])
  }
  const telling = tellingOf(levels)
  return [...byCause.values()].flatMap((mine) => {
    const first = mine.reduce((best, testCase) => (telling(testCase) > telling(best) ? testCase : best))
    return [{ first, others: mine.filter((testCase) => testCase !== first) }]
  })
}

/**
 * Which failed case explains why a case is blocked, by key: its preparation failed as that case did. Cases that are blocked by
 * something else are left out.
 */
export function blockersOf(levels: Levels, cases: readonly CaseReport[]): Map<string, string> {
  const failures = cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'known')
  const tellers = new Map<string, string>()
  for (const { first, others } of groupByCause(levels, failures.map(asFailure)))
    for (const testCase of [first, ...others]) for (const cause of causesOf(testCase)) tellers.set(cause, first.key)
  const blockers = new Map<string, string>()
  for (const testCase of cases) {
    if (testCase.verdict !== 'blocked' || testCase.problem === null) continue
    const blocker =
      causesOf(asFailure(testCase))
        .map((cause) => tellers.get(cause))
        .find((key) => key !== undefined) ?? blockerByKind(testCase.problem, failures)
    if (blocker !== undefined) blockers.set(testCase.key, blocker)
  }
  return blockers
}

/** The failure that an obstacle is known to come from. */
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
    case 'expiry-not-a-timestamp':
      return breaking(expiryRequirements)
    case 'junk-accepted':
    case 'open-to-all':
      return breaking(junkControlRequirements)
    default:
      return undefined
  }
}

/** A known failure has been accepted for now, and with it what cannot be asked because of it. */
export function blockedByKnown(cases: readonly CaseReport[], { verdict, blockedBy }: CaseReport): boolean {
  return verdict === 'blocked' && cases.some((testCase) => testCase.key === blockedBy && testCase.verdict === 'known')
}

/** A method that is open to all breaks one of these. */
const junkControlRequirements: readonly string[] = ['authorization/required', 'keys/create-authorized']

/** Without these there is no moment to wait for. */
const expiryRequirements: readonly string[] = [
  'grants/result-access-token-expiry',
  'grants/result-refresh-token-expiry',
]

/** A known failure, or a preparation that did not work, seen as the failure that it is. */
function asFailure(testCase: CaseReport): CaseReport {
  const { problem } = testCase
  if (problem === null) return { ...testCase, verdict: 'failed' }
  const { inPreparation: _preparation, ...plain } = problem
  return { ...testCase, verdict: 'failed', problem: plain as CaseReport['problem'] }
}

/** What a case may be recognized by in another one: with its hint and without it, since a hint is not looked for everywhere. */
function causesOf(testCase: CaseReport): string[] {
  const { problem } = testCase
  if (problem === null) return [causeOf(testCase)]
  const { hint: _hint, ...plain } = problem
  // A field that is wrong is wrong in a preparation too, which proves nothing.
  const field =
    problem.kind === 'wrong-value'
      ? [causeOf({ ...testCase, problem: { ...plain, requirements: [] } as CaseReport['problem'] })]
      : []
  return [causeOf(testCase), causeOf({ ...testCase, problem: plain as CaseReport['problem'] }), ...field]
}

/**
 * What cases of one cause have in common: the same reason where nothing is known; the same mistake that was found out; the same call
 * with the same answer where it should have been accepted; else the same sentence, broken in the same way.
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

/** Test keys that cannot be created have one reason. */
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
  return facts.kind === 'test-key-missing' ? { ...facts, testKey: '' } : facts
}

/** How an expectation was broken. What came is left out, because it differs from case to case where an id or a moment is in it. */
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

/** The method, who called, and which params there were, without their values; of scopes the word before the colon. */
function shapeOfCall({ step, exchanges }: Problem): string {
  // A trace shows the calls before it too.
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

/** What says most when it is told in full: the case whose claim broke, a must before an implied, a guard before a field. */
function tellingOf(levels: Levels): (testCase: CaseReport) => number {
  const weights = new Map(
    levels.map(({ id, level, kind }) => [id, (level === 'must' ? 3 : 1) + (kind === 'guard' ? 1 : 0)]),
  )
  return ({ id, problem, proves }) => {
    const ids = problem === null || problem.requirements.length === 0 ? proves : problem.requirements
    const ownClaim = proves.every((id) => ids.includes(id)) ? 1 : 0
    // A hint is about signatures.
    const namesake = problem?.hint === undefined ? ids.includes(id) : id.startsWith('signatures/')
    return 4 * Math.max(0, ...ids.map((one) => weights.get(one) ?? 0)) + 2 * ownClaim + (namesake ? 1 : 0)
  }
}
