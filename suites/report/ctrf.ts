import type { Verdict } from '../engine/judge/verdict.ts'
import type { Printable } from '../engine/printable.ts'
import { blockedByKnown } from './causes.ts'
import { type CtrfStatus, type CtrfTest, ctrfDocument } from './ctrf-document.ts'
import { caseLines, explainCase } from './explain.ts'
import { findingLines, verdictOfFinding } from './findings.ts'
import { brokenNewer, type PrintedReport, printedReport } from './printed.ts'
import type { CaseReport, Report } from './report.ts'
import { entryWords } from './verdict-words.ts'

/**
 * The Common Test Report Format: one test for each case, each finding and each stale baseline entry. A blocked case is `other`, because it
 * says nothing about its requirement; known, not testable and not applicable ones are skipped, and what was not run is pending.
 */
export function renderCtrf(raw: Report): Printable {
  const report = printedReport(raw)
  const { meta, verdict, exitCode, summary } = report
  return ctrfDocument({
    version: meta.version,
    target: meta.target,
    started: meta.started,
    durationMs: meta.durationMs,
    shard: meta.shard,
    healthy: exitCode === 0,
    tests: [
      ...report.cases.map((testCase) => testOfCase(report, testCase)),
      ...report.findings.map(testOfFinding),
      ...newerTests(report),
      ...report.stale.map(testOfStale),
    ],
    extra: { verdict, exitCode, summary, set: meta.set, seed: meta.seed },
  })
}

const statuses: { readonly [verdict in Verdict]: CtrfStatus } = {
  passed: 'passed',
  // A warning fails no run.
  warned: 'passed',
  failed: 'failed',
  blocked: 'other',
  known: 'skipped',
  'not-testable': 'skipped',
  'not-applicable': 'skipped',
  'not-run': 'pending',
}

function testOfCase(report: PrintedReport, testCase: CaseReport): CtrfTest {
  const explained = explainCase(report, testCase)
  const excused = blockedByKnown(report.cases, testCase)
  return {
    testId: testCase.key,
    name: testCase.case === null ? testCase.title : `${testCase.title}: ${testCase.case}`,
    status: excused ? 'skipped' : statuses[testCase.verdict],
    rawStatus: testCase.verdict,
    duration: Math.round(testCase.durationMs),
    suite: testCase.id.split('/'),
    ...(explained === null ? {} : { message: explained.but, trace: caseLines(report, testCase).join('\n') }),
    ...placeOf(explained?.where ?? null),
    ...(testCase.proves.length === 0 ? {} : { labels: { requirements: testCase.proves } }),
  }
}

/** From `fixtures/…yaml:line:column`. */
function placeOf(where: string | null): Pick<CtrfTest, 'filePath' | 'line'> {
  const [, filePath, line] = /^(.*):(\d+):\d+$/.exec(where ?? '') ?? []
  return filePath === undefined ? {} : { filePath, line: Number(line) }
}

function testOfFinding(finding: PrintedReport['findings'][number]): CtrfTest {
  const verdict = verdictOfFinding(finding)
  return {
    testId: finding.id,
    name: finding.message,
    status: statuses[verdict],
    rawStatus: verdict,
    duration: 0,
    suite: ['findings'],
    message: finding.message,
    trace: findingLines(finding).join('\n'),
    labels: { requirements: [finding.requirement] },
  }
}

/** Cases that the frozen set does not contain change no verdict: they are listed and fail nothing. */
function newerTests(report: PrintedReport): CtrfTest[] {
  const { newer, meta } = report
  const tests = [...brokenNewer(report).map((one) => testOfCase(report, one)), ...newer.findings.map(testOfFinding)]
  return tests.map((test) => ({
    ...test,
    testId: `newer: ${test.testId}`,
    status: 'skipped',
    suite: ['newer checks', ...test.suite],
    message: `Found by a newer check, which is not in set ${meta.set}: ${test.message ?? ''}`,
  }))
}

function testOfStale(entry: PrintedReport['stale'][number]): CtrfTest {
  const id = entryWords(entry)
  return {
    testId: `baseline: ${id}`,
    name: `The baseline entry is still needed: ${id}`,
    status: 'failed',
    rawStatus: 'stale',
    duration: 0,
    suite: ['baseline'],
    message: 'This baseline entry is stale: it is listed, but it passes',
    trace: entry.reason,
  }
}
