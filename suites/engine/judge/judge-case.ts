import type { CallStep, Requirement, SendStep, Step } from '../language/fixture-types.ts'
import { type Names, resolve } from '../language/resolve.ts'
import type { WireRequest } from '../target.ts'
import { envelopeRequirements, showJson } from './classify.ts'
import {
  type Called,
  endOfTimestampsMs,
  firstTimestampMs,
  type Judgement,
  judgeAnswers,
  roundingMs,
  type Schemas,
  type Side,
} from './expectation.ts'
import {
  type CaseOutcome,
  type EnvelopeProblem,
  type Failure,
  type LostPreparation,
  type Obstacle,
  type ProblemFacts,
  type RefusalJudgement,
  type Verdict,
  worst,
} from './problem.ts'

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

/** Junk credentials that the target accepts. A method that accepts anything proves nothing by accepting a call. */

/** Kinds of credentials that are tried with junk; `none` is no Authorization header at all. */
export type CredentialKind = 'none' | 'basic' | 'hmac' | 'ecc' | 'token' | 'credentials' | 'refresh'

export interface JunkControl {
  /** `method kind` pairs on which junk was accepted. */
  junkTaken: string[]
}

/** Whether a method also accepts junk of this kind, or calls without authorization: an acceptance proves nothing then. */
function takesJunk({ junkTaken }: JunkControl, method: string, kind: CredentialKind): boolean {
  return junkTaken.includes(`${method} ${kind}`) || junkTaken.includes(`${method} none`)
}

/** Judges a step: it held, or the case ends there. Every ending of a step is decided here. */

/**
 * How a step ends its case. `broke`: an expectation did not hold. `blocked`: nothing could be judged. `not-testable`: the target lacks
 * something. `too-late` and `preparation-lost`: time ran out, or what the case prepared no longer holds, so the case is worth another try.
 */
export interface StepEnd {
  kind: 'broke' | 'blocked' | 'not-testable' | 'too-late' | 'preparation-lost'
  problem: ProblemFacts
  /** The step prepares the case. */
  inPreparation?: true
  /** The calls to show. */
  called: Called[]
}

export type StepVerdict = { kind: 'held'; sides: Side[] } | { kind: 'nothing-expected' } | StepEnd

interface StepContext {
  /** A step of `given` prepares the case; when it does not hold, the case is blocked. */
  given: boolean
  /** The requirements that the step proves. */
  proves: string[]
  schemas: Schemas
  /** Whether the server's clock is known. Times can only be judged by a known clock. */
  clockIsKnown: boolean
  /** By how much the clock of reported times may be ahead of the Date header. In ms. */
  tokenClockAheadMs: number
  /** How long a refresh token lives, where that is known. In ms. */
  refreshLifeMs: number | undefined
  /** Asks the model about a refused call; undefined if the call had to be accepted, or nothing is known that would make its refusal right. */
  judgeRefusal?: ((refused: WireRequest) => RefusalJudgement | undefined) | undefined
}

/** @param calls the calls that the step made, at least one */
export function judgeStep(step: CallStep | SendStep, calls: Called[], names: Names, context: StepContext): StepVerdict {
  if (judgesByClock(step) && !context.clockIsKnown) return stepEnd('not-testable', { kind: 'clock-unknown' })
  const judgement = judgeAnswers(step, calls, names, context.schemas)
  if (judgement === undefined) return { kind: 'nothing-expected' }
  if (judgement.kind === 'undecided') return stepEnd('blocked', judgement.problem, [judgement.called])
  const late = judgeLateness(step, calls, names, context.tokenClockAheadMs)
  if (late !== undefined) return late
  if (judgement.kind === 'broke') return judgeFailure(step, calls, judgement, context)
  const departure = context.given ? undefined : judgeEnvelope(calls, context.proves)
  return departure ?? { kind: 'held', sides: judgement.sides }
}

export function stepEnd(kind: StepEnd['kind'], problem: ProblemFacts, called: Called[] = []): StepEnd {
  return { kind, problem, called }
}

