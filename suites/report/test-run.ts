/** A report as a list of tests, for the formats that know only tests: JUnit and CTRF. */

import type { Verdict } from '../engine/judge/verdict.ts'
import { blockedByKnown } from './causes.ts'
import { caseLines, explainCase, notRunBecause } from './explain.ts'
import { findingLines, verdictOfFinding } from './findings.ts'
import { brokenNewer, type PrintedFinding, type PrintedReport, printedReport } from './printed.ts'
import type { CaseReport, Meta, Report } from './report.ts'
import { entryWords } from './verdict-words.ts'

export interface TestRun extends Pick<Meta, 'version' | 'started' | 'durationMs' | 'shard'> {
  /** What was judged: a URL, or the command of a client. */
  target: string
  exitCode: number
  tests: readonly ReportedTest[]
  /** Facts about the run that are not about a test. */
  extra: { [name: string]: unknown }
}

/** `blocked` says nothing about what it should show; `warned` fails no run. */
export type TestOutcome = 'passed' | 'warned' | 'failed' | 'blocked' | 'skipped' | 'not-run'

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
  where?: string | null
  requirements?: readonly string[]
}

/** One test for each case, each finding of the model, each finding of a newer check and each stale baseline entry. */
export function testRun(raw: Report): TestRun {
  const report = printedReport(raw)
  const { meta, verdict, exitCode, summary } = report
  const { version, target, started, durationMs, shard } = meta
  return {
    version,
    target,
    started,
    durationMs,
    shard,
    exitCode,
    tests: [
      ...report.cases.map((testCase) => testOfCase(report, testCase)),
      ...report.findings.map(testOfFinding),
      ...newerTests(report),
      ...report.stale.map((entry) => testOfStale(entryWords(entry), entry.reason)),
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

function testOfCase(report: PrintedReport, testCase: CaseReport): ReportedTest {
  const { key, id, case: name, title, verdict, durationMs, proves } = testCase
  const explained = explainCase(report, testCase)
  // A case that a known failure blocks does not fail the run, so it must not look like a failure.
  const isExcused = blockedByKnown(report.cases, testCase)
  return {
    id: key,
    name: name === null ? title : `${title}: ${name}`,
    outcome: isExcused ? 'skipped' : outcomes[verdict],
    verdict,
    suite: id.split('/'),
    durationMs,
    ...(explained === null
      ? {}
      : { message: messageOf(testCase, explained.but, isExcused), text: caseLines(report, testCase).join('\n') }),
    where: explained?.where ?? null,
    requirements: proves,
  }
}

function messageOf(testCase: CaseReport, but: string, isExcused: boolean): string {
  if (isExcused) return `Blocked by the known failure of ${testCase.blockedBy}`
  switch (testCase.verdict) {
    case 'known':
      return `Known failure: ${testCase.known?.reason ?? ''}`
    case 'not-testable':
      return `Not testable here: ${but}`
    case 'not-applicable':
      return `Not applicable: ${but}`
    case 'not-run':
      return notRunBecause(testCase) ?? but
    default:
      return but
  }
}

function testOfFinding(finding: PrintedFinding): ReportedTest {
  const { id, known, message, requirement } = finding
  const verdict = verdictOfFinding(finding)
  return {
    id,
    name: id,
    outcome: outcomes[verdict],
    verdict,
    suite: ['findings'],
    durationMs: 0,
    message: known === null ? message : `Known failure: ${known.reason}`,
    text: findingLines(finding).join('\n'),
    requirements: [requirement],
  }
}

/** Cases that the frozen set does not contain change no verdict: they are listed and fail nothing. */
function newerTests(report: PrintedReport): ReportedTest[] {
  const { newer, meta } = report
  const tests = [...brokenNewer(report).map((one) => testOfCase(report, one)), ...newer.findings.map(testOfFinding)]
  return tests.map((test) => ({
    ...test,
    id: `newer: ${test.id}`,
    outcome: 'skipped',
    suite: ['newer checks', ...test.suite],
    message: `Found by a newer check, which is not in set ${meta.set}: ${test.message ?? ''}`,
  }))
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
