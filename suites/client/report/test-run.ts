import { printed } from '../../engine/printable.ts'
import { type ReportedTest, type TestOutcome, type TestRun, testOfStale } from '../../report/test-run.ts'
import type { CheckReport, CheckVerdict, ClientReport } from './client-report.ts'
import { clientOf, exchangeLines } from './text.ts'

/** The report about a client as a list of tests: one for each check and each stale baseline entry. */
export function testRun(raw: ClientReport): TestRun {
  const { meta, verdict, exitCode, summary, checks, stale } = printed(raw)
  const { version, started, durationMs } = meta
  return {
    version,
    target: clientOf(meta),
    started,
    durationMs,
    shard: null,
    exitCode,
    tests: [...checks.map(testOfCheck), ...stale.map(({ check, reason }) => testOfStale(check, reason))],
    extra: { verdict, exitCode, summary },
  }
}

const outcomes: { readonly [verdict in CheckVerdict]: TestOutcome } = {
  passed: 'passed',
  warned: 'warned',
  failed: 'failed',
  'not-exercised': 'skipped',
}

function testOfCheck(check: CheckReport): ReportedTest {
  const { id, title, known, verdict, message } = check
  const reason = verdict === 'not-exercised' ? `Not exercised: ${message}` : message
  return {
    id,
    name: title,
    outcome: known === null ? outcomes[verdict] : 'skipped',
    verdict: known === null ? verdict : 'known',
    suite: id.split('/'),
    durationMs: 0,
    message: known === null ? reason : `Known: ${known.reason}`,
    text: details(check),
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
