/** The list that a reader looks at first: each problem once, by the case or finding that represents it. */
import { firstFew } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import { type Cause, groupByCause } from './causes.ts'
import { casesWith } from './explain.ts'
import { groupFindings, verdictOfFinding } from './findings.ts'
import type { PrintedReport } from './printed.ts'
import type { CaseReport } from './report.ts'
import { casesOf, glyphs } from './verdict-words.ts'

/** How many problems are listed next to the verdict; the rest of the report has all. */
const shownProblems = 20

/** Failures and warnings by cause. A warning that a failure explains is listed as its consequence. */
export function causesOfProblems(report: PrintedReport): { failed: Cause[]; warned: Cause[] } {
  const cases = [...casesWith(report, 'failed'), ...casesWith(report, 'warned')]
  const causes = groupByCause(report.requirements, cases).map(({ first, others }) => {
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
export function causesOfBlocked(report: PrintedReport): Cause[] {
  const open = casesWith(report, 'blocked').filter((testCase) => testCase.blockedBy === null)
  return groupByCause(report.requirements, open).sort((one, other) => other.others.length - one.others.length)
}

/** One problem of a list. */
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
  const found = foundProblems(report)
  return [
    ...failed.map((cause) => problemOf(cause, blockedCount(report, cause.first))),
    ...found.filter(({ verdict }) => verdict === 'failed'),
    ...causesOfBlocked(report).map((cause) => problemOf(cause, 0)),
    ...warned.map((cause) => problemOf(cause, 0)),
    ...found.filter(({ verdict }) => verdict === 'warned'),
  ]
}

function foundProblems(report: PrintedReport): ProblemItem[] {
  const fresh = report.findings.filter(({ known }) => known === null)
  return groupFindings(report, fresh).map(({ first, others, shownBy }) => {
    const rest = `${moreLike(others)}${shownBy === null ? '' : `; ${shownBy} shows the same`}`
    return { verdict: verdictOfFinding(first), kind: 'finding', id: first.id, rest }
  })
}

/** The same as lines, and how many more there are. */
export function problemLines(report: PrintedReport): string[] {
  const lines = problemsOf(report).map(({ verdict, id, rest }) => `${glyphs[verdict]} ${id}${rest}`)
  return firstFew(lines, shownProblems)
}

function problemOf({ first: { verdict, key, problem }, others }: Cause, blocked: number): ProblemItem {
  const broken = problem === null || problem.requirements.length === 0 ? '' : ` (${problem.requirements.join(', ')})`
  const effect = blocked === 0 ? '' : `; it blocks ${casesOf(blocked)}`
  return { verdict, kind: 'case', id: key, rest: `${broken}${moreLike(others)}${effect}` }
}

const moreLike = (others: readonly unknown[]): string =>
  others.length === 0 ? '' : `, and ${others.length} more like it`

function blockedCount(report: PrintedReport, { key }: CaseReport): number {
  return casesWith(report, 'blocked').filter(({ blockedBy }) => blockedBy === key).length
}
