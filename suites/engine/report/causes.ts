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

/** What says most when it is told in full: a must before an implied, what is let in or kept out before a field. */
function tellingOf(report: Pick<Report, 'requirements'>): (row: RowReport) => number {
  const weights = new Map(
    report.requirements.map(({ id, level, kind }) => [id, (level === 'must' ? 3 : 1) + (kind === 'guard' ? 1 : 0)]),
  )
  return ({ problem, proves }) => {
    const ids = problem === null || problem.requirements.length === 0 ? proves : problem.requirements
    return Math.max(0, ...ids.map((id) => weights.get(id) ?? 0))
  }
}
