/** The Common Test Report Format: one JSON that test dashboards read. Its published schema is in suites/self/published. */
import { defined } from '../engine/json.ts'
import { jsonLine, type Printable } from '../engine/printable.ts'
import type { ReportedTest, TestOutcome, TestRun } from './test-run.ts'

const allStatuses = ['passed', 'failed', 'skipped', 'pending', 'other'] as const
type CtrfStatus = (typeof allStatuses)[number]

export type CtrfTest = ReturnType<typeof ctrfTest>

const specVersion = '0.0.0'

/** What was blocked is `other`, because it says nothing; what was not run is pending. */
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

function countStatuses(tests: readonly CtrfTest[]) {
  const counts = allStatuses.map((status) => [status, tests.filter((one) => one.status === status).length])
  return { tests: tests.length, ...Object.fromEntries(counts) }
}
