/** One defect often shows in several rows: what looks like one cause is told once, and the other rows are listed under it. */
import type { Problem } from '../outcome.ts'
import type { Report, RowReport } from './model.ts'

export interface Cause {
  /** The row that is told in full. */
  first: RowReport
  others: RowReport[]
}

/** Rows of one verdict by cause, in the order of their first rows. Only what is printed follows from this, never a verdict. */
export function groupByCause(report: Pick<Report, 'requirements'>, rows: readonly RowReport[]): Cause[] {
  const byCause = new Map<string, RowReport[]>()
  for (const row of rows) {
    const cause = causeOf(row)
    byCause.set(cause, [...(byCause.get(cause) ?? []), row])
  }
  const telling = tellingOf(report)
  return [...byCause.values()].flatMap((mine) => {
    const first = mine.reduce((best, row) => (telling(row) > telling(best) ? row : best))
    return [{ first, others: mine.filter((row) => row !== first) }]
  })
}

/** The rows that are blocked by what made other rows fail, by the key of the row that tells it; the rest is blocked by itself. */
export function blockedByFailures(report: Pick<Report, 'requirements' | 'scenarios'>): {
  known: Map<string, RowReport[]>
  rest: RowReport[]
} {
  const failed = report.scenarios.filter(({ verdict }) => verdict === 'failed')
  const tellers = new Map(groupByCause(report, failed).map(({ first }) => [causeOf(first), first.key]))
  const known = new Map<string, RowReport[]>()
  const rest: RowReport[] = []
  for (const row of report.scenarios) {
    if (row.verdict !== 'blocked') continue
    const teller = row.problem === null ? undefined : tellers.get(causeOf(asFailure(row, row.problem)))
    if (teller === undefined) rest.push(row)
    else known.set(teller, [...(known.get(teller) ?? []), row])
  }
  return { known, rest }
}

/** A preparation that did not work, told as the failure that it is in another row. */
function asFailure(row: RowReport, problem: Problem): RowReport {
  return { ...row, verdict: 'failed', problem: { ...problem, message: problem.message.replace(/^preparation: /, '') } }
}

/**
 * What rows of one cause have in common: the same reason where nothing is known; the same mistake that was found out; the same call
 * with the same answer where it should have been accepted; else the same sentence, broken in the same way.
 */
function causeOf({ key, verdict, problem }: RowReport): string {
  if (problem === null) return key
  if (verdict !== 'failed' && verdict !== 'warned') return problem.message
  if (problem.hint !== undefined) return `hint ${problem.hint}`
  const shared = problem.message.startsWith('expected the call to be accepted')
    ? shapeOfCall(problem)
    : problem.requirements.join(' ')
  return `${problem.message} ${shared}`
}

/** The method, who called, and which params there were, without their values; of scopes the word before the colon. */
function shapeOfCall({ step, exchanges }: Problem): string {
  const [exchange] = exchanges
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

/** What says most when it is told in full: the row whose claim broke, a must before an implied, a guard before a field. */
function tellingOf(report: Pick<Report, 'requirements'>): (row: RowReport) => number {
  const weights = new Map(
    report.requirements.map(({ id, level, kind }) => [id, (level === 'must' ? 3 : 1) + (kind === 'guard' ? 1 : 0)]),
  )
  return ({ problem, proves }) => {
    const ids = problem === null || problem.requirements.length === 0 ? proves : problem.requirements
    const ownClaim = proves.every((id) => ids.includes(id)) ? 1 : 0
    return 2 * Math.max(0, ...ids.map((id) => weights.get(id) ?? 0)) + ownClaim
  }
}
