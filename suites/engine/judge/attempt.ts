import type { Step } from '../language/fixture-types.ts'
import type { Called } from './called.ts'
import type { Side } from './expectation.ts'
import type { StepEnd } from './judge-step.ts'
import type { CredentialKind } from './junk-control.ts'
import type { CaseOutcome } from './outcome.ts'
import type { EnvelopeProblem } from './problem.ts'

/** A step that ended its case, or a warning on the way. */
export interface CaseStop extends StepEnd {
  step: Step
  /** The requirements that the step was to prove; empty unless it broke. */
  proves: string[]
}

/** A call as it is shown. */
export type Exchanged = Pick<Called, 'request' | 'wire' | 'throttled'>

/** What one try of a case showed. */
export interface Attempt {
  /** Sides of each requirement that held. */
  sides: Map<string, Set<Side>>
  /** Requirements with a judged step outside the preparation. */
  judged: Set<string>
  /** Requirements whose last step was not judged. */
  unreached: Set<string>
  stops: CaseStop[]
  observations: CaseOutcome['observations']
  envelope: { problem: EnvelopeProblem; called: Called }[]
  envelopeAnswers: number
  /** Judged acceptances outside the preparation, to be compared with the junk-credential controls. */
  acceptances: { method: string; kind: CredentialKind }[]
  /** Methods on which an expected refusal held. */
  refusedMethods: Set<string>
  /** Names that have no value because a `refused-or` step was refused; later steps that use them are skipped. */
  notGiven: Set<string>
  /** Names of times that the case requested. */
  requestedTimes: Set<string>
  throttled: boolean
  /** Every call, in order, without the values of its answer, which may be megabytes. */
  calls: Exchanged[]
}

/** An attempt before its first step. */
export function emptyAttempt(): Attempt {
  return {
    sides: new Map(),
    judged: new Set(),
    unreached: new Set(),
    stops: [],
    observations: [],
    envelope: [],
    envelopeAnswers: 0,
    acceptances: [],
    refusedMethods: new Set(),
    notGiven: new Set(),
    requestedTimes: new Set(),
    throttled: false,
    calls: [],
  }
}
