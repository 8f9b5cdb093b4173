import { type Printable, vouchedFor } from '../engine/printable.ts'
import { blockedByKnown } from './causes.ts'
import { caseLines, explainCase, notRunBecause } from './explain.ts'
import { findingLines, verdictOfFinding } from './findings.ts'
import type { CaseReport, Report } from './model.ts'
import { brokenNewer, type PrintedReport, printedReport } from './printed.ts'

/**
 * JUnit XML: one test suite per area, one test case per case. failed = failure, blocked = error, not testable and known =
 * skipped with the reason; a warning passes and is written to system-out.
 */
export function renderJunit(raw: Report): Printable {
  const report = printedReport(raw)
  const areas = new Map<string, CaseReport[]>()
  for (const testCase of report.cases) {
    const area = testCase.id.split('/')[0] ?? testCase.id
    areas.set(area, [...(areas.get(area) ?? []), testCase])
  }
  const suites = [...areas].map(([area, cases]) => suite(report, area, cases))
  if (report.findings.length > 0) suites.push(findingSuite(report))
  const newer = newerTestcases(report)
  if (newer.length > 0) suites.push(newerSuite(newer))
  if (report.stale.length > 0) suites.push(staleSuite(report))
  return vouchedFor(
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      `<testsuites${attributes({ name: `svc-conformance ${report.meta.target}`, ...allTotals(report) })}>`,
      ...suites,
      '</testsuites>',
      '',
    ].join('\n'),
  )
}

function suite(report: PrintedReport, area: string, cases: CaseReport[]): string {
  const properties = {
    name: area,
    ...totals(report.cases, cases, 0),
    timestamp: report.meta.started.replace(/\.\d+Z$/, ''),
  }
  return [
    `  <testsuite${attributes(properties)}>`,
    ...cases.map((testCase) => testcase(report, testCase)),
    '  </testsuite>',
  ].join('\n')
}

/** Findings of the model have no case, so they get their own test suite. */
function findingSuite(report: PrintedReport): string {
  const properties = { name: 'findings', ...findingTotals(report), time: seconds(0) }
  return [
    `  <testsuite${attributes(properties)}>`,
    ...report.findings.map((finding) => {
      const open = `    <testcase${attributes({ classname: 'findings', name: finding.id, time: seconds(0) })}`
      const text = escapeText(findingLines(finding).join('\n'))
      const verdict = verdictOfFinding(finding)
      if (verdict === 'known')
        return `${open}><skipped${attributes({ message: `Known failure: ${finding.known?.reason ?? ''}` })}/></testcase>`
      if (verdict === 'warned') return `${open}><system-out>Warning: ${text}</system-out></testcase>`
      return `${open}><failure${attributes({ message: finding.message, type: 'finding' })}>${text}</failure></testcase>`
    }),
    '  </testsuite>',
  ].join('\n')
}

/** Cases that the frozen set does not contain change no verdict: they are listed and fail nothing. */
function newerSuite(testcases: readonly string[]): string {
  const { length } = testcases
  const properties = { name: 'newer checks', tests: length, failures: 0, errors: 0, skipped: length, time: seconds(0) }
  return [`  <testsuite${attributes(properties)}>`, ...testcases, '  </testsuite>'].join('\n')
}

function newerTestcases(report: PrintedReport): string[] {
  const note = (message: string): string =>
    `<skipped${attributes({ message: `Found by a newer check, which is not in set ${report.meta.set}: ${message}` })}/>`
  const told = (name: string, message: string, lines: readonly string[]): string =>
    `    <testcase${attributes({ classname: 'newer checks', name, time: seconds(0) })}>${note(message)}<system-out>${escapeText(lines.join('\n'))}</system-out></testcase>`
  return [
    ...brokenNewer(report).map((testCase) =>
      told(testCase.key, explainCase(report, testCase)?.but ?? '', caseLines(report, testCase)),
    ),
    ...report.newer.findings.map((finding) => told(finding.id, finding.message, findingLines(finding))),
  ]
}

