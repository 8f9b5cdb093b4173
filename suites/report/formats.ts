/** Every format of a report: those for people from one document, JUnit and CTRF from one list of tests; and the badge. */
import { groupBy } from '../engine/group.ts'
import { defined } from '../engine/json.ts'
import type { Verdict } from '../engine/judge/problem.ts'
import { jsonLine, type Printable, vouchedFor } from '../engine/printable.ts'
import { html, htmlLines, type Markup } from '../page/markup.ts'
import { verdictOfFinding } from './causes.ts'
import type { Document, Told } from './document.ts'
import { htmlOfDocument, pageOfRun } from './html.ts'
import { markdownOfDocument } from './markdown.ts'
import type { Finding, Meta, Report } from './report.ts'
import { type Shown, type ToldCase, tellRun } from './tell.ts'
import { type Look, textOfDocument, unwrappedText } from './text.ts'

/** The part of a report that a badge needs, of a server or of a client; only the first has findings of the model. */
type BadgeInput = Pick<Report, 'verdict' | 'exitCode'> & {
  summary: Pick<Report['summary'], 'failed' | 'known'>
  findings?: readonly Pick<Finding, 'known' | 'level' | 'reproduced'>[]
}

/** How one kind of report is told. */
interface Telling<R> {
  /** @param options `whole`: with what a page has room for */
  document(report: R, options: { observations?: boolean | undefined; whole?: boolean }): Document
  tests(report: R): TestRun
  /** The HTML page, where it is more than the document. */
  page?(report: R): Printable
}

type FormatLook = Look & { observations?: boolean | undefined }

/** The report in each format. JSON holds exact texts, as in spec/schemas/report.schema.json; characters that are unsafe on a terminal are escaped as in JSON. */
export function renderersOf<R extends BadgeInput>({ document, page, tests }: Telling<R>) {
  return {
    text: (report: R, look: FormatLook): Printable => textOfDocument(document(report, look), look),
    json: (report: R): Printable => jsonLine(report, 2),
    junit: (report: R): Printable => renderJunit(withStale(tests(report))),
    html: page ?? ((report: R): Printable => htmlOfDocument(document(report, { whole: true }))),
    markdown: (report: R): Printable => markdownOfDocument(document(report, {})),
    ctrf: (report: R): Printable => renderCtrf(withStale(tests(report))),
    badge: (report: R): Printable => renderBadge(report, document(report, {}).said),
  }
}

/** The report of a run in each format. */
export const runRenderers = (
  document: Telling<Report>['document'] = (report, options) => tellRun(report, options).document,
) => renderersOf<Report>({ document, page: pageOfRun, tests: testRun })

export interface TestRun extends Pick<Meta, 'version' | 'started' | 'durationMs' | 'shard'> {
  /** What was judged: a URL, or the command of a client. */
  target: string
  exitCode: number
  tests: readonly ReportedTest[]
  /** Baseline entries that are listed but pass, by what they name. */
  stale?: readonly { id: string; reason: string }[]
  /** Facts about the run that are not about a test. */
  extra: { [name: string]: unknown }
}

/** `blocked` says nothing about what it should show; `warned` does not fail the run. */
type TestOutcome = 'passed' | 'warned' | 'failed' | 'blocked' | 'skipped' | 'not-run'

