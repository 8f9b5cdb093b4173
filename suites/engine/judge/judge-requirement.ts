/** The verdict of a requirement: the worst of its cases; a guard needs both of its sides. */
import type { Requirement } from '../language/fixture-types.ts'
import type { CaseOutcome } from './outcome.ts'
import type { ProblemFacts } from './problem.ts'
import { type Verdict, worst } from './verdict.ts'

/** Why a requirement is blocked or not testable. */
export type RequirementReason =
  | (ProblemFacts & { inPreparation?: true })
  | { kind: 'not-selected'; by: 'only' | 'shard' }
  | { kind: 'skipped'; reason: string }
  | { kind: 'never-run' }
  /** spec/requirements.yaml says why no case can prove it. */
  | { kind: 'untestable'; reason: string }
  | { kind: 'no-scenario' }
  | { kind: 'one-sided'; lacking: ('accepted' | 'refused')[] }

export interface RequirementVerdict {
  verdict: Verdict
  reasons: RequirementReason[]
  /** Not testable for a written reason that no run can change. */
  excused: boolean
}

/** Which cases were left out on purpose. */
export interface Selection {
  /** `only` or a shard selected cases; the others say nothing about the target. */
  partial: 'only' | 'shard' | null
  /** Why `--skip` left a case out; undefined if it did not. */
  skipReason: (key: string) => string | undefined
}

type JudgedCase = Pick<CaseOutcome, 'id' | 'key' | 'verdict' | 'requirements' | 'sides' | 'problem'>

interface RequirementEvidence {
  /** The cases that prove the requirement. */
  cases: readonly JudgedCase[]
  /** Keys of cases that prove it and were not selected. */
  missing: readonly string[]
  /** What a scenario needs, by its id. */
  needsOf: (scenario: string) => readonly string[]
  selection: Selection
}

export function judgeRequirement(requirement: Requirement, given: RequirementEvidence): RequirementVerdict {
  const evidence = withoutExcusedCases(requirement, withoutExcessiveCases(given))
  const { cases } = evidence
  if (cases.length === 0) return judgeWithoutCases(requirement, evidence)
  const verdicts = cases.map((testCase) => testCase.requirements[requirement.id] ?? testCase.verdict)
  const verdict = worst(verdicts)
  if (verdict === 'not-testable') {
    return judgeNotTestable(
      requirement,
      cases.filter((_case, index) => verdicts[index] === 'not-testable'),
      evidence,
    )
  }
  if (verdict === 'blocked') {
    return { verdict, reasons: reasonsOf(cases.filter((one) => one.verdict === 'blocked')), excused: false }
  }
  if (verdict === 'passed' && requirement.kind === 'guard') return judgeSides(requirement, evidence)
  return { verdict, reasons: [], excused: false }
}

/**
 * Leaves out cases that request a longer lifetime than the target must grant, if other cases remain. The document allows lifetimes only up
 * to that of the refresh token, so those cases leave nothing unproved.
 */
function withoutExcessiveCases(evidence: RequirementEvidence): RequirementEvidence {
  const cases = evidence.cases.filter(({ problem }) => problem?.kind !== 'lifetime-too-long')
  return cases.length === 0 ? evidence : { ...evidence, cases }
}

/** Leaves out cases that need what the register says few targets offer, if other cases remain. */
function withoutExcusedCases({ untestable }: Requirement, evidence: RequirementEvidence): RequirementEvidence {
  const { without } = untestable ?? {}
  if (without === undefined) return evidence
  const cases = evidence.cases.filter(
    ({ id, verdict }) => verdict !== 'not-testable' || !evidence.needsOf(id).includes(without),
  )
  return cases.length === 0 ? evidence : { ...evidence, cases }
}

function judgeWithoutCases(
  { untestable }: Requirement,
  { missing, selection }: RequirementEvidence,
): RequirementVerdict {
  const notTestable = (reason: RequirementReason, excused = false): RequirementVerdict => ({
    verdict: 'not-testable',
    reasons: [reason],
    excused,
  })
  if (missing.length > 0) return { ...notTestable({ kind: 'never-run' }), reasons: notSelected(missing, selection) }
  const isChosen = selection.partial !== 'only'
  if (untestable !== undefined && isChosen) return notTestable({ kind: 'untestable', reason: untestable.reason }, true)
  // The cases about every answer prove nothing if no call of the selected cases was accepted.
  return notTestable(selection.partial === 'only' ? { kind: 'not-selected', by: 'only' } : { kind: 'no-scenario' })
}

function judgeNotTestable(
  { untestable }: Requirement,
  open: readonly JudgedCase[],
  { needsOf }: RequirementEvidence,
): RequirementVerdict {
  const without = untestable?.without
  const isExcused = without !== undefined && open.every(({ id }) => needsOf(id).includes(without))
  return isExcused
    ? { verdict: 'not-testable', reasons: [{ kind: 'untestable', reason: untestable?.reason ?? '' }], excused: true }
    : { verdict: 'not-testable', reasons: reasonsOf(open), excused: false }
}

/** A rule that lets in or keeps out is proved by both sides. */
function judgeSides({ id }: Requirement, { cases, missing, selection }: RequirementEvidence): RequirementVerdict {
  const shown = new Set(cases.flatMap((testCase) => testCase.sides[id] ?? []))
  const lacking = (['accepted', 'refused'] as const).filter((side) => !shown.has(side))
  if (lacking.length === 0) return { verdict: 'passed', reasons: [], excused: false }
  if (missing.length > 0) return { verdict: 'not-testable', reasons: notSelected(missing, selection), excused: false }
  // The other side would show in cases about API areas that the target does not have.
  const isApplicable = cases.every(({ verdict }) => verdict !== 'not-applicable')
  return {
    verdict: isApplicable ? 'blocked' : 'not-testable',
    reasons: [{ kind: 'one-sided', lacking }],
    excused: false,
  }
}

function reasonsOf(cases: readonly JudgedCase[]): RequirementReason[] {
  return cases.flatMap(({ problem }) => {
    if (problem === null) return []
    const { requirements: _of, step: _at, where: _in, hint: _hint, exchanges: _shown, ...facts } = problem
    return [facts as RequirementReason]
  })
}

function notSelected(missing: readonly string[], selection: Selection): RequirementReason[] {
  const skipped = [...new Set(missing.map(selection.skipReason).filter((reason) => reason !== undefined))]
  if (skipped.length > 0) return [{ kind: 'skipped', reason: skipped.join('; ') }]
  return [selection.partial === null ? { kind: 'never-run' } : { kind: 'not-selected', by: selection.partial }]
}
