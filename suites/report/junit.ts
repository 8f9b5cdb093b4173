import { groupBy } from '../engine/group.ts'
import { type Printable, vouchedFor } from '../engine/printable.ts'
import { blockedByKnown } from './causes.ts'
import { areaOf, caseLines, explainCase, notRunBecause } from './explain.ts'
import { findingLines, verdictOfFinding } from './findings.ts'
import { type JunitTest, junitDocument } from './junit-document.ts'
import { brokenNewer, type PrintedReport, printedReport } from './printed.ts'
import type { CaseReport, Report } from './report.ts'
import { entryWords } from './verdict-words.ts'

/**
 * JUnit XML: one test suite per area, one test case per case. failed = failure, blocked = error, not testable and known =
 * skipped with the reason; a warning passes and is written to system-out.
 */
export function renderJunit(raw: Report): Printable {
  const report = printedReport(raw)
  const areas = groupBy(report.cases, ({ id }) => areaOf(id))
  return vouchedFor(
    junitDocument(`svc-conformance ${report.meta.target}`, [
      ...[...areas].map(([name, cases]) => ({
        name,
        tests: cases.map((testCase) => testOfCase(report, testCase)),
        started: report.meta.started,
      })),
      // Findings of the model have no case.
      { name: 'findings', tests: report.findings.map(testOfFinding) },
      { name: 'newer checks', tests: newerTests(report) },
      { name: 'baseline', tests: report.stale.map(testOfStale) },
    ]),
  )
}

function testOfCase(report: PrintedReport, testCase: CaseReport): JunitTest {
  const { id, case: name, title, durationMs } = testCase
  return {
    classname: id.replaceAll('/', '.'),
    name: name === null ? title : `${title}: ${name}`,
    durationMs,
    ...outcomeOf(report, testCase),
  }
}

function outcomeOf(report: PrintedReport, testCase: CaseReport): Pick<JunitTest, 'outcome' | 'systemOut'> {
  const message = explainCase(report, testCase)?.but ?? ''
  const text = caseLines(report, testCase).join('\n')
  switch (testCase.verdict) {
    case 'passed':
      return {}
    case 'failed':
      return { outcome: { kind: 'failure', message, type: 'failed', text } }
    case 'blocked':
      // A case that a known failure blocks does not fail the run, so it must not look like a failure.
      return blockedByKnown(report.cases, testCase)
        ? skipped(`Blocked by the known failure of ${testCase.blockedBy}`)
        : { outcome: { kind: 'error', message, type: 'blocked', text } }
    case 'warned':
      return { systemOut: `Warning: ${text}` }
    case 'known':
      return { ...skipped(`Known failure: ${testCase.known?.reason ?? ''}`), systemOut: text }
    case 'not-testable':
      return skipped(`Not testable here: ${message}`)
    case 'not-applicable':
      return skipped(`Not applicable: ${message}`)
    case 'not-run':
      return skipped(notRunBecause(testCase) ?? message)
  }
}

const skipped = (message: string): Pick<JunitTest, 'outcome'> => ({ outcome: { kind: 'skipped', message } })

function testOfFinding(finding: PrintedReport['findings'][number]): JunitTest {
  const named = { classname: 'findings', name: finding.id }
  const text = findingLines(finding).join('\n')
  const verdict = verdictOfFinding(finding)
  if (verdict === 'known') return { ...named, ...skipped(`Known failure: ${finding.known?.reason ?? ''}`) }
  if (verdict === 'warned') return { ...named, systemOut: `Warning: ${text}` }
  return { ...named, outcome: { kind: 'failure', message: finding.message, type: 'finding', text } }
}

/** Cases that the frozen set does not contain change no verdict: they are listed and fail nothing. */
function newerTests(report: PrintedReport): JunitTest[] {
  const test = (name: string, message: string, lines: readonly string[]): JunitTest => ({
    classname: 'newer checks',
    name,
    ...skipped(`Found by a newer check, which is not in set ${report.meta.set}: ${message}`),
    systemOut: lines.join('\n'),
  })
  return [
    ...brokenNewer(report).map((testCase) =>
      test(testCase.key, explainCase(report, testCase)?.but ?? '', caseLines(report, testCase)),
    ),
    ...report.newer.findings.map((finding) => test(finding.id, finding.message, findingLines(finding))),
  ]
}

/** A stale entry fails the run, so it must be visible where people look. */
function testOfStale(entry: PrintedReport['stale'][number]): JunitTest {
  const message = 'This baseline entry is stale: it is listed, but it passes'
  return { classname: 'baseline', name: entryWords(entry), outcome: { kind: 'failure', message, text: entry.reason } }
}
