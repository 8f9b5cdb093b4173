/** Formats for programs: JSON, and for tools that know only tests JUnit and CTRF; and the badge. */
import { groupBy } from '../engine/group.ts'
import { defined } from '../engine/json.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import { jsonLine, type Printable, vouchedFor } from '../engine/printable.ts'
import { escapeMarkup, unwrapped } from './lines.ts'
import type { Finding, Meta, Report } from './report.ts'
import { type Told, type ToldCase, type ToldFinding, tellRun } from './tell.ts'
import { blockOf } from './text.ts'

/**
 * The report for scripts, as in spec/schemas/report.schema.json. Texts are exact; characters that are unsafe on a terminal are escaped as
 * in JSON.
 */
export function renderJson(report: Report): Printable {
  return jsonLine(report, 2)
}

export interface TestRun extends Pick<Meta, 'version' | 'started' | 'durationMs' | 'shard'> {
  /** What was judged: a URL, or the command of a client. */
  target: string
  exitCode: number
  tests: readonly ReportedTest[]
  /** Facts about the run that are not about a test. */
  extra: { [name: string]: unknown }
}

/** `blocked` says nothing about what it should show; `warned` fails no run. */
type TestOutcome = 'passed' | 'warned' | 'failed' | 'blocked' | 'skipped' | 'not-run'

export interface ReportedTest {
  /** Stable from run to run. */
  id: string
  name: string
  outcome: TestOutcome
  /** Our own word for the outcome. */
  verdict: string
  /** From the general to the specific. */
  suite: readonly string[]
  durationMs: number
  /** Why it did not pass. */
  message?: string
  /** The same with every detail. */
  text?: string
  /** `fixtures/…yaml:line:column` */
  where?: string | undefined
  requirements?: readonly string[]
}

/** A report as a list of tests: one for each case, each finding of the model, each finding of a newer check and each stale baseline entry. */
export function testRun(raw: Report): TestRun {
  const { meta, verdict, exitCode, summary, cases, findings, newer, stale } = tellRun(raw)
  const { version, target, started, durationMs, shard } = meta
  return {
    version,
    target,
    started,
    durationMs,
    shard,
    exitCode,
    tests: [
      ...cases.map(testOfCase),
      ...findings.map(testOfFinding),
      // Cases that the frozen set does not contain change no verdict: they are listed and fail nothing.
      ...[...newer.cases.map(testOfCase), ...newer.findings.map(testOfFinding)].map(
        (test): ReportedTest => ({
          ...test,
          id: `newer: ${test.id}`,
          outcome: 'skipped',
          suite: ['newer checks', ...test.suite],
          message: `Found by a newer check, which is not in set ${meta.set}: ${test.message ?? ''}`,
        }),
      ),
      ...stale.map(({ entry, reason }) => testOfStale(entry, reason)),
    ],
    extra: { verdict, exitCode, summary, set: meta.set, seed: meta.seed },
  }
}

const outcomes: { readonly [verdict in Verdict]: TestOutcome } = {
  passed: 'passed',
  warned: 'warned',
  failed: 'failed',
  blocked: 'blocked',
  known: 'skipped',
  'not-testable': 'skipped',
  'not-applicable': 'skipped',
  'not-run': 'not-run',
}

function testOfCase(testCase: ToldCase): ReportedTest {
  const { key, id, case: name, title, verdict, durationMs, proves, problem, told, isExcused } = testCase
  return {
    id: key,
    name: name === null ? title : `${title}: ${name}`,
    outcome: isExcused ? 'skipped' : outcomes[verdict],
    verdict,
    suite: id.split('/'),
    durationMs,
    ...(told === null ? {} : { message: messageOf(testCase), text: textOf(told) }),
    where: problem?.where,
    requirements: proves,
  }
}

function messageOf({ verdict, problem, isExcused, blockedBy, known, notRun }: ToldCase): string {
  const but = problem?.message ?? ''
  if (isExcused) return `Blocked by the known failure of ${blockedBy}`
  if (verdict === 'known') return `Known failure: ${known?.reason ?? ''}`
  if (verdict === 'not-testable') return `Not testable here: ${but}`
  if (verdict === 'not-applicable') return `Not applicable: ${but}`
  return notRun ?? but
}

/** What a person reads: as in the text report. */
export const textOf = (told: Told): string => blockOf(told, unwrapped).join('\n')

function testOfFinding({ id, known, message, requirement, verdict, told }: ToldFinding): ReportedTest {
  return {
    id,
    name: id,
    outcome: outcomes[verdict],
    verdict,
    suite: ['findings'],
    durationMs: 0,
    message: known === null ? message : `Known failure: ${known.reason}`,
    text: textOf(told),
    requirements: [requirement],
  }
}

