/** The requirements of a report, in the order of the register. */
import { allItems, provesOf } from '../engine/conversation/cases.ts'
import { judgeRequirement, type RequirementVerdict, type Selection } from '../engine/judge/judge-requirement.ts'
import type { Problem } from '../engine/judge/outcome.ts'
import { worst } from '../engine/judge/verdict.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'
import { verdictOfFinding } from './findings.ts'
import { reasonText } from './problem-text.ts'
import { joinReasons } from './reasons.ts'
import type { CaseReport, Finding, ReportedProblem, RequirementReport } from './report.ts'

export function reportRequirements(
  corpus: Corpus,
  cases: readonly CaseReport[],
  findings: readonly Finding[],
  { planned, ...selection }: Selection & { planned: ReadonlyMap<string, readonly string[]> },
): RequirementReport[] {
  const needs = new Map(corpus.scenarios.map((scenario) => [scenario.id, scenario.needs as string[]]))
  // Verdicts never depend on words.
  const silent = cases.map((testCase) => ({ ...testCase, problem: withoutWords(testCase.problem) }))
  const present = new Set(cases.map(({ key }) => key))
  return corpus.requirements.map((requirement) => {
    const mine = silent.filter((testCase) => testCase.proves.includes(requirement.id))
    const missing = (planned.get(requirement.id) ?? []).filter((key) => !present.has(key))
    const needsOf = (scenario: string): string[] => needs.get(scenario) ?? []
    const judged = withFindings(
      findings.filter((finding) => finding.requirement === requirement.id),
      judgeRequirement(requirement, { cases: mine, missing, needsOf, selection }),
    )
    const groups = joinReasons(judged.reasons)
    return {
      id: requirement.id,
      level: requirement.level,
      kind: requirement.kind,
      part: requirement.part,
      text: requirement.text,
      anchor: `spec/interface.md#${requirement.id.replace('/', '-')}`,
      verdict: judged.verdict,
      cases: mine.map((testCase) => testCase.key),
      reasons: groups.flatMap(({ reasons }) => reasons),
      reason: groups.length === 0 ? null : groups.map(({ reasons }) => reasonText(reasons)).join('; and '),
      gap: requirement.level === 'must' && judged.verdict === 'not-testable' && !judged.excused,
    }
  })
}

/** A finding counts as a failed case, or as a warned one for an implied requirement, or as a known one. */
function withFindings(findings: readonly Finding[], judged: RequirementVerdict): RequirementVerdict {
  const verdict = worst([judged.verdict, ...findings.map(verdictOfFinding)])
  return verdict === judged.verdict ? judged : { verdict, reasons: [], excused: false }
}

function withoutWords(problem: ReportedProblem | null): Problem | null {
  if (problem === null) return null
  const { message: _words, hint: _hint, ...silent } = problem
  return silent
}

/** Keys of cases and of test keys by the requirement that they prove, as the fixtures say. */
export function plannedCases(corpus: Corpus): Map<string, string[]> {
  const planned = new Map<string, string[]>()
  for (const item of allItems(corpus))
    for (const id of provesOf(item)) planned.set(id, [...(planned.get(id) ?? []), item.key])
  return planned
}