/** Judges an expectation that did not hold: it is a failure, unless there is a reason why it says nothing about the requirement. */
function judgeFailure(
  step: CallStep | SendStep,
  calls: Called[],
  { problem, called }: Extract<Judgement, { kind: 'broke' }>,
  { given, refreshLifeMs, tokenClockAheadMs, judgeRefusal }: StepContext,
): StepEnd {
  const requestedMs = expectsAcceptance(step) ? called.requestedLifeMs : undefined
  if (requestedMs !== undefined && refreshLifeMs !== undefined && isLifetimeTooLong(requestedMs, refreshLifeMs)) {
    return stepEnd('not-testable', { kind: 'lifetime-too-long', requestedMs, refreshLifeMs }, [called])
  }
  const lost = failsByRefusal(step) ? lossOf(calls, called, judgeRefusal) : undefined
  if (lost !== undefined) return stepEnd('preparation-lost', { kind: 'preparation-lost', because: lost }, [called])
  if (failsByRefusal(step) && endedToken(calls, tokenClockAheadMs))
    return stepEnd('preparation-lost', { kind: 'token-ended' }, [called])
  const failure = failsByRefusal(step) ? withDoubt(problem, called, judgeRefusal) : problem
  if (!given) return stepEnd('broke', failure, [called])
  const { outcome } = called.answer
  const reason = outcome === 'refused' ? step['if-refused'] : outcome === 'accepted' ? step['if-accepted'] : undefined
  if (reason !== undefined) return stepEnd('not-testable', { kind: 'as-declared', reason }, [called])
  return { ...stepEnd('blocked', failure, [called]), inPreparation: true }
}

/** Departures from the envelope are collected over the whole run. They fail a step only if the step is about them. */
function judgeEnvelope(calls: Called[], proves: string[]): StepEnd | undefined {
  for (const called of calls) {
    const problem = called.departures.find(({ kind }) => proves.includes(envelopeRequirements[kind]))
    if (problem !== undefined) return stepEnd('broke', problem, [called])
  }
  return undefined
}

/** Whether a step judges by a time on the server's clock. */
function judgesByClock(step: CallStep | SendStep): boolean {
  if (step.before !== undefined) return true
  const where = typeof step.expect === 'object' && 'where' in step.expect ? (step.expect.where ?? {}) : {}
  return Object.values(where).some((matcher) => typeof matcher === 'object' && matcher !== null && 'in' in matcher)
}

/** A judgement `before` a time counts only if the answer arrived more than a second before it. */
function judgeLateness(step: CallStep | SendStep, calls: Called[], names: Names, aheadMs: number): StepEnd | undefined {
  if (step.before === undefined) return undefined
  const time = resolve(step.before, names)
  if (typeof time !== 'number') return stepEnd('blocked', { kind: 'not-a-time', got: showJson(time) }, calls.slice(-1))
  const wrong = expiryProblem(time)
  if (wrong !== undefined) return stepEnd('blocked', wrong, calls.slice(-1))
  const isLate = calls.some(
    ({ time: { answeredAtMs, uncertaintyMs } }) => answeredAtMs + uncertaintyMs + aheadMs > time - roundingMs,
  )
  return isLate ? stepEnd('too-late', { kind: 'too-late' }, calls.slice(-1)) : undefined
}

/** Returns why a reported expiry cannot be used: it is not a 13-digit timestamp. */
export function expiryProblem(time: number): ProblemFacts | undefined {
  if (time >= firstTimestampMs && time < endOfTimestampsMs) return undefined
  return { kind: 'expiry-not-a-timestamp', digits: Math.trunc(Math.abs(time)).toFixed().length }
}

/** Whether a target need not grant this lifetime, because a refresh token lives about as long or shorter. Both lifetimes may be rounded. */
export function isLifetimeTooLong(lifeMs: number, refreshLifeMs: number): boolean {
  return refreshLifeMs > 0 && lifeMs + 2 * roundingMs >= refreshLifeMs
}

