/** JUnit XML, as build servers read it. */

export interface JunitTest {
  classname: string
  name: string
  /** Absent: it passed. */
  outcome?:
    | { kind: 'skipped'; message: string }
    | { kind: 'failure' | 'error'; message: string; type?: string; text: string }
  systemOut?: string
  durationMs?: number
}

interface JunitSuite {
  name: string
  tests: readonly JunitTest[]
  /** ISO 8601. */
  started?: string
}

/** A document with the suites that have tests. */
export function junitDocument(name: string, suites: readonly JunitSuite[]): string {
  const shown = suites.filter(({ tests }) => tests.length > 0)
  // The root element has no attribute for the number of skipped tests.
  const { skipped: _skipped, ...totals } = totalsOf(shown.flatMap(({ tests }) => tests))
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes({ name, ...totals })}>`,
    ...shown.flatMap(suiteLines),
    '</testsuites>',
    '',
  ].join('\n')
}

function suiteLines({ name, tests, started }: JunitSuite): string[] {
  const timestamp = started === undefined ? {} : { timestamp: started.replace(/\.\d+Z$/, '') }
  return [
    `  <testsuite${attributes({ name, ...totalsOf(tests), ...timestamp })}>`,
    ...tests.map(testLine),
    '  </testsuite>',
  ]
}

function testLine({ classname, name, outcome, systemOut, durationMs = 0 }: JunitTest): string {
  const children = [
    ...(outcome === undefined ? [] : [outcomeElement(outcome)]),
    ...(systemOut === undefined ? [] : [`<system-out>${escapeText(systemOut)}</system-out>`]),
  ].join('')
  const open = `    <testcase${attributes({ classname, name, time: seconds(durationMs) })}`
  return children === '' ? `${open}/>` : `${open}>${children}</testcase>`
}

function outcomeElement(outcome: NonNullable<JunitTest['outcome']>): string {
  if (outcome.kind === 'skipped') return `<skipped${attributes({ message: outcome.message })}/>`
  const { kind, text, ...named } = outcome
  return `<${kind}${attributes(named)}>${escapeText(text)}</${kind}>`
}

function totalsOf(tests: readonly JunitTest[]) {
  const count = (kind: string): number => tests.filter(({ outcome }) => outcome?.kind === kind).length
  return {
    tests: tests.length,
    failures: count('failure'),
    errors: count('error'),
    skipped: count('skipped'),
    time: seconds(tests.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0)),
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
