import { usageError } from '../engine/errors.ts'
import { suggestion } from '../engine/language/yaml-source.ts'
import { diagnose } from '../lab/diagnose.ts'
import type { Check, Evidence, Finding } from './check.ts'
import { printsTooManyOk, scenarioFindings } from './check.ts'
import { answerChecks, errorIn200, requestChecks, retryChecks, secretChecks } from './checks/calls.ts'
import { keyAndGrantChecks, limitChecks, scopeChecks } from './checks/grants.ts'
import { refreshDocumentChecks, refreshGrantChecks, refreshPracticeChecks } from './checks/refresh.ts'
import { signatureChecks } from './checks/signature.ts'
import type { ClientAuth, Journal } from './journal.ts'
import type { CheckVerdict } from './report/client-report.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { type Explain, judgeSignatures } from './story/signatures.ts'
import { readJournal, type Story } from './story/story.ts'

/** Every check, in the order of the report. */
export const checks: readonly Check[] = [
  ...requestChecks,
  ...signatureChecks,
  ...keyAndGrantChecks,
  ...refreshDocumentChecks,
  ...refreshGrantChecks,
  ...refreshPracticeChecks,
  ...scopeChecks,
  ...retryChecks,
  ...secretChecks,
  ...answerChecks,
  ...limitChecks,
]

interface Selection {
  auth: readonly ClientAuth[]
  /** Ids of checks or scenarios, or how they begin. */
  only: readonly string[]
  skip: readonly { id: string; reason: string }[]
}

export interface Selected {
  scenarios: Scenario[]
  isReported(check: string): boolean
}

/**
 * Selects by `--auth`, `--only` and `--skip`.
 *
 * @throws SuiteError (`usage`) for an unknown id, with a did-you-mean, and if nothing is left
 */
export function selectChecks({ auth, only, skip }: Selection): Selected {
  for (const id of only) demandId('--only', id)
  for (const { id } of skip) demandId('--skip', id)
  const isSkipped = (id: string): boolean => skip.some((one) => matches(id, one.id))
  const onlyChecks = only.filter((id) => checks.some((check) => matches(check.id, id)))
  const isReported = (id: string): boolean =>
    !isSkipped(id) && (onlyChecks.length === 0 || onlyChecks.some((one) => matches(id, one)))
  const reported = checks.map(({ id }) => id).filter(isReported)
  const wanted = scenarios.filter(
    (scenario) =>
      auth.includes(scenario.auth) &&
      !isSkipped(scenario.id) &&
      (only.length === 0 || only.some((id) => matches(scenario.id, id)) || isNeededFor(scenario, onlyChecks, reported)),
  )
  if (wanted.length === 0 || reported.length === 0)
    throw usageError('Nothing is selected: "client --list" shows the checks and scenarios')
  return { scenarios: wanted, isReported }
}

const matches = (id: string, prefix: string): boolean => id.startsWith(prefix)

/** Whether a scenario is made for a selected check; plain scenarios show the checks of every request. */
function isNeededFor(scenario: Scenario, onlyChecks: readonly string[], reported: readonly string[]): boolean {
  if (onlyChecks.length === 0) return false
  const madeFor = (check: string): boolean => scenario.check === check || scenario.exercises.includes(check)
  const isEverywhere = (check: string): boolean =>
    !scenarios.some((one) => one.check === check || one.exercises.includes(check))
  return reported.some((check) => madeFor(check) || (isEverywhere(check) && scenario.id.startsWith('plain/')))
}

/** Checks that every id exists: a misspelt one would silently select the wrong checks. */
function demandId(flag: string, id: string): void {
  const ids = [...checks.map((check) => check.id), ...scenarios.map((scenario) => scenario.id)]
  if (ids.some((one) => matches(one, id))) return
  const areas = [...new Set(ids.map((one) => one.split('/')[0] ?? one))]
  throw usageError(
    `No check or scenario matches "${flag} ${id}"${suggestion(id, id.includes('/') ? ids : areas) || '; "client --list" shows them'}`,
  )
}

/** The result of one check over all journals. */
export interface CheckResult {
  check: Check
  verdict: CheckVerdict
  /** The journals that decide the verdict: those with findings, otherwise those in which the check was exercised. */
  scenarios: string[]
  findings: { scenario: string; finding: Finding }[]
}

/** A client that signs wrongly once does so again, so few searches are enough. */
const diagnosesPerJournal = 2
const diagnosesInAll = 12
/** A search without a result tries every pair of mistakes, which takes half a second. */
const searchesWithoutResult = 2

/**
 * Judges journals by every check. Pure.
 *
 * @param checkOfScenario the check to which a finding of the whole scenario belongs; null: there is no scenario
 */
export function judgeJournals(
  journals: readonly Journal[],
  checkOfScenario: (scenario: string) => string | null,
): CheckResult[] {
  const budget = { diagnoses: diagnosesInAll, withoutResult: searchesWithoutResult }
  const evidence = journals.map((journal): Evidence => {
    const story = readJournal(journal)
    return { story, signed: judgeSignatures(story, boundedExplain(budget)) }
  })
  const takesErrors = evidence.some(
    ({ story }) => checkOfScenario(story.scenario) === errorIn200.id && printsTooManyOk(story),
  )
  // A client that never reaches a server proves nothing, even if it prints results.
  const isInert = evidence.every(({ story }) => story.requests.length === 0)
  const findingsOf = (check: Check, story: Story): Finding[] => {
    if (isInert || checkOfScenario(story.scenario) !== check.id) return []
    return scenarioFindings(story, takesErrors && check !== errorIn200)
  }
  return checks.map((check) => judgeCheck(check, evidence, findingsOf))
}

/** @param budget shared by all journals; used time is subtracted */
function boundedExplain(budget: { diagnoses: number; withoutResult: number }): Explain {
  let left = diagnosesPerJournal
  return (input) => {
    if (left === 0 || budget.diagnoses === 0 || budget.withoutResult === 0) return null
    left -= 1
    budget.diagnoses -= 1
    const diagnosis = diagnose(input)
    if (!diagnosis.explained) budget.withoutResult -= 1
    return diagnosis
  }
}

function judgeCheck(
  check: Check,
  evidence: readonly Evidence[],
  ofScenario: (check: Check, story: Story) => Finding[],
): CheckResult {
  const exercised: string[] = []
  const findings: CheckResult['findings'] = []
  for (const one of evidence) {
    const { scenario } = one.story
    const judged = check.judge(one)
    const all = [...judged.findings, ...ofScenario(check, one.story)]
    if (judged.exercised || all.length > 0) exercised.push(scenario)
    findings.push(...all.map((finding) => ({ scenario, finding })))
  }
  if (findings.length === 0)
    return { check, verdict: exercised.length > 0 ? 'passed' : 'not-exercised', scenarios: exercised, findings }
  const scenarios = [...new Set(findings.map(({ scenario }) => scenario))]
  return { check, verdict: check.level === 'document' ? 'failed' : 'warned', scenarios, findings }
}
