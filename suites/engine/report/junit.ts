import { blockedByKnown } from './causes.ts'
import { explainRow } from './explain.ts'
import type { Report, RowReport } from './model.ts'
import { printable } from './printable.ts'

/**
 * JUnit XML: one test suite per area, one test case per row. failed = failure, blocked = error, not testable and known =
 * skipped with the reason; a warning passes and is written to system-out.
 */
export function renderJunit(raw: Report): string {
  const report = printable(raw)
  const areas = new Map<string, RowReport[]>()
  for (const row of report.scenarios) {
    const area = row.id.split('/')[0] ?? row.id
    areas.set(area, [...(areas.get(area) ?? []), row])
  }
  const suites = [...areas].map(([area, rows]) => suite(report, area, rows))
  if (report.stale.length > 0) suites.push(staleSuite(report))
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name: `svc-conformance ${report.meta.target}`, ...totals(report.scenarios, report.scenarios, report.stale.length) })}>`,
    ...suites,
    '</testsuites>',
    '',
  ].join('\n')
}

function suite(report: Report, area: string, rows: RowReport[]): string {
  const properties = {
    name: area,
    ...totals(report.scenarios, rows, 0),
    timestamp: report.meta.started.replace(/\.\d+Z$/, ''),
  }
  return [`  <testsuite${attributes(properties)}>`, ...rows.map((row) => testcase(report, row)), '  </testsuite>'].join(
    '\n',
  )
}

/** A stale entry fails the run, so it must be seen in the place where people look. */
function staleSuite(report: Report): string {
  const number = report.stale.length
  return [
    `  <testsuite${attributes({ name: 'baseline', tests: number, failures: number, errors: 0, skipped: 0, time: '0.000' })}>`,
    ...report.stale.map(({ scenario, row, requirement, reason }) => {
      const name = [scenario, row, requirement].filter((part) => part !== undefined).join(', ')
      const message = 'This baseline entry is stale: it is listed, but it passes'
      return `    <testcase${attributes({ classname: 'baseline', name, time: '0.000' })}><failure${attributes({ message })}>${escapeText(reason)}</failure></testcase>`
    }),
    '  </testsuite>',
  ].join('\n')
}

function testcase(report: Report, row: RowReport): string {
  const open = `    <testcase${attributes({ classname: row.id.replaceAll('/', '.'), name: row.row === null ? row.title : `${row.title}: ${row.row}`, time: seconds(row.durationMs) })}`
  const told = explainRow(report, row)
  const message = told?.but ?? ''
  switch (row.verdict) {
    case 'passed':
      return `${open}/>`
    case 'failed':
      return `${open}><failure${attributes({ message, type: 'failed' })}>${escapeText(details(report, row))}</failure></testcase>`
    case 'blocked':
      // What a known failure blocks fails no run, so it must not look like it.
      if (blockedByKnown(report.scenarios, row))
        return `${open}><skipped${attributes({ message: `Blocked by the known failure of ${row.blockedBy}` })}/></testcase>`
      return `${open}><error${attributes({ message, type: 'blocked' })}>${escapeText(details(report, row))}</error></testcase>`
    case 'warned':
      return `${open}><system-out>${escapeText(`Warning: ${details(report, row)}`)}</system-out></testcase>`
    case 'known':
      return `${open}><skipped${attributes({ message: `Known failure: ${row.known?.reason ?? ''}` })}/><system-out>${escapeText(details(report, row))}</system-out></testcase>`
    case 'not-testable':
      return `${open}><skipped${attributes({ message: `Not testable here: ${message}` })}/></testcase>`
  }
}

function details(report: Report, row: RowReport): string {
  const told = explainRow(report, row)
  if (told === null) return row.title
  return [
    row.key,
    ...told.sentences.map(({ level, id, text, anchor }) => `${level} ${id}: ${text} (${anchor})`),
    `At ${told.at}${told.where === null ? '' : ` (${told.where})`}`,
    `But ${told.but}`,
    ...(told.hint === null ? [] : [`Hint ${told.hint}`]),
    ...told.exchanges.flatMap(({ request, answer }) => [
      '',
      ...request.map((line) => `> ${line}`),
      ...answer.map((line) => `< ${line}`),
    ]),
    '',
    `Again ${row.again}`,
  ].join('\n')
}

function totals(all: readonly RowReport[], rows: readonly RowReport[], stale: number) {
  const excused = rows.filter((row) => blockedByKnown(all, row)).length
  const count = (...verdicts: RowReport['verdict'][]): number =>
    rows.filter((row) => verdicts.includes(row.verdict)).length
  return {
    tests: rows.length + stale,
    failures: count('failed') + stale,
    errors: count('blocked') - excused,
    skipped: count('not-testable', 'known') + excused,
    time: seconds(rows.reduce((sum, row) => sum + row.durationMs, 0)),
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
