/** What a case showed. Values only: an outcome crosses from a vitest worker to the main process as JSON, already redacted. */

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

/** Worst first, as a requirement takes the worst of its cases. What is not applicable takes nothing from a case that passed. */
export const worstFirst: readonly Verdict[] = [
  'failed',
  'blocked',
  'known',
  'warned',
  'not-run',
  'not-testable',
  'passed',
  'not-applicable',
]

/** Servers may round moments to the second, so nothing is judged closer than this to one. */
export const judgedMarginMs = 1000

export interface Exchange {
  /** Lines ready to print: request line, headers, body. Secrets are already shortened. */
  request: string[]
  /** Lines ready to print, or the reason why there is none. */
  answer: string[]
}

export interface Problem {
  /** The requirements this step was to prove; empty for a blocked or untestable case. */
  requirements: string[]
  /** The step's sentence, or its call. */
  step: string
  /** `expected the call to be refused, it was accepted`; for not-testable the reason and what would change it. */
  message: string
  /** fixtures/…yaml:line:column of the step. */
  where?: string
  hint?: string
  exchanges: Exchange[]
}

export interface CaseOutcome {
  id: string
  case: string | null
  /** `id` or `id/case-slug`: unique, selectable. */
  key: string
  title: string
  verdict: Verdict
  proves: string[]
  /** Verdict per requirement of `proves` (a failing step fails only what it proves). */
  requirements: { [id: string]: Verdict }
  /** Which sides of each requirement this case showed and that held. */
  sides: { [id: string]: ('accepted' | 'refused')[] }
  problem: Problem | null
  /** `step` is the sentence of the step that saw it, where it has one. */
  observations: { question: string; answer: string; step?: string }[]
  /** Departures from the success envelope, collected over the whole run. */
  envelope: EnvelopeNote[]
  /** Successful answers looked at, for the same count. */
  envelopeAnswers: number
  calls: number
  /** How many of them the target answered with a request to wait. */
  throttled?: number
  durationMs: number
}

export interface EnvelopeNote {
  requirement: 'envelope/response-jsonrpc' | 'envelope/id-echo' | 'envelope/result-object'
  message: string
  exchange: Exchange
}