interface ReportedTest {
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
function testRun(raw: Report): TestRun {
  const { meta, verdict, exitCode, summary, cases, findings, newer, stale } = tellRun(raw)
  return {
    ...meta,
    exitCode,
    tests: [
      ...[...cases, ...findings].map(testOf),
      // Cases that the frozen set does not contain change no verdict: they are listed and fail nothing.
      ...newer.map(testOf).map(
        (test): ReportedTest => ({
          ...test,
          id: `newer: ${test.id}`,
          outcome: 'skipped',
          suite: ['newer checks', ...test.suite],
          message: `Found by a newer check, which is not in set ${meta.set}: ${test.message ?? ''}`,
        }),
      ),
    ],
    stale: stale.map(({ words, reason }) => ({ id: words, reason })),
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

const skipWords: { readonly [verdict in Verdict]?: string } = {
  known: 'Known failure: ',
  'not-testable': 'Not testable here: ',
  'not-applicable': 'Not applicable: ',
}

/** The test of a case or a finding. */
function testOf(shown: ToldCase | Shown): ReportedTest {
  const { verdict, proves, told, known } = shown
  const testCase = 'again' in shown ? shown : null
  const isExcused = testCase?.isExcused === true
  const why = known === null ? told.message : known.reason
  const message = isExcused
    ? `Blocked by the known failure of ${testCase.blockedBy}`
    : `${skipWords[verdict] ?? ''}${why}`
  return testOfTold(told, {
    ...(testCase === null ? {} : { name: told.title, durationMs: testCase.durationMs }),
    ...(isExcused ? { outcome: 'skipped' } : {}),
    ...(verdict === 'passed' ? {} : { message }),
    suite: testCase?.id.split('/') ?? ['findings'],
    where: testCase?.problem?.where,
    requirements: proves,
  })
}

/** The test of what is told. @param more where it differs */
export function testOfTold(told: Told, more: Partial<ReportedTest> & Pick<ReportedTest, 'suite'>): ReportedTest {
  const { id, verdict, message } = told
  return {
    ...{ id, name: id, outcome: outcomes[verdict], verdict, durationMs: 0 },
    ...(verdict === 'passed' ? {} : { message, text: unwrappedText(told) }),
    ...more,
  }
}

/** A stale baseline entry fails the run, so it must be visible where people look: it is a test of its own. */
function withStale({ stale = [], tests, ...run }: TestRun): TestRun {
  const ofStale = stale.map(
    ({ id, reason }): ReportedTest => ({
      id: `baseline: ${id}`,
      name: `The baseline entry is still needed: ${id}`,
      outcome: 'failed',
      verdict: 'stale',
      suite: ['baseline'],
      durationMs: 0,
      message: 'This baseline entry is stale: it is listed, but it passes',
      text: reason,
    }),
  )
  return { ...run, tests: [...tests, ...ofStale] }
}

/**
 * JUnit XML, as build servers read it: one test suite for each area. failed = failure, blocked = error, what was skipped or not run =
 * skipped with the reason; a warning passes and is written to system-out.
 */
function renderJunit({ target, started, durationMs, tests }: TestRun): Printable {
  const { failures, errors } = totalsOf(tests)
  const timestamp = started.replace(/\.\d+Z$/, '')
  const suites = [...groupBy(tests, ({ suite: [area = ''] }) => area)].map(([name, mine]) => {
    const total = totalsOf(mine)
    return html`  <testsuite name="${name}" tests="${mine.length}" failures="${total.failures}" errors="${total.errors}" skipped="${total.skipped}" time="${total.time}" timestamp="${timestamp}">
${htmlLines(mine.map((test) => html`    <testcase classname="${test.suite.join('.')}" name="${test.name}" time="${seconds(test.durationMs)}">${junitOutcome(test)}</testcase>`))}
  </testsuite>`
  })
  // The root element has no attribute for the number of skipped tests. Cases run at once, so that the run takes less time than their sum.
  const whole = html`<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="svc-conformance ${target}" tests="${tests.length}" failures="${failures}" errors="${errors}" time="${seconds(durationMs)}">
${htmlLines(suites)}
</testsuites>
`
  return vouchedFor(whole.markup)
}

function totalsOf(tests: readonly ReportedTest[]) {
  const count = (...outcomes: TestOutcome[]): number => tests.filter(({ outcome }) => outcomes.includes(outcome)).length
  return {
    failures: count('failed'),
    errors: count('blocked'),
    skipped: count('skipped', 'not-run'),
    time: seconds(tests.reduce((sum, { durationMs }) => sum + durationMs, 0)),
  }
}

const seconds = (ms: number): string => (ms / 1000).toFixed(3)

function junitOutcome({ outcome, verdict, message = '', text = '' }: ReportedTest): Markup {
  switch (outcome) {
    case 'passed':
      return html``
    case 'warned':
      return html`<system-out>Warning: ${text}</system-out>`
    case 'failed':
      return html`<failure message="${message}" type="${verdict}">${text}</failure>`
    case 'blocked':
      return html`<error message="${message}" type="${verdict}">${text}</error>`
    case 'skipped':
    case 'not-run': {
      // What failed is shown even where the failure is known.
      const isShown = verdict === 'known' || verdict === 'failed'
      return html`<skipped message="${message}"/>${isShown ? html`<system-out>${text}</system-out>` : null}`
    }
  }
}

const allStatuses = ['passed', 'failed', 'skipped', 'pending', 'other'] as const

const specVersion = '0.0.0'

/**
 * The Common Test Report Format, which test dashboards read; its published schema is in suites/self/published. What was blocked is `other`, because it says nothing; what was not run is pending.
 */
function renderCtrf(run: TestRun): Printable {
  const start = Date.parse(run.started)
  const duration = Math.round(run.durationMs)
  const tests = run.tests.map(ctrfTest)
  const counts = allStatuses.map((status) => [status, tests.filter((one) => one.status === status).length])
  const document = {
    reportFormat: 'CTRF',
    specVersion,
    timestamp: new Date(start + duration).toISOString(),
    generatedBy: `svc-conformance ${run.version}`,
    results: {
      tool: { name: 'svc-conformance', version: run.version },
      summary: { tests: tests.length, ...Object.fromEntries(counts), start, stop: start + duration, duration },
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

const statuses: { readonly [outcome in TestOutcome]: (typeof allStatuses)[number] } = {
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

/** The JSON that badge services take: a label, a short message and a colour. */
function renderBadge(report: BadgeInput, said?: string): Printable {
  const [message, color] = said === undefined ? badgeOf(report) : [said, report.exitCode === 0 ? 'blue' : 'red']
  return jsonLine({ schemaVersion: 1, label: 'svc-conformance', message, color })
}

function badgeOf({ verdict, exitCode, summary, findings = [] }: BadgeInput): [message: string, color: string] {
  if (verdict === 'conforms')
    return exitCode === 0 ? ['conforms', 'brightgreen'] : ['conforms, but not strictly', 'yellow']
  if (verdict === 'inconclusive') return ['inconclusive', exitCode === 0 ? 'yellow' : 'orange']
  const failed = summary.failed + findings.filter((one) => verdictOfFinding(one) === 'failed').length
  const known = summary.known + findings.filter((one) => one.known !== null).length
  if (failed > 0) return [`does not conform: ${failed} failed`, 'red']
  if (known > 0) return [`does not conform: ${known} known`, 'orange']
  return ['does not conform', 'red']
}
