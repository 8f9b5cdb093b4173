/** From cases to requirements: each has the worst of its cases, and a guard needs both of its sides. */

import { allItems, provesOf } from '../engine/case/cases.ts'
import type { Corpus, Requirement } from '../engine/fixture/model.ts'
import { type Verdict, worstFirst } from '../engine/judge/outcome.ts'
import type { CaseReport, Finding, RequirementReport } from './model.ts'
import { joinReasons } from './reasons.ts'

/** Which cases were left out on purpose, and the words for it. */
export interface Selection {
  /** `only`, or a shard: what is not selected says nothing about the target. */
  partial: 'only' | 'shard' | null
  /** Why a case key was left out by `--skip`; undefined where it was not. */
  skipReason: (key: string) => string | undefined
}

/** The reason of what `--only` leaves out: the user knows, so nobody lists it. */
export const notSelectedByOnly = 'Not selected by --only'

interface Standing {
  verdict: Verdict
  reason: string | null
  /** Not testable for a written reason that no run can change here. */
  excused: boolean
}

/** The worst verdict of a list, as a requirement takes it. */
export const worst = (verdicts: readonly Verdict[]): Verdict =>
  worstFirst.find((verdict) => verdicts.includes(verdict)) ?? 'passed'

export function reportRequirements(
  corpus: Corpus,
  cases: readonly CaseReport[],
  findings: readonly Finding[],
  selection: Selection,
): RequirementReport[] {
  const planned = plannedCases(corpus)
  const needs = new Map(corpus.scenarios.map((scenario) => [scenario.id, scenario.needs as string[]]))
  return corpus.requirements.map((requirement) => {
    const mine = cases.filter((testCase) => testCase.proves.includes(requirement.id))
    const missing = (planned.get(requirement.id) ?? []).filter((key) => !cases.some((testCase) => testCase.key === key))
    const standing = withFindings(
      findings.filter((finding) => finding.requirement === requirement.id),
      stand(requirement, mine, missing, needs, selection),
    )
    return {
      id: requirement.id,
      level: requirement.level,
      kind: requirement.kind,
      part: requirement.part,
      text: requirement.text,
      anchor: `spec/interface.md#${requirement.id.replace('/', '-')}`,
      verdict: standing.verdict,
      cases: mine.map((testCase) => testCase.key),
      reason: standing.reason,
      gap: requirement.level === 'must' && standing.verdict === 'not-testable' && !standing.excused,
    }
  })
}

/** A finding counts as a case that failed; one about what is only implied, or that is known, as a case of that verdict. */
function withFindings(findings: readonly Finding[], standing: Standing): Standing {
  const found = worst([standing.verdict, ...findings.map(verdictOfFinding)])
  return found === standing.verdict ? standing : { verdict: found, reason: null, excused: false }
}

/** The verdict of a case that would show the same. */
export function verdictOfFinding({ level, known }: Finding): Verdict {
  if (known !== null) return 'known'
  return level === 'must' ? 'failed' : 'warned'
}

function stand(
  requirement: Requirement,
  cases: readonly CaseReport[],
  missing: readonly string[],
  needs: ReadonlyMap<string, string[]>,
  selection: Selection,
): Standing {
  const { untestable } = requirement
  if (cases.length === 0) {
    if (missing.length > 0) return { verdict: 'not-testable', reason: notSelected(missing, selection), excused: false }
    if (untestable !== undefined) return { verdict: 'not-testable', reason: untestable.reason, excused: true }
    // The cases about every answer have nothing to say where no call of the selected cases was accepted.
    const reason = selection.partial === 'only' ? notSelectedByOnly : 'No scenario proves it'
    return { verdict: 'not-testable', reason, excused: false }
  }
  const verdict = worst(cases.map((testCase) => testCase.requirements[requirement.id] ?? testCase.verdict))
  if (verdict === 'not-testable') {
    const open = cases.filter(
      (testCase) => (testCase.requirements[requirement.id] ?? testCase.verdict) === 'not-testable',
    )
    const without = untestable?.without
    if (without !== undefined && open.every((testCase) => needs.get(testCase.id)?.includes(without)))
      return { verdict, reason: untestable?.reason ?? null, excused: true }
    return { verdict, reason: reasonsOf(open), excused: false }
  }
  if (verdict === 'blocked')
    return { verdict, reason: reasonsOf(cases.filter((testCase) => testCase.verdict === 'blocked')), excused: false }
  if (verdict === 'passed' && requirement.kind === 'guard') return standOfGuard(requirement, cases, missing, selection)
  return { verdict, reason: null, excused: false }
}

function standOfGuard(
  requirement: Requirement,
  cases: readonly CaseReport[],
  missing: readonly string[],
  selection: Selection,
): Standing {
  const shown = new Set(cases.flatMap((testCase) => testCase.sides[requirement.id] ?? []))
  const lacking = (['accepted', 'refused'] as const).filter((side) => !shown.has(side))
  if (lacking.length === 0) return { verdict: 'passed', reason: null, excused: false }
  if (missing.length > 0) return { verdict: 'not-testable', reason: notSelected(missing, selection), excused: false }
  const reason = `Nothing ${lacking.join(' or ')} was shown: a rule that lets in or keeps out is proved by both sides`
  return { verdict: 'blocked', reason, excused: false }
}

function reasonsOf(cases: readonly CaseReport[]): string | null {
  const reasons = joinReasons(
    cases.flatMap((testCase) => (testCase.problem === null ? [] : [testCase.problem.message])),
  )
  return reasons.length === 0 ? null : reasons.map(({ reason }) => reason).join('; and ')
}

function notSelected(missing: readonly string[], selection: Selection): string {
  const skipped = missing.map(selection.skipReason).filter((reason) => reason !== undefined)
  if (skipped.length > 0) return `Skipped: ${[...new Set(skipped)].join('; ')}`
  if (selection.partial === 'shard') return 'Not selected: it is in another shard'
  return selection.partial === 'only' ? notSelectedByOnly : 'Not run'
}

/** Keys of cases and of the test keys by the requirement that they prove, as the fixtures say. */
function plannedCases(corpus: Corpus): Map<string, string[]> {
  const planned = new Map<string, string[]>()
  for (const item of allItems(corpus))
    for (const id of new Set(provesOf(item))) planned.set(id, [...(planned.get(id) ?? []), item.key])
  return planned
}
