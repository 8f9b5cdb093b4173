import { blockedByKnown } from './causes.ts'
import { explainCase, notRunBecause } from './explain.ts'
import type { CaseReport, Report } from './model.ts'
import { printable } from './printable.ts'

/**
 * JUnit XML: one test suite per area, one test case per case. failed = failure, blocked = error, not testable and known =
 * skipped with the reason; a warning passes and is written to system-out.
 */
export function renderJunit(raw: Report): string {
  const report = printable(raw)
  const areas = new Map<string, CaseReport[]>()
  for (const testCase of report.cases) {
    const area = testCase.id.split('/')[0] ?? testCase.id
    areas.set(area, [...(areas.get(area) ?? []), testCase])
  }
  const suites = [...areas].map(([area, cases]) => suite(report, area, cases))
  if (report.stale.length > 0) suites.push(staleSuite(report))
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: `svc-conformance ${report.meta.target}`, ...totals(report.cases, report.cases, report.stale.length) })}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n')
}

function suite(report: Report, area: string, cases: CaseReport[]): string {
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

/** A stale entry fails the run, so it must be seen in the place where people look. */
function staleSuite(report: Report): string {
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

function testcase(report: Report, testCase: CaseReport): string {
  const open = `    <testcase${attributes({ classname: testCase.id.replaceAll('/', '.'), name: testCase.case === null ? testCase.title : `${testCase.title}: ${testCase.case}`, time: seconds(testCase.durationMs) })}`
  const said = explainCase(report, testCase)
  const message = said?.but ?? ''
  switch (testCase.verdict) {
    case 'passed':
      return `${open}/>`
    case 'failed':
      return `${open}><failure${attributes({ message, type: 'failed' })}>${escapeText(details(report, testCase))}</failure></testcase>`
    case 'blocked':
      // What a known failure blocks fails no run, so it must not look like it.
      if (blockedByKnown(report.cases, testCase))
        return `${open}><skipped${attributes({ message: `Blocked by the known failure of ${testCase.blockedBy}` })}/></testcase>`
      return `${open}><error${attributes({ message, type: 'blocked' })}>${escapeText(details(report, testCase))}</error></testcase>`
    case 'warned':
      return `${open}><system-out>${escapeText(`Warning: ${details(report, testCase)}`)}</system-out></testcase>`
    case 'known':
      return `${open}><skipped${attributes({ message: `Known failure: ${testCase.known?.reason ?? ''}` })}/><system-out>${escapeText(details(report, testCase))}</system-out></testcase>`
    case 'not-testable':
      return `${open}><skipped${attributes({ message: `Not testable here: ${message}` })}/></testcase>`
    case 'not-applicable':
      return `${open}><skipped${attributes({ message: `Not applicable: ${message}` })}/></testcase>`
    case 'not-run':
      return `${open}><skipped${attributes({ message: notRunBecause(testCase) ?? message })}/></testcase>`
  }
}

function details(report: Report, testCase: CaseReport): string {
  const said = explainCase(report, testCase)
  if (said === null) return testCase.title
  return [
    testCase.key,
    ...said.sentences.map(({ level, id, text, anchor }) => `${level} ${id}: ${text} (${anchor})`),
    `At ${said.at}${said.where === null ? '' : ` (${said.where})`}`,
    `But ${said.but}`,
    ...(said.hint === null ? [] : [`Hint ${said.hint}`]),
    ...said.exchanges.flatMap(({ request, answer }) => [
      '',
      ...request.map((line) => `> ${line}`),
      ...answer.map((line) => `< ${line}`),
    ]),
    '',
    `Again ${testCase.again}`,
  ].join('\n')
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
