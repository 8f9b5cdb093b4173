import { groupBy } from '../engine/group.ts'
import { type Printable, vouchedFor } from '../engine/printable.ts'
import type { ReportedTest, TestOutcome, TestRun } from './test-run.ts'

/**
 * JUnit XML, as build servers read it: one test suite for each area. failed = failure, blocked = error, what was skipped or not run =
 * skipped with the reason; a warning passes and is written to system-out.
 */
export function renderJunit({ target, started, tests }: TestRun): Printable {
  // The root element has no attribute for the number of skipped tests.
  const { skipped: _skipped, ...totals } = totalsOf(tests)
  const suites = groupBy(tests, ({ suite: [area = ''] }) => area)
  const timestamp = started.replace(/\.\d+Z$/, '')
  return vouchedFor(
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      `<testsuites${attributes({ name: `svc-conformance ${target}`, ...totals })}>`,
      ...[...suites].flatMap(([name, mine]) => [
        `  <testsuite${attributes({ name, ...totalsOf(mine), timestamp })}>`,
        ...mine.map(testLine),
        '  </testsuite>',
      ]),
      '</testsuites>',
      '',
    ].join('\n'),
  )
}

function testLine(test: ReportedTest): string {
  const { suite, name, durationMs } = test
  const children = childrenOf(test)
  const open = `    <testcase${attributes({ classname: suite.join('.'), name, time: seconds(durationMs) })}`
  return children === '' ? `${open}/>` : `${open}>${children}</testcase>`
}

function childrenOf({ outcome, verdict, message = '', text = '' }: ReportedTest): string {
  const systemOut = (words: string): string => `<system-out>${escapeText(words)}</system-out>`
  switch (outcome) {
    case 'passed':
      return ''
    case 'warned':
      return systemOut(`Warning: ${text}`)
    case 'failed':
      return `<failure${attributes({ message, type: verdict })}>${escapeText(text)}</failure>`
    case 'blocked':
      return `<error${attributes({ message, type: verdict })}>${escapeText(text)}</error>`
    case 'skipped':
    case 'not-run':
      // What failed is shown even where the failure is known.
      return `<skipped${attributes({ message })}/>${verdict === 'known' || verdict === 'failed' ? systemOut(text) : ''}`
  }
}

function totalsOf(tests: readonly ReportedTest[]) {
  const count = (...outcomes: TestOutcome[]): number => tests.filter(({ outcome }) => outcomes.includes(outcome)).length
  return {
    tests: tests.length,
    failures: count('failed'),
    errors: count('blocked'),
    skipped: count('skipped', 'not-run'),
    time: seconds(tests.reduce((sum, { durationMs }) => sum + durationMs, 0)),
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
