import { type Printable, printed } from '../../engine/printable.ts'
import { type CtrfStatus, type CtrfTest, ctrfDocument } from '../../report/ctrf-document.ts'
import type { CheckReport, CheckVerdict, ClientReport } from './client-report.ts'
import { clientOf } from './text.ts'

/** The Common Test Report Format: one test for each check. */
export function renderCtrf(raw: ClientReport): Printable {
  const report = printed(raw)
  const { meta, verdict, exitCode, summary } = report
  return ctrfDocument({
    version: meta.version,
    target: clientOf(meta),
    started: meta.started,
    durationMs: meta.durationMs,
    shard: null,
    healthy: exitCode === 0,
    tests: report.checks.map(testOfCheck),
    extra: { verdict, exitCode, summary },
  })
}

const statuses: { readonly [verdict in CheckVerdict]: CtrfStatus } = {
  passed: 'passed',
  // A warning fails no run.
  warned: 'passed',
  failed: 'failed',
  'not-exercised': 'skipped',
}

function testOfCheck({ id, title, verdict, known, message, sentence, again }: CheckReport): CtrfTest {
  return {
    testId: id,
    name: title,
    status: known === null ? statuses[verdict] : 'skipped',
    rawStatus: known === null ? verdict : 'known',
    duration: 0,
    suite: id.split('/'),
    message,
    trace: [sentence, message, again].join('\n'),
  }
}
