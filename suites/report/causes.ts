/** One defect often shows in several cases: what looks like one cause is told once, and the other cases are listed under it. */
import type { Problem } from '../engine/judge/outcome.ts'
import type { CaseReport, RequirementReport } from './model.ts'

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
 * Which failed case tells why a case is blocked, by key: its preparation failed as that case did. Cases that are blocked by something else
 * are not there.
 */
export function blockersOf(levels: Levels, cases: readonly CaseReport[]): Map<string, string> {
  const failures = cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'known')
  const tellers = new Map<string, string>()
  for (const { first, others } of groupByCause(levels, failures.map(asFailure)))
    for (const testCase of [first, ...others]) for (const cause of causesOf(testCase)) tellers.set(cause, first.key)
  const openToAll = failures.find(({ problem }) => problem?.requirements.some((id) => gateRequirements.includes(id)))
  const wrongExpiry = failures.find(({ problem }) =>
    problem?.requirements.some((id) => expiryRequirements.includes(id)),
  )
  const blockers = new Map<string, string>()
  for (const testCase of cases) {
    if (testCase.verdict !== 'blocked' || testCase.problem === null) continue
    const { message } = testCase.problem
    const member = /^the key of "([a-z]+)" could not be created/.exec(message)?.[1]
    const blocker =
      causesOf(asFailure(testCase))
        .map((cause) => tellers.get(cause))
        .find((key) => key !== undefined) ??
      failures.find(({ key }) => key === `test-keys/${member}`)?.key ??
      (message.startsWith('the reported expiry is no 13-digit') ? wrongExpiry?.key : undefined) ??
      (/also accepts calls without any authorization|or none at all/.test(message) ? openToAll?.key : undefined)
    if (blocker !== undefined) blockers.set(testCase.key, blocker)
  }
  return blockers
}

/** A known failure has been accepted for now, and with it what cannot be asked because of it. */
export function blockedByKnown(cases: readonly CaseReport[], { verdict, blockedBy }: CaseReport): boolean {
  return verdict === 'blocked' && cases.some((testCase) => testCase.key === blockedBy && testCase.verdict === 'known')
}

/** Why a case was not run, where the run ended before it; null for a case that something else blocks, or nothing. */
export function notRunBecause({ problem }: Pick<CaseReport, 'problem'>): string | null {
  if (problem === null) return null
  return /^not run: (.*)$/s.exec(problem.message)?.[1] ?? null
}

/** A method that is open to all breaks one of these. */
const gateRequirements: readonly string[] = ['authorization/required', 'keys/create-authorized']

/** Without these there is no moment to wait for. */
const expiryRequirements: readonly string[] = [
  'grants/result-access-token-expiry',
  'grants/result-refresh-token-expiry',
]

/** A known failure, or a preparation that did not work, told as the failure that it is. */
function asFailure(testCase: CaseReport): CaseReport {
  const { problem } = testCase
  if (problem === null) return { ...testCase, verdict: 'failed' }
  return {
    ...testCase,
    verdict: 'failed',
    problem: { ...problem, message: problem.message.replace(/^preparation: /, '') },
  }
}

/** What it may be recognized by in another case: with its hint and without it, since a hint is not looked for everywhere. */
function causesOf(testCase: CaseReport): string[] {
  const { problem } = testCase
  if (problem === null) return [causeOf(testCase)]
  const { hint: _hint, ...plain } = problem
  // A field that is wrong is wrong in a preparation too, which proves nothing.
  const field = problem.message.startsWith('result')
    ? [causeOf({ ...testCase, problem: { ...plain, requirements: [] } })]
    : []
  return [causeOf(testCase), causeOf({ ...testCase, problem: plain }), ...field]
}

/**
 * What cases of one cause have in common: the same reason where nothing is known; the same mistake that was found out; the same call
 * with the same answer where it should have been accepted; else the same sentence, broken in the same way.
 */
function causeOf({ key, verdict, problem }: CaseReport): string {
  if (problem === null) return key
  if (verdict !== 'failed' && verdict !== 'warned') return problem.message.replace(/^the key of "[a-z]+"/, 'the key')
  if (problem.hint !== undefined) return `hint ${problem.hint}`
  if (problem.message.startsWith('expected the call to be accepted'))
    return `${problem.message} ${shapeOfCall(problem)}`
  // What came differs from case to case where an id or a moment is in it.
  return [problem.message.replaceAll(/-?\d+/g, '#'), ...problem.requirements].join(' ')
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
