/** Builds the report about a client: what each check shows, its verdict and exit code, and the sentences that explain both. */

import { visibleLines } from '../../engine/conversation/exchange.ts'
import { interruptedExitCode } from '../../engine/errors.ts'
import { counted } from '../../engine/group.ts'
import { demand } from '../../engine/language/schemas.ts'
import { readYaml, suggestion } from '../../engine/language/yaml-source.ts'
import { createRedactor, type Redactor } from '../../engine/redact.ts'
import { shellWord } from '../../report/lines.ts'
import type { RunVerdict } from '../../report/report.ts'
import type { Ending, Exchange, Journal } from '../journal.ts'
import { checks as allChecks, type CheckResult } from '../judge-journals.ts'
import type { Scenario } from '../scenarios.ts'
import { outcomeOf, readJournal } from '../story/story.ts'
import type {
  CheckEvidence,
  CheckReport,
  ClientKnownEntry,
  ClientMeta,
  ClientReport,
  ClientSummary,
  ScenarioReport,
  ShownExchange,
} from './client-report.ts'

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

function summarize(checks: readonly CheckReport[], stale: readonly ClientKnownEntry[]): ClientSummary {
  const count = (verdict: CheckReport['verdict']): number =>
    checks.filter((check) => check.verdict === verdict && check.known === null).length
  return {
    passed: count('passed'),
    failed: count('failed'),
    warned: count('warned'),
    notExercised: count('not-exercised'),
    known: checks.filter(({ known }) => known !== null).length,
    stale: stale.length,
  }
}

interface VerdictInput {
  summary: ClientSummary
  strict: boolean
  /** Whether any check of the document passed, reported or not. */
  documentPassed: boolean
  meta: Pick<ClientMeta, 'stopped'>
  /** No request reached a server. */
  nothingCame: boolean
}

function judgeClient(input: VerdictInput): Pick<ClientReport, 'verdict' | 'exitCode' | 'conclusion'> {
  const { summary, strict, meta } = input
  const [verdict, fromChecks] = verdictOf(input)
  const strictFault = strict && summary.warned > 0
  const isWrong = fromChecks === 1 || summary.stale > 0 || strictFault
  const exitCode = meta.stopped !== null ? interruptedExitCode : isWrong ? 1 : 0
  return { verdict, exitCode, conclusion: becauseOf(input, strictFault) }
}

function verdictOf({ summary, documentPassed, meta, nothingCame }: VerdictInput): [RunVerdict, 0 | 1] {
  if (summary.failed > 0) return ['does-not-conform', 1]
  if (nothingCame || !documentPassed || isNothingShown(summary) || meta.stopped !== null) return ['inconclusive', 1]
  return summary.known > 0 ? ['does-not-conform', 0] : ['conforms', 0]
}

/** No selected check was exercised. */
const isNothingShown = ({ passed, failed, warned, known }: ClientSummary): boolean =>
  passed + failed + warned + known === 0

function becauseOf({ summary, documentPassed, meta, nothingCame }: VerdictInput, strictFault: boolean): string[] {
  const lines: string[] = []
  if (meta.stopped !== null) lines.push(`The run stopped early: ${meta.stopped}`)
  if (summary.failed > 0)
    lines.push(
      `${counted(summary.failed, 'check')} of the document failed; each says what is wrong and how to repeat it`,
    )
  if (nothingCame) lines.push('No request of the client reached a server; it must call the URL in SVC_URL')
  else if (isNothingShown(summary)) lines.push('No check was exercised, so nothing is known about this client')
  else if (!documentPassed) lines.push('No check of the document passed, so nothing is known about this client')
  if (summary.warned > 0)
    lines.push(
      `${counted(summary.warned, 'check')} of good practice warned${strictFault ? ', which --strict makes fail' : ' (--strict makes them fail)'}`,
    )
  if (summary.known > 0) lines.push(`${counted(summary.known, 'check')} known to fail (baseline)`)
  if (summary.stale > 0)
    lines.push(`${counted(summary.stale, 'baseline entry passes', 'baseline entries pass')} now: remove what is stale`)
  if (summary.notExercised > 0)
    lines.push(`${counted(summary.notExercised, 'check')} not exercised: the client did nothing that shows them`)
  return lines
}

const longestBody = 2000
const shownHeaders = ['authorization', 'content-type', 'cookie']
const shownAnswerHeaders = ['retry-after', 'location', 'date', 'www-authenticate']

