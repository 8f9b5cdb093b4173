import { diagnose } from '../lab/diagnose.ts'
import { checks } from './all-checks.ts'
import type { Check, Evidence, Finding } from './check.ts'
import { errorIn200 } from './checks/answers.ts'
import type { Journal } from './journal.ts'
import type { CheckVerdict } from './report/client-report.ts'
import { printsTooManyOk, scenarioFindings } from './scenario-findings.ts'
import { readJournal } from './story/read-journal.ts'
import { type Explain, judgeSignatures } from './story/signatures.ts'
import type { Story } from './story/story.ts'

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