/** Whether a step fails when its call is refused. */
function expectsAcceptance({ expect }: CallStep | SendStep): boolean {
  if (expect === undefined || expect === 'refused') return false
  return typeof expect !== 'object' || !('refused-or' in expect)
}

/** Whether a step fails when some of its calls are refused. */
function failsByRefusal({ expect, tally }: CallStep | SendStep): boolean {
  return expect === undefined ? tally?.accepted !== undefined : expect !== 'refused'
}

/** Why the calls of a step had to be refused; undefined unless that is certain of each that was. */
function lossOf(
  calls: Called[],
  { answer }: Called,
  judgeRefusal: StepContext['judgeRefusal'],
): LostPreparation | undefined {
  if (judgeRefusal === undefined || answer.outcome !== 'refused') return undefined
  const losses = calls
    .filter((one) => one.answer.outcome === 'refused')
    .map(({ request }) => {
      const judged = judgeRefusal(request)
      return judged?.is === 'required' ? judged.because : undefined
    })
  return losses.every((loss) => loss !== undefined) ? losses[0] : undefined
}

/** Adds what may have made the refusal right. */
function withDoubt(problem: Failure, { answer, request }: Called, judgeRefusal: StepContext['judgeRefusal']): Failure {
  const isWrongRefusal =
    answer.outcome === 'refused' && (problem.kind === 'wrong-outcome' || problem.kind === 'wrong-count')
  const judged = isWrongRefusal ? judgeRefusal?.(request) : undefined
  return isWrongRefusal && judged?.is === 'open' ? { ...problem, doubt: judged.because } : problem
}

/** Whether a token had expired, or nearly, when it was used. Its refusal proves nothing then. */
function endedToken(calls: Called[], aheadMs: number): boolean {
  return calls.some(
    ({ answer, tokenExpiryMs, time: { answeredAtMs, uncertaintyMs } }) =>
      answer.outcome === 'refused' &&
      tokenExpiryMs !== undefined &&
      answeredAtMs + uncertaintyMs + aheadMs > tokenExpiryMs - roundingMs,
  )
}

/** The verdict of a requirement: the worst of its cases; a guard needs both of its sides. */

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
    return verdictFor(verdict, reasonsOf(cases.filter((one) => one.verdict === 'blocked')))
  }
  if (verdict === 'passed' && requirement.kind === 'guard') return judgeSides(requirement, evidence)
  return verdictFor(verdict)
}

const verdictFor = (verdict: Verdict, reasons: RequirementReason[] = [], excused = false): RequirementVerdict => ({
  verdict,
  reasons,
  excused,
})

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
  if (missing.length > 0) return verdictFor('not-testable', notSelected(missing, selection))
  // The cases about every answer prove nothing if no call of the selected cases was accepted.
  if (selection.partial === 'only') return verdictFor('not-testable', [{ kind: 'not-selected', by: 'only' }])
  if (untestable === undefined) return verdictFor('not-testable', [{ kind: 'no-scenario' }])
  return verdictFor('not-testable', [{ kind: 'untestable', reason: untestable.reason }], true)
}

function judgeNotTestable(
  { untestable }: Requirement,
  open: readonly JudgedCase[],
  { needsOf }: RequirementEvidence,
): RequirementVerdict {
  const without = untestable?.without
  const isExcused = without !== undefined && open.every(({ id }) => needsOf(id).includes(without))
  return isExcused
    ? verdictFor('not-testable', [{ kind: 'untestable', reason: untestable?.reason ?? '' }], true)
    : verdictFor('not-testable', reasonsOf(open))
}

