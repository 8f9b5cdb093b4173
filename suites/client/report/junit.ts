import { type Printable, printed, vouchedFor } from '../../engine/printable.ts'
import type { CheckReport, ClientReport } from './model.ts'
import { areaOf, exchangeLines } from './text.ts'

/** JUnit XML: one test suite per area, one test case per check. failed = failure, not exercised and known = skipped, warned = system-out. */
export function renderJunit(raw: ClientReport): Printable {
  const report = printed(raw)
  const areas = [...new Set(report.checks.map(({ id }) => areaOf(id)))]
  const suites = areas.map((area) =>
    suite(
      area,
      report.checks.filter(({ id }) => areaOf(id) === area),
    ),
  )
  const stale = report.stale.map(
    ({ check, reason }) =>
      `    <testcase${attributes({ classname: 'baseline', name: check })}><failure${attributes({ message: 'This baseline entry is stale: it is listed, but it passes' })}>${escapeXml(reason)}</failure></testcase>`,
  )
  const baseline =
    stale.length === 0
      ? []
      : [
          `  <testsuite${attributes({ name: 'baseline', tests: stale.length, failures: stale.length, errors: 0, skipped: 0 })}>`,
          ...stale,
          '  </testsuite>',
        ]
  // The root element knows no number of skipped ones.
  const { skipped: _skipped, ...numbers } = counts(report.checks, stale.length)
  const totals = { name: 'svc-conformance client', ...numbers }
  return vouchedFor(
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      `<testsuites${attributes(totals)}>`,
      ...suites,
      ...baseline,
      '</testsuites>',
      '',
    ].join('\n'),
  )
}

function suite(area: string, checks: readonly CheckReport[]): string {
  return [
    `  <testsuite${attributes({ name: area, ...counts(checks, 0) })}>`,
    ...checks.map(testcase),
    '  </testsuite>',
  ].join('\n')
}

function counts(checks: readonly CheckReport[], stale: number) {
  const failures = checks.filter(({ verdict, known }) => verdict === 'failed' && known === null).length
  const skipped = checks.filter(({ verdict, known }) => verdict === 'not-exercised' || known !== null).length
  return { tests: checks.length + stale, failures: failures + stale, errors: 0, skipped }
}

function testcase(check: CheckReport): string {
  const open = `    <testcase${attributes({ classname: check.id.replaceAll('/', '.'), name: check.title })}`
  if (check.known !== null)
    return `${open}><skipped${attributes({ message: `Known: ${check.known.reason}` })}/><system-out>${escapeXml(details(check))}</system-out></testcase>`
  switch (check.verdict) {
    case 'passed':
      return `${open}/>`
    case 'not-exercised':
      return `${open}><skipped${attributes({ message: `Not exercised: ${check.message}` })}/></testcase>`
    case 'warned':
      return `${open}><system-out>${escapeXml(`Warning: ${details(check)}`)}</system-out></testcase>`
    case 'failed':
      return `${open}><failure${attributes({ message: check.message, type: 'failed' })}>${escapeXml(details(check))}</failure></testcase>`
  }
}

function details({ message, sentence, source, scenarios, evidence, again }: CheckReport): string {
  return [
    message,
    `${sentence} (${source})`,
    `In ${scenarios.join(', ')}`,
    ...evidence.flatMap(({ scenario, diagnosis, exchanges }) => [
      '',
      scenario,
      ...diagnosis,
      ...exchanges.flatMap(exchangeLines),
    ]),
    '',
    `Again ${again}`,
  ].join('\n')
}

function attributes(all: { [name: string]: string | number }): string {
  return Object.entries(all)
    .map(
      ([name, value]) =>
        ` ${name}="${escapeXml(String(value)).replaceAll('"', '&quot;').replaceAll('\n', '&#10;').replaceAll('\t', '&#9;')}"`,
    )
    .join('')
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
