/** The only place that turns problems and reasons into sentences. Nothing reads these sentences back. */
import type { RequirementReason } from '../engine/judge/judge-requirement.ts'
import type { Hint, ProblemFacts } from '../engine/judge/problem.ts'
import { failureTexts } from './failure-text.ts'
import { gapTexts, probesText } from './gap-text.ts'
import { obstacleTexts } from './obstacle-text.ts'
import { type TextOfKind, textOfKind } from './text-of-kind.ts'

/** What a sentence tells of a problem. */
type ToldProblem = ProblemFacts & { inPreparation?: true; hint?: Hint }

/** Makes the sentence of a problem; a test replaces it to show that no verdict depends on words. */
export type ProblemRenderer = (problem: ToldProblem) => string

const problemTexts: TextOfKind<ProblemFacts> = { ...failureTexts, ...obstacleTexts, ...gapTexts }

export function problemText(problem: ToldProblem | null | undefined): string {
  if (problem === null || problem === undefined) return ''
  const text = textOfKind<ProblemFacts>(problemTexts, isExplained(problem) ? withoutDoubt(problem) : problem)
  return problem.inPreparation === true ? `preparation: ${text}` : text
}

/** Whether the cause is certain, so that no other explanation is worth a word. */
const isExplained = ({ hint }: ToldProblem): boolean => hint?.kind === 'server-mistake'

function withoutDoubt(problem: ProblemFacts): ProblemFacts {
  if (problem.kind !== 'wrong-outcome' && problem.kind !== 'wrong-count') return problem
  const { doubt: _perhaps, ...certain } = problem
  return certain
}

/** Renders one reason, or several that joinReasons put together. */
export function reasonText(reasons: readonly RequirementReason[]): string {
  const probes = reasons.flatMap((reason) => (reason.kind === 'needs-probe' ? [reason.probe] : []))
  if (probes.length > 1 && probes.length === reasons.length) return probesText(probes)
  return [...new Set(reasons.map(oneReasonText))].join('; and ')
}

function oneReasonText(reason: RequirementReason): string {
  switch (reason.kind) {
    case 'not-selected':
      return reason.by === 'shard' ? 'Not selected: it is in another shard' : 'Not selected by --only'
    case 'skipped':
      return `Skipped: ${reason.reason}`
    case 'never-run':
      return 'Not run'
    case 'untestable':
      return reason.reason
    case 'no-scenario':
      return 'No scenario proves it'
    case 'one-sided':
      return `No ${reason.lacking.join(' or ')} call was seen; this requirement is proved by calls of both kinds`
    default:
      return problemText(reason)
  }
}
