/** What every format says about a finding of the model. */
import type { Verdict } from '../engine/judge/verdict.ts'
import type { Finding } from './model.ts'

/** The verdict of a case that would show the same. */
export function verdictOfFinding({ level, known }: Pick<Finding, 'level' | 'known'>): Verdict {
  if (known !== null) return 'known'
  return level === 'must' ? 'failed' : 'warned'
}

/** Whether it happened again, in words. */
export function reproducedSentence({ reproduced: { failed, tries } }: Pick<Finding, 'reproduced'>): string {
  if (tries === 0) return 'It was not tried again'
  const often = `Tried again, it failed ${failed} of ${tries} times`
  return failed === tries ? often : `${often}: it depends on timing or chance`
}

/** Findings in the order of what a reader wants to see first. */
export function sortFindings<F extends Pick<Finding, 'level' | 'known'>>(findings: readonly F[]): F[] {
  const order: readonly Verdict[] = ['failed', 'warned', 'known']
  return [...findings].sort(
    (one, other) => order.indexOf(verdictOfFinding(one)) - order.indexOf(verdictOfFinding(other)),
  )
}