/** A rule that lets in or keeps out is proved by both sides. */
function judgeSides({ id }: Requirement, { cases, missing, selection }: RequirementEvidence): RequirementVerdict {
  const shown = new Set(cases.flatMap((testCase) => testCase.sides[id] ?? []))
  const lacking = (['accepted', 'refused'] as const).filter((side) => !shown.has(side))
  if (lacking.length === 0) return verdictFor('passed')
  if (missing.length > 0) return verdictFor('not-testable', notSelected(missing, selection))
  // The other side would show in cases about API areas that the target does not have.
  const isApplicable = cases.every(({ verdict }) => verdict !== 'not-applicable')
  return verdictFor(isApplicable ? 'blocked' : 'not-testable', [{ kind: 'one-sided', lacking }])
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

/** The verdict of a case, from what its steps showed. */

export interface CaseVerdict {
  verdict: Verdict
  /** Verdict per requirement that the case proves: a failing step fails only what it proves. */
  requirements: { [id: string]: Verdict }
  /**
   * What decided the verdict: a step that ended the case, an accepted junk credential, or that nothing was judged; null for a passed case.
   */
  because: { kind: 'step'; stop: CaseStop } | { kind: 'control'; problem: Obstacle } | { kind: 'nothing-judged' } | null
}

export function judgeCase(
  attempt: Attempt,
  proves: string[],
  facts: JunkControl,
  isMust: (requirement: string) => boolean,
): CaseVerdict {
  const control = attempt.stops.length === 0 ? acceptedWithJunk(facts, attempt) : openToAll(facts, attempt)
  if (control !== undefined) {
    return {
      verdict: 'blocked',
      requirements: Object.fromEntries(proves.map((id) => [id, 'blocked'])),
      because: { kind: 'control', problem: control },
    }
  }
  const requirements = Object.fromEntries(proves.map((id) => [id, verdictOfRequirement(id, attempt, isMust)]))
  const verdictOf = (stop: CaseStop): Verdict => judgeStop(stop, proves, isMust)
  const verdict = worst([...Object.values(requirements), ...attempt.stops.map(verdictOf)])
  const stop = attempt.stops.find((one) => verdictOf(one) === verdict)
  if (stop !== undefined) return { verdict, requirements, because: { kind: 'step', stop } }
  return { verdict, requirements, because: verdict === 'passed' ? null : { kind: 'nothing-judged' } }
}

function verdictOfRequirement(id: string, attempt: Attempt, isMust: (requirement: string) => boolean): Verdict {
  if (attempt.stops.some(({ proves }) => proves.includes(id))) return isMust(id) ? 'failed' : 'warned'
  if (attempt.unreached.has(id)) return attempt.stops.some(isNotTestable) ? 'not-testable' : 'blocked'
  return attempt.judged.has(id) ? 'passed' : 'not-testable'
}

/** A target may choose short lifetimes, and others may use it too, so a preparation that no longer holds is not a defect. */
const isNotTestable = ({ kind }: CaseStop): boolean => kind === 'not-testable' || kind === 'preparation-lost'

/** A case that proves nothing only observes, so what keeps it from that blocks no verdict. */
function judgeStop(stop: CaseStop, proves: readonly string[], isMust: (requirement: string) => boolean): Verdict {
  if (isNotTestable(stop)) return 'not-testable'
  if (stop.kind !== 'broke') return proves.length === 0 ? 'not-testable' : 'blocked'
  return stop.proves.some(isMust) ? 'failed' : 'warned'
}

/** A case that shows only acceptances proves nothing if the same method accepts junk. */
function acceptedWithJunk(facts: JunkControl, attempt: Attempt): Obstacle | undefined {
  const open = attempt.acceptances.find(
    ({ method, kind }) => takesJunk(facts, method, kind) && !attempt.refusedMethods.has(method),
  )
  return open === undefined ? undefined : { kind: 'junk-accepted', method: open.method }
}

/**
 * A method that accepts calls without any authorization does not look at credentials. That it accepts wrong ones is the same defect again,
 * and says nothing about the rule for these credentials.
 */
function openToAll(facts: JunkControl, { stops }: Attempt): Obstacle | undefined {
  const methods = stops.map(({ kind, step }) =>
    kind === 'broke' &&
    'call' in step &&
    step.auth !== 'none' &&
    (step.expect === 'refused' || step.tally !== undefined)
      ? step.call
      : undefined,
  )
  const [method] = methods
  const isOpen = methods.every((one) => one !== undefined && takesJunk(facts, one, 'none'))
  return isOpen && method !== undefined ? { kind: 'open-to-all', method } : undefined
}