function findingTotals({ findings }: PrintedReport) {
  const count = (verdict: string): number => findings.filter((finding) => verdictOfFinding(finding) === verdict).length
  return { tests: findings.length, failures: count('failed'), errors: 0, skipped: count('known') }
}

/** The root element has no attribute for the number of skipped tests. */
function allTotals(report: PrintedReport) {
  const { skipped: _skipped, ...cases } = totals(report.cases, report.cases, report.stale.length)
  const found = findingTotals(report)
  return {
    ...cases,
    tests: cases.tests + found.tests + brokenNewer(report).length + report.newer.findings.length,
    failures: cases.failures + found.failures,
  }
}

/** A stale entry fails the run, so it must be visible where people look. */
function staleSuite(report: PrintedReport): string {
  const number = report.stale.length
  return [
    `  <testsuite${attributes({ name: 'baseline', tests: number, failures: number, errors: 0, skipped: 0, time: '0.000' })}>`,
    ...report.stale.map(({ scenario, case: name, requirement, reason }) => {
      const label = [scenario, name, requirement].filter((part) => part !== undefined).join(', ')
      const message = 'This baseline entry is stale: it is listed, but it passes'
      return `    <testcase${attributes({ classname: 'baseline', name: label, time: '0.000' })}><failure${attributes({ message })}>${escapeText(reason)}</failure></testcase>`
    }),
    '  </testsuite>',
  ].join('\n')
}

function testcase(report: PrintedReport, testCase: CaseReport): string {
  const open = `    <testcase${attributes({ classname: testCase.id.replaceAll('/', '.'), name: testCase.case === null ? testCase.title : `${testCase.title}: ${testCase.case}`, time: seconds(testCase.durationMs) })}`
  const said = explainCase(report, testCase)
  const message = said?.but ?? ''
  switch (testCase.verdict) {
    case 'passed':
      return `${open}/>`
    case 'failed':
      return `${open}><failure${attributes({ message, type: 'failed' })}>${escapeText(caseLines(report, testCase).join('\n'))}</failure></testcase>`
    case 'blocked':
      // A case that a known failure blocks does not fail the run, so it must not look like a failure.
      if (blockedByKnown(report.cases, testCase))
        return `${open}><skipped${attributes({ message: `Blocked by the known failure of ${testCase.blockedBy}` })}/></testcase>`
      return `${open}><error${attributes({ message, type: 'blocked' })}>${escapeText(caseLines(report, testCase).join('\n'))}</error></testcase>`
    case 'warned':
      return `${open}><system-out>${escapeText(`Warning: ${caseLines(report, testCase).join('\n')}`)}</system-out></testcase>`
    case 'known':
      return `${open}><skipped${attributes({ message: `Known failure: ${testCase.known?.reason ?? ''}` })}/><system-out>${escapeText(caseLines(report, testCase).join('\n'))}</system-out></testcase>`
    case 'not-testable':
      return `${open}><skipped${attributes({ message: `Not testable here: ${message}` })}/></testcase>`
    case 'not-applicable':
      return `${open}><skipped${attributes({ message: `Not applicable: ${message}` })}/></testcase>`
    case 'not-run':
      return `${open}><skipped${attributes({ message: notRunBecause(testCase) ?? message })}/></testcase>`
  }
}

function totals(all: readonly CaseReport[], cases: readonly CaseReport[], stale: number) {
  const excused = cases.filter((testCase) => blockedByKnown(all, testCase)).length
  const count = (...verdicts: CaseReport['verdict'][]): number =>
    cases.filter((testCase) => verdicts.includes(testCase.verdict)).length
  return {
    tests: cases.length + stale,
    failures: count('failed') + stale,
    errors: count('blocked') - excused,
    skipped: count('not-testable', 'not-applicable', 'not-run', 'known') + excused,
    time: seconds(cases.reduce((sum, testCase) => sum + testCase.durationMs, 0)),
  }
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}

function attributes(all: { [name: string]: string | number }): string {
  return Object.entries(all)
    .map(([name, value]) => ` ${name}="${escapeAttribute(String(value))}"`)
    .join('')
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function escapeAttribute(text: string): string {
  return escapeText(text)
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\r', '&#13;')
    .replaceAll('\t', '&#9;')
}