/** An exchange as lines, without its secrets. */
function showExchange(exchange: Exchange, journal: Journal, redactor: Redactor): ShownExchange {
  const { number, connection, startedMs, httpMethod, target, headers, body, bodyBytes, faults } = exchange
  const request = [
    `${httpMethod} ${target}`,
    ...headers
      .filter(([name]) => shownHeaders.includes(name.toLowerCase()))
      .map(([name, value]) => `${name.toLowerCase()}: ${value}`),
    ...bodyLines(new TextDecoder().decode(body), bodyBytes),
  ]
  return {
    number,
    atMs: Math.max(0, Math.round(startedMs - beginOf(journal))),
    connection,
    faults: [...faults],
    request: redacted(request, redactor),
    answer: redacted(answerLines(exchange), redactor),
  }
}

function answerLines({ answer, deliveredMs }: Exchange): string[] {
  if (answer === null) return ['(no answer)']
  if (answer.status === 0) return ['(the connection was closed without an answer)']
  const { status, headers, body } = answer
  const skewed = headers.date === undefined ? [] : shownAnswerHeaders
  const lines = [
    `HTTP ${status}`,
    ...skewed.filter((name) => headers[name] !== undefined).map((name) => `${name}: ${headers[name]}`),
    ...bodyLines(body, body.length),
  ]
  return deliveredMs === null ? [...lines, '(the client did not wait for it)'] : lines
}

function bodyLines(text: string, bytes: number): string[] {
  const lines = visibleLines(text.slice(0, longestBody))
  return text.length > longestBody ? [...lines, `… (${bytes} bytes in all)`] : lines
}

const redacted = (lines: readonly string[], redactor: Redactor): string[] => redactor.text(lines.join('\n')).split('\n')

function beginOf({ starts, exchanges }: Journal): number {
  return starts?.[0]?.fromMs ?? exchanges[0]?.startedMs ?? 0
}

/** Describes how a start of the client ended. */
function showEnding(ended: Ending): string {
  switch (ended.kind) {
    case 'exit':
      return `exit code ${ended.code}`
    case 'signal':
      return `ended by ${ended.signal}`
    case 'timeout':
      return `ended after ${ended.seconds} s`
    case 'runaway':
      return `ended after ${ended.requests} requests`
    case 'interrupted':
      return 'the run was interrupted'
  }
}

/**
 * Parses a baseline of known failures of a client.
 *
 * @param file the path that errors name
 * @throws SuiteError (`fixture`): an unknown key or check, with its place and a did-you-mean
 */
export function parseClientKnown(text: string, file: string): ClientKnownEntry[] {
  const source = readYaml(text, file)
  if (source.value === null) return []
  demand(source, 'client-baseline')
  const ids = allChecks.map(({ id }) => id)
  return (source.value as Partial<ClientKnownEntry>[]).map((entry, index) => {
    const { check = '', scenario, reason = '', issue = null, sometimes = false } = entry
    if (!ids.includes(check))
      throw source.error({ path: [index, 'check'], message: `unknown check "${check}"${suggestion(check, ids)}` })
    return { check, ...(scenario === undefined ? {} : { scenario }), reason, issue, sometimes }
  })
}

/** The entry that covers every finding of a check; null if a finding is new, or there is none. */
function applyKnown(
  known: readonly ClientKnownEntry[],
  { check, findings }: Pick<CheckResult, 'check' | 'findings'>,
): CheckReport['known'] {
  const mine = known.filter((entry) => entry.check === check.id)
  const [first] = mine
  const isKnown = findings.every(({ scenario }) =>
    mine.some((entry) => entry.scenario === undefined || entry.scenario === scenario),
  )
  return first !== undefined && findings.length > 0 && isKnown ? { reason: first.reason, issue: first.issue } : null
}

/** Entries whose checks pass. A check that was not exercised says nothing about its entry. */
function staleEntries(
  known: readonly ClientKnownEntry[],
  results: readonly Pick<CheckResult, 'check' | 'verdict' | 'findings'>[],
): ClientKnownEntry[] {
  return known.filter((entry) => {
    const result = results.find(({ check }) => check.id === entry.check)
    if (result === undefined || result.verdict === 'not-exercised' || entry.sometimes) return false
    return !result.findings.some(({ scenario }) => entry.scenario === undefined || entry.scenario === scenario)
  })
}
