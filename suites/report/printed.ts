import { type Printable, type Printed, printable, printed } from '../engine/printable.ts'
import type { Finding, Report } from './report.ts'

/** A report whose texts are all printable. The lines of a fixture stay lines. */
export type PrintedReport = Printed<
  Omit<Report, 'findings' | 'newer'> & {
    findings: LinedFinding[]
    newer: Omit<Report['newer'], 'findings'> & { findings: LinedFinding[] }
  }
>

/** A finding of such a report. */
export type PrintedFinding = PrintedReport['findings'][number]

type LinedFinding = Omit<Finding, 'fixture'> & { fixture: string[] | null }

/** The maximum length of a text: enough for the command that repeats a case. */
const longestText = 4000

/** The report that every format except JSON prints. */
export function printedReport(report: Report): PrintedReport {
  const { findings, newer } = report
  const lined = { findings: findings.map(inLines), newer: { ...newer, findings: newer.findings.map(inLines) } }
  return printed({ ...report, ...lined }, longestText)
}

function inLines(finding: Finding): LinedFinding {
  return { ...finding, fixture: finding.fixture?.trimEnd().split('\n') ?? null }
}

/** With a frozen set: cases that show something that the set does not judge. */
export const brokenNewer = ({ newer }: PrintedReport): PrintedReport['newer']['cases'] =>
  newer.cases.filter(({ verdict }) => verdict === 'failed' || verdict === 'warned')

/** A line of an exchange, shorter than other texts. */
export function printedLine(text: string): Printable {
  return printable(text)
}