/** A stale baseline entry fails the run, so it must be visible where people look. @param id what the entry names */
export function testOfStale(id: string, reason: string): ReportedTest {
  return {
    id: `baseline: ${id}`,
    name: `The baseline entry is still needed: ${id}`,
    outcome: 'failed',
    verdict: 'stale',
    suite: ['baseline'],
    durationMs: 0,
    message: 'This baseline entry is stale: it is listed, but it passes',
    text: reason,
  }
}

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
  const systemOut = (words: string): string => `<system-out>${escapeMarkup(words)}</system-out>`
  switch (outcome) {
    case 'passed':
      return ''
    case 'warned':
      return systemOut(`Warning: ${text}`)
    case 'failed':
      return `<failure${attributes({ message, type: verdict })}>${escapeMarkup(text)}</failure>`
    case 'blocked':
      return `<error${attributes({ message, type: verdict })}>${escapeMarkup(text)}</error>`
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

function escapeAttribute(text: string): string {
  return escapeMarkup(text)
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\r', '&#13;')
    .replaceAll('\t', '&#9;')
}

const allStatuses = ['passed', 'failed', 'skipped', 'pending', 'other'] as const
type CtrfStatus = (typeof allStatuses)[number]

const specVersion = '0.0.0'

/**
 * The Common Test Report Format, which test dashboards read; its published schema is in suites/self/published. What was blocked is `other`, because it says nothing; what was not run is pending.
 */
export function renderCtrf(run: TestRun): Printable {
  const start = Date.parse(run.started)
  const duration = Math.round(run.durationMs)
  const tests = run.tests.map(ctrfTest)
  const document = {
    reportFormat: 'CTRF',
    specVersion,
    timestamp: new Date(start + duration).toISOString(),
    generatedBy: `svc-conformance ${run.version}`,
    results: {
      tool: { name: 'svc-conformance', version: run.version },
      summary: { ...countStatuses(tests), start, stop: start + duration, duration },
      tests,
      environment: {
        appName: run.target,
        healthy: run.exitCode === 0,
        ...(run.shard === null ? {} : { shardId: run.shard }),
      },
      extra: run.extra,
    },
  }
  return jsonLine(document, 2)
}

const statuses: { readonly [outcome in TestOutcome]: CtrfStatus } = {
  passed: 'passed',
  warned: 'passed',
  failed: 'failed',
  blocked: 'other',
  skipped: 'skipped',
  'not-run': 'pending',
}

/** Times are whole milliseconds. */
function ctrfTest(test: ReportedTest) {
  const { id, name, outcome, verdict, suite, durationMs, message, text, where, requirements = [] } = test
  const [, filePath, line] = /^(.*):(\d+):\d+$/.exec(where ?? '') ?? []
  return {
    testId: id,
    name,
    status: statuses[outcome],
    rawStatus: verdict,
    duration: Math.round(durationMs),
    suite,
    ...defined({ message, trace: text, filePath, line: line === undefined ? line : Number(line) }),
    ...(requirements.length === 0 ? {} : { labels: { requirements } }),
  }
}

function countStatuses(tests: readonly ReturnType<typeof ctrfTest>[]) {
  const counts = allStatuses.map((status) => [status, tests.filter((one) => one.status === status).length])
  return { tests: tests.length, ...Object.fromEntries(counts) }
}

/** The part of a report that a badge needs, of a server or of a client; only the first has findings of the model. */
type BadgeInput = Pick<Report, 'verdict' | 'exitCode'> & {
  summary: Pick<Report['summary'], 'failed' | 'known'>
  findings?: readonly Pick<Finding, 'known' | 'level'>[]
}

/** The JSON that badge services take: a label, a short message and a colour. */
export function renderBadge(report: BadgeInput): Printable {
  const [message, color] = badgeOf(report)
  return jsonLine({ schemaVersion: 1, label: 'svc-conformance', message, color })
}

function badgeOf({ verdict, exitCode, summary, findings = [] }: BadgeInput): [message: string, color: string] {
  if (verdict === 'conforms')
    return exitCode === 0 ? ['conforms', 'brightgreen'] : ['conforms, but not strictly', 'yellow']
  if (verdict === 'inconclusive') return ['inconclusive', exitCode === 0 ? 'yellow' : 'orange']
  const failed = summary.failed + findings.filter((one) => one.known === null && one.level === 'must').length
  const known = summary.known + findings.filter((one) => one.known !== null).length
  if (failed > 0) return [`does not conform: ${failed} failed`, 'red']
  if (known > 0) return [`does not conform: ${known} known`, 'orange']
  return ['does not conform', 'red']
}
