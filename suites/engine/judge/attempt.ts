import type { Step } from '../fixture/model.ts'
import type { Called } from './called.ts'
import type { Side } from './expectation.ts'
import type { StepEnd } from './judge-step.ts'
import type { CredentialKind } from './junk-control.ts'
import type { CaseOutcome } from './outcome.ts'
import type { EnvelopeProblem } from './problem.ts'

/** A step that ended its case, or a warning on the way. */
export interface CaseStop extends StepEnd {
  step: Step
  /** The requirements that the step was to prove; none unless it broke. */
  proves: string[]
}

/** A call as it is shown. */
export type Exchanged = Pick<Called, 'request' | 'wire' | 'throttled'>

/** What one try of a case showed. */
export interface Attempt {
  /** Sides of each requirement that held. */
  sides: Map<string, Set<Side>>
  /** Requirements of which a step outside the preparation was judged. */
  judged: Set<string>
  /** Requirements whose last step did not come to be judged. */
  unreached: Set<string>
  stops: CaseStop[]
  observations: CaseOutcome['observations']
  envelope: { problem: EnvelopeProblem; called: Called }[]
  envelopeAnswers: number
  /** Judged acceptances outside the preparations, to be compared with the junk-credential controls. */
  acceptances: { method: string; kind: CredentialKind }[]
  /** Methods on which a refusal held. */
  refusedMethods: Set<string>
  /** Names that a refused `refused-or` did not give: later steps that use them have nothing to ask. */
  notGiven: Set<string>
  /** Names of moments that we asked for. */
  ownMoments: Set<string>
  throttled: boolean
  /** Every call, in order: what a report shows of it, and not the values of its answer, which may be megabytes. */
  calls: Exchanged[]
}

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
    ownMoments: new Set(),
    throttled: false,
    calls: [],
  }
}
