import { groupBy } from '../../engine/group.ts'
import { type Printable, printed, vouchedFor } from '../../engine/printable.ts'
import { areaOf } from '../../report/explain.ts'
import { type JunitTest, junitDocument } from '../../report/junit-document.ts'
import type { CheckReport, ClientReport } from './client-report.ts'
import { exchangeLines } from './text.ts'

/** JUnit XML: one test suite per area, one test case per check. failed = failure, not exercised and known = skipped, warned = system-out. */
export function renderJunit(raw: ClientReport): Printable {
  const { checks, stale } = printed(raw)
  return vouchedFor(
    junitDocument('svc-conformance client', [
      ...[...groupBy(checks, ({ id }) => areaOf(id))].map(([name, mine]) => ({ name, tests: mine.map(testOfCheck) })),
      { name: 'baseline', tests: stale.map(testOfStale) },
    ]),
  )
}

function testOfCheck(check: CheckReport): JunitTest {
  const { id, title, known, verdict, message } = check
  const named = { classname: id.replaceAll('/', '.'), name: title }
  const text = details(check)
  if (known !== null)
    return { ...named, outcome: { kind: 'skipped', message: `Known: ${known.reason}` }, systemOut: text }
  switch (verdict) {
    case 'passed':
      return named
    case 'not-exercised':
      return { ...named, outcome: { kind: 'skipped', message: `Not exercised: ${message}` } }
    case 'warned':
      return { ...named, systemOut: `Warning: ${text}` }
    case 'failed':
      return { ...named, outcome: { kind: 'failure', message, type: 'failed', text } }
  }
}

function testOfStale({ check, reason }: ClientReport['stale'][number]): JunitTest {
  const message = 'This baseline entry is stale: it is listed, but it passes'
  return { classname: 'baseline', name: check, outcome: { kind: 'failure', message, text: reason } }
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
