/** The verdict of a case, and of a requirement. */
export type Verdict =
  | 'passed'
  | 'failed'
  | 'warned'
  | 'blocked'
  | 'known'
  | 'not-testable'
  /** The target file declares the API area absent. */
  | 'not-applicable'
  /** The run ended before it. */
  | 'not-run'

/** Worst first: a requirement has the worst verdict of its cases. What is not applicable takes nothing from a case that passed. */
const worstFirst: readonly Verdict[] = [
  'failed',
  'blocked',
  'known',
  'warned',
  'not-run',
  'not-testable',
  'passed',
  'not-applicable',
]

/** The worst of several verdicts; `passed` for none. */
export function worst(verdicts: readonly Verdict[]): Verdict {
  return worstFirst.find((verdict) => verdicts.includes(verdict)) ?? 'passed'
}
