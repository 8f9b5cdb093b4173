/** One defect often shows in several rows: what looks like one cause is told once, and the other rows are listed under it. */
import type { Problem } from '../outcome.ts'
import type { RequirementReport, RowReport } from './model.ts'

/** What a requirement weighs. */
export type Levels = readonly Pick<RequirementReport, 'id' | 'level' | 'kind'>[]

export interface Cause {
  /** The row that is told in full. */
  first: RowReport
  others: RowReport[]
}

/** Rows of one verdict by cause, in the order of their first rows. Only what is printed follows from this, never a verdict. */
export function groupByCause(levels: Levels, rows: readonly RowReport[]): Cause[] {
  const byCause = new Map<string, RowReport[]>()
  for (const row of rows) {
    const cause = causeOf(row)
    byCause.set(cause, [...(byCause.get(cause) ?? []), row])
  }
  const telling = tellingOf(levels)
  return [...byCause.values()].flatMap((mine) => {
    const first = mine.reduce((best, row) => (telling(row) > telling(best) ? row : best))
    return [{ first, others: mine.filter((row) => row !== first) }]
  })
}

/**
 * Which failed row tells why a row is blocked, by key: its preparation failed as that row did. Rows that are blocked by something else
 * are not there.
 */
export function blockersOf(levels: Levels, rows: readonly RowReport[]): Map<string, string> {
  const failures = rows.filter(({ verdict }) => verdict === 'failed' || verdict === 'known')
  const tellers = new Map<string, string>()
  for (const { first, others } of groupByCause(levels, failures.map(asFailure)))
    for (const row of [first, ...others]) for (const cause of causesOf(row)) tellers.set(cause, first.key)
  const openToAll = failures.find(({ problem }) => problem?.requirements.some((id) => gateRequirements.includes(id)))
  const wrongExpiry = failures.find(({ problem }) =>
    problem?.requirements.some((id) => expiryRequirements.includes(id)),
  )
  const blockers = new Map<string, string>()
  for (const row of rows) {
    if (row.verdict !== 'blocked' || row.problem === null) continue
    const { message } = row.problem
    const member = /^the key of "([a-z]+)" could not be created/.exec(message)?.[1]
    const blocker =
      causesOf(asFailure(row))
        .map((cause) => tellers.get(cause))
        .find((key) => key !== undefined) ??
      failures.find(({ key }) => key === `cast/${member}`)?.key ??
      (message.startsWith('the reported expiry is no 13-digit') ? wrongExpiry?.key : undefined) ??
      (/also accepts calls without any authorization|or none at all/.test(message) ? openToAll?.key : undefined)
    if (blocker !== undefined) blockers.set(row.key, blocker)
  }
  return blockers
}

/** A known failure has been accepted for now, and with it what cannot be asked because of it. */
export function blockedByKnown(rows: readonly RowReport[], { verdict, blockedBy }: RowReport): boolean {
  return verdict === 'blocked' && rows.some((row) => row.key === blockedBy && row.verdict === 'known')
}

/** Why a row was not run, where the run ended before it; null for a row that something else blocks, or nothing. */
export function notRunBecause({ verdict, problem }: RowReport): string | null {
  if (verdict !== 'blocked' || problem === null) return null
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
function asFailure(row: RowReport): RowReport {
  const { problem } = row
  if (problem === null) return { ...row, verdict: 'failed' }
  return { ...row, verdict: 'failed', problem: { ...problem, message: problem.message.replace(/^preparation: /, '') } }
}

/** What it may be recognized by in another row: with its hint and without it, since a hint is not looked for everywhere. */
function causesOf(row: RowReport): string[] {
  const { problem } = row
  if (problem === null) return [causeOf(row)]
  const { hint: _hint, ...plain } = problem
  // A field that is wrong is wrong in a preparation too, which proves nothing.
  const field = problem.message.startsWith('result')
    ? [causeOf({ ...row, problem: { ...plain, requirements: [] } })]
    : []
  return [causeOf(row), causeOf({ ...row, problem: plain }), ...field]
}

/**
 * What rows of one cause have in common: the same reason where nothing is known; the same mistake that was found out; the same call
 * with the same answer where it should have been accepted; else the same sentence, broken in the same way.
 */
function causeOf({ key, verdict, problem }: RowReport): string {
  if (problem === null) return key
  if (verdict !== 'failed' && verdict !== 'warned') return problem.message.replace(/^the key of "[a-z]+"/, 'the key')
  if (problem.hint !== undefined) return `hint ${problem.hint}`
  if (problem.message.startsWith('expected the call to be accepted'))
    return `${problem.message} ${shapeOfCall(problem)}`
  // What came differs from row to row where an id or a moment is in it.
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

/** What says most when it is told in full: the row whose claim broke, a must before an implied, a guard before a field. */
function tellingOf(levels: Levels): (row: RowReport) => number {
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
