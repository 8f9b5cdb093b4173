/** What every format says about a finding of the model. */
import { counted } from '../engine/group.ts'
import type { Verdict } from '../engine/judge/verdict.ts'
import { historyLines } from './history.ts'
import type { PrintedFinding, PrintedReport } from './printed.ts'
import type { Finding, Since } from './report.ts'

/** The verdict that a case would have for the same defect. */
export function verdictOfFinding({ level, known }: Pick<Finding, 'level' | 'known'>): Verdict {
  if (known !== null) return 'known'
  return level === 'must' ? 'failed' : 'warned'
}

/** Whether the finding fails the run, as a failed case does. */
export const failsRun = (finding: Pick<Finding, 'level' | 'known'>): boolean => verdictOfFinding(finding) === 'failed'

/** Describes how often the finding happened again. */
export function reproducedSentence({
  reproduced: { failed, tries },
  least,
  message,
}: Pick<Finding, 'reproduced' | 'least' | 'message'>): string {
  if (tries === 0)
    return `It was not tried again${message.includes('manager/createApiKey') ? ', because each try may take a place for a key' : ''}`
  const often = `Repeated ${counted(tries, 'time')}, seen ${counted(failed, 'time')}`
  if (failed === 0) return `${often}: it rests on what happened before, or on chance`
  if (failed < tries) return `${often}: it depends on timing or chance`
  return least === true ? `${often}; not seen without any single one of these steps and words of scope` : often
}

/** What came between a right answer and the wrong one. */
export const sinceLines = ({ since }: Pick<Finding, 'since'>): string[] =>
  since === undefined ? [] : [sinceTitle(since), ...since.calls.map((text) => `- ${text}`)]

export const sinceTitle = ({ from }: Since): string => `${from}. What came between:`

/** The finding line by line, for formats that take one text for it. */
export function findingLines(finding: PrintedFinding): string[] {
  return [
    finding.message,
    `${finding.level.toUpperCase()} ${finding.requirement}`,
    reproducedSentence(finding),
    ...finding.steps.map((step, index) => `${index + 1}. ${step}`),
    ...sinceLines(finding),
    ...historyLines(finding.history),
    ...(finding.fixture === null ? [] : ['', ...finding.fixture]),
  ]
}

/** Sorts findings by what a reader wants to see first. */
export function sortFindings<F extends Pick<Finding, 'level' | 'known'>>(findings: readonly F[]): F[] {
  const order: readonly Verdict[] = ['failed', 'warned', 'known']
  return [...findings].sort(
    (one, other) => order.indexOf(verdictOfFinding(one)) - order.indexOf(verdictOfFinding(other)),
  )
}

/** Findings that break one requirement. */
interface FindingGroup {
  first: PrintedFinding
  others: PrintedFinding[]
  /** The failed or warned case that also shows this requirement broken; null: only the model does. */
  shownBy: string | null
}

/** Groups findings by what they break: several answers that break one requirement usually have one cause. */
export function groupFindings({ cases }: PrintedReport, findings: readonly PrintedFinding[]): FindingGroup[] {
  const groups = new Map<string, FindingGroup>()
  for (const finding of sortFindings(findings)) {
    const name = `${verdictOfFinding(finding)} ${finding.requirement}`
    const group = groups.get(name)
    if (group !== undefined) group.others.push(finding)
    else groups.set(name, { first: finding, others: [], shownBy: caseThatShows(cases, finding) })
  }
  return [...groups.values()]
}

/**
 * A case that also shows the requirement of a finding broken: one of its name, else the first, failed ones before warned ones. A warned case
 * shows less than a finding that fails the run.
 */
export function caseThatShows(cases: PrintedReport['cases'], finding: PrintedFinding): string | null {
  const showing = cases.filter(({ problem }) => problem?.requirements.includes(finding.requirement) === true)
  const levels: Verdict[] = failsRun(finding) ? ['failed'] : ['failed', 'warned']
  const ordered = levels.flatMap((level) => showing.filter(({ verdict }) => verdict === level))
  // The case that the requirement is named after is usually the one that is reported in full.
  const shown = ordered.find(({ id }) => id === finding.requirement) ?? ordered[0]
  return shown?.key ?? null
}
