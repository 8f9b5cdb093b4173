/** The outcome of a case, already redacted. Plain values, because it is sent from a vitest worker to the main process as JSON. */
import type { Exchange } from '../exchange.ts'
import type { EnvelopeProblem, Hint, ProblemFacts } from './problem.ts'
import type { Verdict } from './verdict.ts'

/** What went wrong in a case: its kind and fields, and where. */
export type Problem = ProblemFacts & {
  /** The requirements that the step was to prove; empty for a blocked or untestable case. */
  requirements: string[]
  /** The step's sentence, or its call. */
  step: string
  /** The step prepares the case, so its failure says nothing about the requirements. */
  inPreparation?: true
  /** fixtures/…yaml:line:column of the step. */
  where?: string
  hint?: Hint
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
  /** The sides of each requirement that this case showed. */
  sides: { [id: string]: ('accepted' | 'refused')[] }
  problem: Problem | null
  /** `step`: the sentence of the observing step, if it has one. */
  observations: { question: string; answer: string; step?: string }[]
  /** Departures from the success envelope, collected over the whole run. */
  envelope: EnvelopeNote[]
  /** How many successful answers were checked for such departures. */
  envelopeAnswers: number
  /** What the model noticed while the case ran; the case itself does not judge it. */
  findings?: ListeningFinding[]
  calls: number
  /** How many of these calls the target throttled. */
  throttled?: number
  durationMs: number
}

/** An answer that no reading of the document allows, in an exchange of a case that was about something else. */
export interface ListeningFinding {
  /** `found/REQUIREMENT/FACT`. */
  id: string
  requirement: string
  level: 'must' | 'implied'
  message: string
  /** One line for each call that led to it, and its own as the last. */
  steps: string[]
}

export interface EnvelopeNote {
  problem: EnvelopeProblem
  exchange: Exchange
}
