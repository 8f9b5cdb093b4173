import { createRedactor, type Redactor } from '../../engine/redact.ts'
import { shellWord } from '../../report/shell.ts'
import type { Journal } from '../journal.ts'
import type { CheckResult } from '../judge-journals.ts'
import type { Scenario } from '../scenario.ts'
import { outcomeOf } from '../story/outcome.ts'
import { readJournal } from '../story/read-journal.ts'
import type {
  CheckEvidence,
  CheckReport,
  ClientKnownEntry,
  ClientMeta,
  ClientReport,
  ScenarioReport,
} from './client-report.ts'
import { applyKnown, staleEntries } from './known.ts'
import { showEnding, showExchange } from './show.ts'
import { judgeClient, summarize } from './verdict.ts'

interface BuildInput {
  meta: ClientMeta
  journals: readonly Journal[]
  /** The results of every check, including those that are not reported. */
  results: readonly CheckResult[]
  scenarios: readonly Scenario[]
  /** Whether `--only` and `--skip` leave a check in the report. */
  isReported(id: string): boolean
  known: readonly ClientKnownEntry[]
  strict: boolean
}

/** How many findings of a check are shown; the rest is counted. */
const shownFindings = 3

/** The report about a client. Pure; the same input gives the same report. */
export function buildReport(input: BuildInput): ClientReport {
  const { meta, journals, results, known } = input
  const redactor = createRedactor(journals.flatMap(secretsOf))
  const reported = results.filter(({ check }) => input.isReported(check.id))
  const checks = reported.map((result) => reportCheck(input, result, redactor))
  const stale = staleEntries(known, reported)
  const summary = summarize(checks, stale)
  const documentPassed = results.some(({ check, verdict }) => check.level === 'document' && verdict === 'passed')
  return {
    meta: { ...meta, command: meta.command === null ? null : redactor.text(meta.command) },
    ...judgeClient({ summary, strict: input.strict, documentPassed, meta, nothingCame: nothingCame(journals) }),
    summary,
    checks,
    scenarios: journals.map((journal) => reportScenario(input, journal, redactor)),
    stale,
  }
}

const nothingCame = (journals: readonly Journal[]): boolean => journals.every(({ exchanges }) => exchanges.length === 0)

function secretsOf(journal: Journal): string[] {
  return [...readJournal(journal).secrets]
}

function reportCheck(input: BuildInput, result: CheckResult, redactor: Redactor): CheckReport {
  const { check, verdict, scenarios, findings } = result
  const evidence = findings.slice(0, shownFindings).map(({ scenario, finding }): CheckEvidence => {
    const journal = input.journals.find((one) => one.scenario === scenario)
    return {
      scenario,
      message: redactor.text(finding.message),
      exchanges:
        journal === undefined ? [] : finding.exchanges.map((exchange) => showExchange(exchange, journal, redactor)),
      diagnosis: (finding.diagnosis ?? []).map(redactor.text),
    }
  })
  return {
    id: check.id,
    level: check.level,
    verdict,
    title: check.title,
    sentence: check.sentence,
    source: check.source,
    scenarios,
    message: messageOf(input, result, evidence),
    evidence,
    known: applyKnown(input.known, result),
    again: `${input.meta.again} --only ${shellWord(check.id)}`,
  }
}

function messageOf(input: BuildInput, { check, verdict, findings }: CheckResult, evidence: CheckEvidence[]): string {
  const [first] = evidence
  if (first !== undefined)
    return findings.length === 1 ? first.message : `${first.message} (found ${findings.length} times)`
  if (verdict === 'passed') return check.title
  const made = input.scenarios.filter(
    (scenario) => scenario.check === check.id || scenario.exercises.includes(check.id),
  )
  if (made.length > 0) return `The client did nothing that shows it in ${made.map(({ id }) => id).join(', ')}`
  return 'No request of the client shows it'
}

function reportScenario({ scenarios }: BuildInput, journal: Journal, redactor: Redactor): ScenarioReport {
  const starts = journal.starts ?? []
  const accepted = journal.exchanges.filter((exchange) => outcomeOf(exchange) === 'accepted').length
  const troubled =
    journal.exchanges.length === 0 || starts.some(({ ended }) => ended.kind !== 'exit' || ended.code !== 0)
  const sum = (of: (start: (typeof starts)[number]) => number): number => starts.reduce((all, one) => all + of(one), 0)
  return {
    id: journal.scenario,
    about: scenarios.find(({ id }) => id === journal.scenario)?.about ?? 'Every call was judged',
    requests: journal.exchanges.length,
    accepted,
    ok: sum(({ ok }) => ok),
    error: sum(({ error }) => error),
    ended: starts.map(({ ended }) => showEnding(ended)),
    durationMs: Math.round(sum(({ fromMs, toMs }) => toMs - fromMs)),
    stderr: troubled ? redactor.text(starts.map(({ stderr }) => stderr).join('')).trim() : '',
  }
}
