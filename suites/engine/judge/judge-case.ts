/** Verdicts: whether the answers of a step are what it expects, how it ends, what a case shows, and what its cases make of a requirement. Times are in ms. */

import { groupBy } from '../group.ts'
import { isObject, membersOf } from '../json.ts'
import type { CallStep, Expect, Requirement, SendStep, Step, Tally, Where } from '../language/fixture-types.ts'
import { judgementOf, type Names, resolve, valueAt } from '../language/resolve.ts'
import { schemaCheck } from '../language/schemas.ts'
import type { WireAnswer, WireRequest } from '../target.ts'
import { type Classified, envelopeRequirements, showJson, summarizeAnswer } from './classify.ts'
import {
  type AnswerSummary,
  type CaseObservation,
  type CaseOutcome,
  type Effect,
  type EnvelopeProblem,
  type Failure,
  type Mismatch,
  type Obstacle,
  type ProblemFacts,
  type RefusalJudgement,
  type Verdict,
  worst,
} from './problem.ts'

/**
 * How a step ends its case. `broke`: an expectation did not hold. `blocked`: nothing could be judged. `not-testable`: the target lacks
 * something. `too-late` and `preparation-lost`: time ran out, or what the case prepared no longer holds, so the case is worth another try.
 */
interface StepEnd {
  kind: 'broke' | 'blocked' | 'not-testable' | 'too-late' | 'preparation-lost'
  problem: ProblemFacts
  /** The step prepares the case. */
  inPreparation?: true
  /** The calls to show. */
  called: Called[]
}

type StepVerdict = { kind: 'held'; sides: Side[] } | { kind: 'nothing-expected' } | StepEnd

/** A step of a case, with what it is to prove. */
interface PlacedStep {
  step: Step
  /** It prepares the case, so it is the control of everything that the case proves. */
  given: boolean
  proves: string[]
}

/** A call as it is shown, without the values of its answer, which may be megabytes. */
export type Exchanged = Pick<Called, 'request' | 'wire' | 'throttled'>

export interface TakenStep extends PlacedStep {
  verdict: StepVerdict
  calls: readonly Exchanged[]
  /** How many of its answers were successful. */
  accepted: number
  /** Their departures from the envelope that the step itself does not judge. */
  departures: readonly { problem: EnvelopeProblem; called: Exchanged }[]
  observation?: CaseObservation
}

/** One try of a case: its steps up to the one that ended it, and those that it left out. Everything else is derived from them. */
export interface Attempt {
  taken: readonly TakenStep[]
  left: readonly PlacedStep[]
}

/** A step that ended its case, or a warning on the way. */
export interface CaseStop extends StepEnd {
  step: Step
  /** The requirements that the step was to prove; empty unless it broke. */
  proves: string[]
}

const isEnd = (verdict: StepVerdict): verdict is StepEnd =>
  verdict.kind !== 'held' && verdict.kind !== 'nothing-expected'

export const stopsOf = ({ taken }: Pick<Attempt, 'taken'>): CaseStop[] =>
  taken.flatMap(({ verdict, step, proves }) =>
    isEnd(verdict) ? [{ ...verdict, step, proves: verdict.kind === 'broke' ? proves : [] }] : [],
  )

// Steps. Every ending of a step is decided here.

interface StepContext extends Pick<PlacedStep, 'given' | 'proves'> {
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
  // Departures from the envelope are collected over the whole run. They fail a step only if the step is about them.
  const departed = calls.flatMap((called) =>
    context.given ? [] : called.departures.filter(isOf(context.proves)).map((problem) => ({ problem, called })),
  )[0]
  if (departed !== undefined) return stepEnd('broke', departed.problem, [departed.called])
  return { kind: 'held', sides: judgement.sides }
}

const isOf =
  (proves: readonly string[]) =>
  ({ kind }: EnvelopeProblem): boolean =>
    proves.includes(envelopeRequirements[kind])

export function stepEnd(kind: StepEnd['kind'], problem: ProblemFacts, called: Called[] = []): StepEnd {
  return { kind, problem, called }
}

/**
 * What a step that broke proves: of the requirements about the members of one result, those of the wrong member: `grants/result-token-type` is about `tokenType`. All of them
 * where the problem names no such member.
 */
function brokenBy(problem: ProblemFacts, proves: readonly string[]): string[] {
  const mismatch = problem.kind === 'wrong-value' && problem.path === 'result' ? problem.mismatch : undefined
  if (mismatch?.rule !== 'schema') return [...proves]
  const member = /required property '(\w+)'/.exec(mismatch.wanted)?.[1] ?? mismatch.place.split('/')[1] ?? ''
  const words = member.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)
  const own = proves.filter((id) => id.endsWith(`/result-${words}`))
  return own.length === 0 ? [...proves] : own
}

/** What a case keeps of a step. */
export function takenStep(
  placed: PlacedStep,
  verdict: StepVerdict,
  calls: readonly Called[] = [],
  observation?: CaseObservation,
): TakenStep {
  const shown = calls.map(({ request, wire, throttled }): Exchanged => ({ request, wire, throttled }))
  const proves = verdict.kind === 'broke' ? brokenBy(verdict.problem, placed.proves) : placed.proves
  const isOwn = isOf(proves)
  return {
    ...placed,
    proves,
    verdict,
    calls: shown,
    accepted: calls.filter(({ answer }) => answer.outcome === 'accepted').length,
    departures: calls.flatMap(({ departures }, index) =>
      // A case about this requirement fails on its own.
      departures.filter((one) => !isOwn(one)).map((problem) => ({ problem, called: shown[index] as Exchanged })),
    ),
    ...(observation === undefined ? {} : { observation }),
  }
}

/** Judges an expectation that did not hold: it is a failure, unless there is a reason why it says nothing about the requirement. */
function judgeFailure(
  step: CallStep | SendStep,
  calls: Called[],
  { problem, called }: Extract<Judgement, { kind: 'broke' }>,
  { given, refreshLifeMs, tokenClockAheadMs, judgeRefusal }: StepContext,
): StepEnd {
  const { outcome } = called.answer
  const requestedMs = expectsAcceptance(step) ? called.requestedLifeMs : undefined
  if (requestedMs !== undefined && refreshLifeMs !== undefined && isLifetimeTooLong(requestedMs, refreshLifeMs)) {
    return stepEnd('not-testable', { kind: 'lifetime-too-long', requestedMs, refreshLifeMs }, [called])
  }
  let failure = problem
  if (failsByRefusal(step)) {
    const judged = calls
      .filter(({ answer }) => answer.outcome === 'refused')
      .map(({ request }) => judgeRefusal?.(request))
    const [first] = judged
    // The calls had to be refused only if that is certain of each that was.
    if (outcome === 'refused' && first?.is === 'required' && judged.every((one) => one?.is === 'required'))
      return stepEnd('preparation-lost', { kind: 'preparation-lost', because: first.because }, [called])
    if (endedToken(calls, tokenClockAheadMs)) return stepEnd('preparation-lost', { kind: 'token-ended' }, [called])
    failure = withDoubt(problem, called, judgeRefusal)
  }
  if (!given) return stepEnd('broke', failure, [called])
  const reason = outcome === 'refused' ? step['if-refused'] : outcome === 'accepted' ? step['if-accepted'] : undefined
  if (reason !== undefined) return stepEnd('not-testable', { kind: 'as-declared', reason }, [called])
  return { ...stepEnd('blocked', failure, [called]), inPreparation: true }
}

/** Adds what may have made the refusal right. */
function withDoubt(problem: Failure, { answer, request }: Called, judgeRefusal: StepContext['judgeRefusal']): Failure {
  if (answer.outcome !== 'refused' || (problem.kind !== 'wrong-outcome' && problem.kind !== 'wrong-count'))
    return problem
  const judged = judgeRefusal?.(request)
  return judged?.is === 'open' ? { ...problem, doubt: judged.because } : problem
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
  const wrong = expiryProblem(time)
  if (wrong !== undefined) return stepEnd('blocked', wrong, calls.slice(-1))
  const isLate = calls.some((called) => isAfter(called, time as number, aheadMs))
  return isLate ? stepEnd('too-late', { kind: 'too-late' }, calls.slice(-1)) : undefined
}

/** Whether an answer came at a time of the server, or so near to it that it may have. */
const isAfter = ({ time: { answeredAtMs, uncertaintyMs } }: Called, timeMs: number, aheadMs: number): boolean =>
  answeredAtMs + uncertaintyMs + aheadMs > timeMs - roundingMs

/** Returns why a reported time cannot be used: it is not a number, or not a 13-digit timestamp. */
export function expiryProblem(time: unknown): ProblemFacts | undefined {
  if (typeof time !== 'number') return { kind: 'not-a-time', got: showJson(time) }
  if (time >= firstTimestampMs && time < endOfTimestampsMs) return undefined
  return { kind: 'expiry-not-a-timestamp', digits: Math.trunc(Math.abs(time)).toFixed().length }
}

/** Whether a target need not grant this lifetime, because a refresh token lives about as long or shorter. Both lifetimes may be rounded. */
function isLifetimeTooLong(lifeMs: number, refreshLifeMs: number): boolean {
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

/** Whether a token had expired, or nearly, when it was used. Its refusal proves nothing then. */
function endedToken(calls: Called[], aheadMs: number): boolean {
  return calls.some(
    (called) =>
      called.answer.outcome === 'refused' &&
      called.tokenExpiryMs !== undefined &&
      isAfter(called, called.tokenExpiryMs, aheadMs),
  )
}

// Junk credentials that the target accepts. A method that accepts anything proves nothing by accepting a call.

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

function credentialKindOf({ call, auth, params }: CallStep): CredentialKind {
  if (call === 'manager/auth') return membersOf(params).grantType === 'refresh_token' ? 'refresh' : 'credentials'
  if (auth === 'none' || 'header' in auth) return 'none'
  return (['basic', 'token', 'ecc'] as const).find((kind) => kind in auth) ?? 'hmac'
}

/** A case that shows only acceptances proves nothing if the same method accepts junk. */
function acceptedWithJunk(facts: JunkControl, { taken }: Attempt): Obstacle | undefined {
  const judged = taken.flatMap(({ step, given, verdict }) =>
    given || !('call' in step) || verdict.kind !== 'held' ? [] : [{ step, sides: verdict.sides }],
  )
  const isRefused = (method: string): boolean =>
    judged.some(({ step, sides }) => step.call === method && sides.includes('refused'))
  const open = judged.find(
    ({ step, sides }) =>
      sides.includes('accepted') && takesJunk(facts, step.call, credentialKindOf(step)) && !isRefused(step.call),
  )
  return open === undefined ? undefined : { kind: 'junk-accepted', method: open.step.call }
}

/**
 * A method that accepts calls without any authorization does not look at credentials. That it accepts wrong ones is the same defect again,
 * and says nothing about the rule for these credentials.
 */
function openToAll(facts: JunkControl, stops: readonly CaseStop[]): Obstacle | undefined {
  const methods = stops.map(({ kind, step }) => {
    const isOfCredentials =
      kind === 'broke' &&
      'call' in step &&
      step.auth !== 'none' &&
      (step.expect === 'refused' || step.tally !== undefined)
    return isOfCredentials && takesJunk(facts, step.call, 'none') ? step.call : undefined
  })
  const [method] = methods
  return method !== undefined && !methods.includes(undefined) ? { kind: 'open-to-all', method } : undefined
}

// Cases: the verdict follows from what the steps showed.

interface CaseVerdict extends Pick<CaseOutcome, 'verdict' | 'requirements' | 'sides'> {
  /**
   * What decided the verdict: a step that ended the case, an accepted junk credential, or that nothing was judged; null for a passed case.
   */
  because: { kind: 'step'; stop: CaseStop } | { kind: 'control'; problem: Obstacle } | { kind: 'nothing-judged' } | null
}

/** @param proves everything that the case proves */
export function judgeCase(
  attempt: Attempt,
  proves: string[],
  facts: JunkControl,
  isMust: (requirement: string) => boolean,
): CaseVerdict {
  const stops = stopsOf(attempt)
  const sides = sidesOf(attempt, proves)
  const forAll = (verdictOf: (id: string) => Verdict) => Object.fromEntries(proves.map((id) => [id, verdictOf(id)]))
  const problem = stops.length === 0 ? acceptedWithJunk(facts, attempt) : openToAll(facts, stops)
  if (problem !== undefined)
    return { verdict: 'blocked', requirements: forAll(() => 'blocked'), sides, because: { kind: 'control', problem } }
  const requirements = forAll((id) => verdictOfRequirement(id, attempt, stops, isMust))
  const verdictOf = (stop: CaseStop): Verdict => judgeStop(stop, proves, isMust)
  const verdict = worst([...Object.values(requirements), ...stops.map(verdictOf)])
  const stop = stops.find((one) => verdictOf(one) === verdict)
  if (stop !== undefined) return { verdict, requirements, sides, because: { kind: 'step', stop } }
  return { verdict, requirements, sides, because: verdict === 'passed' ? null : { kind: 'nothing-judged' } }
}

/** The sides of each requirement that held. */
function sidesOf({ taken }: Attempt, proves: readonly string[]): CaseOutcome['sides'] {
  const shown = (id: string): Side[] =>
    taken.flatMap(({ verdict, proves: own }) => (verdict.kind === 'held' && own.includes(id) ? verdict.sides : []))
  const all = proves.map((id): [string, Side[]] => [id, [...new Set(shown(id))]])
  return Object.fromEntries(all.filter(([, sides]) => sides.length > 0))
}

function verdictOfRequirement(
  id: string,
  { taken, left }: Attempt,
  stops: readonly CaseStop[],
  isMust: (requirement: string) => boolean,
): Verdict {
  if (stops.some(({ proves }) => proves.includes(id))) return isMust(id) ? 'failed' : 'warned'
  const isUnjudged = ({ step, given, proves }: PlacedStep, evenGiven: boolean): boolean =>
    proves.includes(id) && (given ? evenGiven : judgementOf(step) !== undefined)
  const wasNotReached =
    left.some((one) => isUnjudged(one, false)) ||
    taken.some((one) => isEnd(one.verdict) && one.verdict.kind !== 'broke' && isUnjudged(one, true))
  if (wasNotReached) return stops.some(isNotTestable) ? 'not-testable' : 'blocked'
  const isJudged = taken.some(({ given, verdict, proves }) => !given && verdict.kind === 'held' && proves.includes(id))
  return isJudged ? 'passed' : 'not-testable'
}

/** A target may choose short lifetimes, and others may use it too, so a preparation that no longer holds is not a defect. */
const isNotTestable = ({ kind }: CaseStop): boolean => kind === 'not-testable' || kind === 'preparation-lost'

/** A case that proves nothing only observes, so what keeps it from that blocks no verdict. */
function judgeStop(stop: CaseStop, proves: readonly string[], isMust: (requirement: string) => boolean): Verdict {
  if (isNotTestable(stop)) return 'not-testable'
  if (stop.kind !== 'broke') return proves.length === 0 ? 'not-testable' : 'blocked'
  return stop.proves.some(isMust) ? 'failed' : 'warned'
}

// Requirements: the worst of their cases; a guard needs both of its sides.

/** Why a requirement is blocked or not testable. */
export type RequirementReason =
  | (ProblemFacts & { inPreparation?: true })
  | { kind: 'not-selected'; by: 'only' | 'shard' }
  | { kind: 'skipped'; reason: string }
  | { kind: 'never-run' }
  /** spec/requirements.yaml says why no case can prove it. `without`: what few targets offer, and would change that. */
  | { kind: 'untestable'; reason: string; without?: string }
  | { kind: 'no-scenario' }
  | { kind: 'one-sided'; lacking: Side[] }

interface RequirementVerdict {
  verdict: Verdict
  reasons: RequirementReason[]
  /** Not testable for a written reason that no run can change. */
  excused: boolean
}

/** Which cases were left out on purpose. */
interface Selection {
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

export function judgeRequirement(
  { id, kind, untestable }: Requirement,
  { missing, needsOf, selection, ...evidence }: RequirementEvidence,
): RequirementVerdict {
  const conclude = (verdict: Verdict, reasons: RequirementReason[] = [], excused = false): RequirementVerdict => ({
    verdict,
    reasons,
    excused,
  })
  const { without, reason = '' } = untestable ?? {}
  const excused = () =>
    conclude('not-testable', [{ kind: 'untestable', reason, ...(without === undefined ? {} : { without }) }], true)
  const isExcused = (one: JudgedCase): boolean => without !== undefined && needsOf(one.id).includes(without)
  // The document allows lifetimes only up to that of the refresh token, so cases beyond it leave nothing unproved.
  const bearable = othersIfAny(evidence.cases, ({ problem }) => problem?.kind === 'lifetime-too-long')
  // Neither do cases that need what the register says few targets offer.
  const cases = othersIfAny(bearable, (one) => one.verdict === 'not-testable' && isExcused(one))
  if (cases.length === 0) {
    if (missing.length > 0) return conclude('not-testable', notSelected(missing, selection))
    // The cases about every answer prove nothing if no call of the selected cases was accepted.
    if (selection.partial === 'only') return conclude('not-testable', [{ kind: 'not-selected', by: 'only' }])
    return untestable === undefined ? conclude('not-testable', [{ kind: 'no-scenario' }]) : excused()
  }
  const verdictOf = (one: JudgedCase): Verdict => one.requirements[id] ?? one.verdict
  const verdict = worst(cases.map(verdictOf))
  if (verdict === 'not-testable') {
    const open = cases.filter((one) => verdictOf(one) === verdict)
    return open.every(isExcused) ? excused() : conclude(verdict, reasonsOf(open))
  }
  if (verdict === 'blocked') return conclude(verdict, reasonsOf(cases.filter((one) => one.verdict === verdict)))
  const shown = cases.flatMap(({ sides }) => sides[id] ?? [])
  const lacking = (['accepted', 'refused'] as const).filter((side) => !shown.includes(side))
  // A rule that lets in or keeps out is proved by both sides.
  if (verdict !== 'passed' || kind !== 'guard' || lacking.length === 0) return conclude(verdict)
  if (missing.length > 0) return conclude('not-testable', notSelected(missing, selection))
  // The other side would show in cases about API areas that the target does not have.
  const isApplicable = cases.every((one) => one.verdict !== 'not-applicable')
  return conclude(isApplicable ? 'blocked' : 'not-testable', [{ kind: 'one-sided', lacking }])
}

/** Leaves out such cases if others remain. */
function othersIfAny(cases: readonly JudgedCase[], isLeftOut: (one: JudgedCase) => boolean): readonly JudgedCase[] {
  const others = cases.filter((one) => !isLeftOut(one))
  return others.length === 0 ? cases : others
}

function reasonsOf(cases: readonly JudgedCase[]): RequirementReason[] {
  return cases.flatMap(({ problem }) => {
    if (problem === null) return []
    const { requirements: _of, step: _at, where: _in, hint: _hint, token: _used, exchanges: _shown, ...facts } = problem
    return [facts as RequirementReason]
  })
}

function notSelected(missing: readonly string[], selection: Selection): RequirementReason[] {
  const skipped = [...new Set(missing.map(selection.skipReason).filter((reason) => reason !== undefined))]
  if (skipped.length > 0) return [{ kind: 'skipped', reason: skipped.join('; ') }]
  return [selection.partial === null ? { kind: 'never-run' } : { kind: 'not-selected', by: selection.partial }]
}

/** Servers may round a time to the second, so nothing is judged within this distance of one. */
export const roundingMs = 1000

/** 13-digit timestamps in milliseconds: from 2001 to 2286. Smaller numbers are not timestamps. */
export const firstTimestampMs = 1e12
export const endOfTimestampsMs = 1e13

/** When a call was sent and answered, on the server's clock, and how uncertain that is. In ms. */
interface CallTime {
  sentAtMs: number
  answeredAtMs: number
  uncertaintyMs: number
  /** Other clocks that the server's expiries may follow, as offsets from this one. */
  witnesses?: readonly ClockWitness[]
}

/** How far another clock of the server is ahead. In ms. */
interface ClockWitness {
  earliestMs: number
  latestMs: number
}

/** Compares a value with a matcher of the fixture language (references already resolved); undefined where it matches. */
export function mismatch(actual: unknown, matcher: unknown, time: CallTime): Mismatch | undefined {
  const { in: inMs, is: schema, ...others } = isObject(matcher) ? matcher : {}
  if (inMs !== undefined) return mismatchInTime(actual, Number(inMs), time)
  if (schema !== undefined) return mismatchSchema(actual, schema)
  const word = words.find((candidate) => candidate in others)
  // A plain value means `equals`.
  const [rule, wanted] = word === undefined ? (['equals', matcher] as const) : ([word, others[word]] as const)
  return rules[rule](actual, wanted) ? undefined : { rule, wanted: showJson(wanted), got: showJson(actual) }
}

const words = ['not', 'includes', 'excludes', 'at-most', 'at-least'] as const

const rules: { readonly [rule in 'equals' | (typeof words)[number]]: (actual: unknown, value: unknown) => boolean } = {
  equals: same,
  not: (actual, value) => actual !== undefined && !same(actual, value),
  includes,
  excludes: (actual, value) => (typeof actual === 'string' || Array.isArray(actual)) && !includes(actual, value),
  'at-most': isAtMost,
  'at-least': (actual, value) => isAtMost(value, actual),
}

function mismatchInTime(actual: unknown, inMs: number, time: CallTime): Mismatch | undefined {
  if (typeof actual !== 'number') return { rule: 'in', inMs, got: showJson(actual) }
  const tolerance = roundingMs + time.uncertaintyMs
  const earliest = time.sentAtMs + inMs - tolerance
  const latest = time.answeredAtMs + inMs + tolerance
  if (actual >= earliest && actual <= latest) return undefined
  const isWitnessed = (time.witnesses ?? []).some(
    (witness) => actual >= earliest + witness.earliestMs && actual <= latest + witness.latestMs,
  )
  if (isWitnessed) return undefined
  return { rule: 'in', inMs, got: showJson(actual), offByMs: Math.round(actual - (time.answeredAtMs + inMs)) }
}

/** Compares a value with a JSON Schema; undefined where it fits. */
function mismatchSchema(actual: unknown, schema: unknown): Mismatch | undefined {
  const validate = schemaCheck(schema as object)
  if (validate(actual)) return undefined
  const error = validate.errors?.[0]
  return {
    rule: 'schema',
    wanted: error?.message ?? 'fits the schema',
    place: error?.instancePath ?? '',
    got: error?.keyword === 'required' ? namesOfMembers(actual, error.instancePath) : showJson(actual),
  }
}

const longestNames = 300

/** Where a member is missing, the names of the others tell more than the beginning of their values. */
function namesOfMembers(actual: unknown, place: string): string {
  const at = place
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((value, name) => (value as { [name: string]: unknown })[name], actual)
  const names = Object.keys(at as object).join(', ')
  return `{${names.length > longestNames ? `${names.slice(0, longestNames)}…` : names}}`
}

function same(left: unknown, right: unknown): boolean {
  return left === right || stable(left) === stable(right)
}

/** JSON with sorted members, so that the order of members never decides. */
function stable(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) =>
      isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
    ) ?? 'undefined'
  )
}

function includes(actual: unknown, part: unknown): boolean {
  if (typeof actual === 'string') return actual.includes(String(part))
  return Array.isArray(actual) && actual.some((item) => same(item, part))
}

/** Compares times with a tolerance, because one may be rounded or read a little later; all other values exactly. */
function isAtMost(lower: unknown, upper: unknown): boolean {
  if (typeof lower === 'string') return typeof upper === 'string' && lower <= upper
  if (typeof lower !== 'number' || typeof upper !== 'number') return false
  return lower <= upper + (Math.min(lower, upper) >= firstTimestampMs ? roundingMs : 0)
}

/** Whether a call that must be refused was refused in effect, although its answer is broken. */
type Confirmation =
  | { kind: 'confirmed' }
  | { kind: 'control-failed'; control: AnswerSummary }
  | { kind: 'effect-shown' | 'effect-unknown'; effect: Effect }

/** A request and its answer. */
export interface Delivered {
  answer: Classified
  request: WireRequest
  wire: WireAnswer
  /** On the server's clock. */
  time: CallTime
  /** On our clock, in ms since 1970. */
  ours: { sentAtMs: number; answeredAtMs: number }
  /** How often the server throttled the call. */
  throttled: number
}

/** A call as it is judged. */
export interface Called extends Delivered {
  /** Departures of a successful answer from the response envelope. */
  departures: EnvelopeProblem[]
  /** What a fixture may keep as `sent.*`. */
  sent: { id?: unknown; nonce?: string; timestamp?: string; header?: string; signature?: string; expiry?: number }
  /** The number of a requested `expiresIn:NUMBER`. */
  requestedLifeMs?: number
  /** Set after a broken answer to a call that must be refused: whether the call was refused in effect. */
  confirmation?: Confirmation
  /** For a call of a race: its round, from 0, and its connections. */
  race?: { round: number; connections: 'new' | 'warm' }
  /** The step of the same case that created the key with which it is made. */
  keyMadeBy?: string
  /** When the token expires that the call uses or renews, if its grant reported that. */
  tokenExpiryMs?: number
}

type Side = 'accepted' | 'refused'

/**
 * `held`: the sides that were shown. `broke`: what did not hold. `undecided`: the answer proves nothing, for example because it was
 * throttled to the end.
 */
type Judgement =
  | { kind: 'held'; sides: Side[] }
  | { kind: 'broke'; problem: Failure; called: Called }
  | { kind: 'undecided'; problem: Obstacle; called: Called }

/** The named result schemas that `accepted: <schema>` may refer to. */
type Schemas = { [name: string]: unknown }

/** The object in which the paths of `where` and `keep` are looked up. */
export function readable(called: Called): { [part: string]: unknown } {
  const { answer, sent } = called
  const common = { status: answer.status, headers: answer.headers, sent }
  if (answer.outcome === 'accepted') return { ...common, result: answer.result }
  return answer.outcome === 'refused' ? { ...common, error: answer.error } : common
}

/** Judges all answers of a step; undefined for a step that expects nothing. */
function judgeAnswers(
  step: CallStep | SendStep,
  calls: Called[],
  names: Names,
  schemas: Schemas,
): Judgement | undefined {
  const { tally, expect } = step
  if (tally !== undefined) {
    // Every round of a race by itself; calls that did not race are one round.
    return together(groupBy(calls, ({ race }) => race?.round).values(), (round) => judgeTally(round, tally))
  }
  if (expect === undefined) return undefined
  return together(calls, (called) => judgeAnswer(called, expect, names, schemas))
}

/** The sides that all of them show; the first that did not hold. */
function together<Item>(items: Iterable<Item>, judge: (item: Item) => Judgement): Judgement {
  const sides = new Set<Side>()
  for (const item of items) {
    const judgement = judge(item)
    if (judgement.kind !== 'held') return judgement
    for (const side of judgement.sides) sides.add(side)
  }
  return held(...sides)
}

function judgeAnswer(called: Called, expect: Expect, names: Names, schemas: Schemas): Judgement {
  const { answer } = called
  const unclear = judgeUnclear(called)
  if (unclear !== undefined) return unclear
  const mayBeRefused = expect !== 'accepted' && (expect === 'refused' || 'refused-or' in expect)
  if (mayBeRefused && answer.outcome === 'refused') return held('refused')
  if (mayBeRefused && answer.outcome === 'broken') return judgeBroken(called)
  if (answer.outcome !== 'accepted' || expect === 'refused') {
    const expected = expect === 'refused' ? 'refused' : mayBeRefused ? 'refused or accepted' : 'accepted'
    return broke(called, { kind: 'wrong-outcome', expected, got: summarizeAnswer(answer) })
  }
  if (expect === 'accepted') return held('accepted')
  const wanted = 'refused-or' in expect ? expect['refused-or'] : expect
  const wrong = wrongResult(called, wanted, names, schemas)
  return wrong === undefined ? held('accepted') : broke(called, wrong)
}

/** Judges an answer that proves nothing; undefined for any other. */
function judgeUnclear(called: Called): Judgement | undefined {
  const { answer } = called
  if (answer.outcome === 'throttled') return undecided(called, { kind: 'throttled', status: answer.status })
  return answer.outcome === 'unread' ? undecided(called, { kind: 'unread', limitBytes: answer.limitBytes }) : undefined
}

/**
 * Judges a broken answer to a call that must be refused. It counts as a refusal if a control right after it was accepted and the
 * call had no effect.
 */
function judgeBroken(called: Called): Judgement {
  const got = summarizeAnswer(called.answer)
  const { confirmation } = called
  switch (confirmation?.kind) {
    case 'confirmed':
      return held('refused')
    case 'effect-shown':
      return broke(called, { ...confirmation, kind: 'effect-shown', got })
    case 'effect-unknown':
      return undecided(called, { ...confirmation, kind: 'effect-unknown', got })
    case 'control-failed':
      return undecided(called, { kind: 'control-after-broken', got, control: confirmation.control })
    case undefined:
      return broke(called, { kind: 'wrong-outcome', expected: 'refused', got })
  }
}

function wrongResult(
  called: Called,
  wanted: { accepted?: string | null; where?: Where },
  names: Names,
  schemas: Schemas,
): Failure | undefined {
  const source = readable(called)
  if (typeof wanted.accepted === 'string') {
    const wrong = mismatchSchema(source.result, schemas[wanted.accepted])
    if (wrong !== undefined) return { kind: 'wrong-value', path: 'result', mismatch: wrong }
  }
  for (const [path, matcher] of Object.entries(wanted.where ?? {})) {
    const wrong = mismatch(valueAt(source, path), resolve(matcher, names), called.time)
    if (wrong !== undefined) return { kind: 'wrong-value', path, mismatch: wrong }
  }
  return undefined
}

/** Judges several answers of one step by how many were accepted and refused. */
function judgeTally(calls: Called[], tally: Tally): Judgement {
  const unclear = calls.map(judgeUnclear).find((one) => one !== undefined)
  if (unclear !== undefined) return unclear
  if (isEnough(calls, tally)) return held('accepted')
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const judgements = broken.map(judgeBroken)
  const letIn = judgements.find(({ kind }) => kind === 'broke')
  if (letIn !== undefined) return judgeUnanswered(calls, broken) ?? letIn
  const unknown = broken.filter((_called, index) => judgements[index]?.kind === 'undecided')
  const accepted = calls.filter(({ answer }) => answer.outcome === 'accepted')
  const refused = calls.filter((called) => !accepted.includes(called) && !unknown.includes(called))
  const counted = { accepted, refused }
  const asked = (['accepted', 'refused'] as const).filter((side) => tally[side] !== undefined)
  for (const side of asked) {
    const wanted = tally[side] ?? 0
    const { length } = counted[side]
    if (fits(length, wanted)) continue
    const undecided = judgeMissing({ calls, broken, unknown, refused: refused.length }, side, length, wanted)
    if (undecided !== undefined) return undecided
    const example = (isAbove(length, wanted) === (side === 'accepted') ? accepted[0] : refused[0]) ?? calls[0]
    if (example !== undefined) return broke(example, wrongCount(calls, side, length, wanted))
  }
  return held(...asked.filter((side) => counted[side].length > 0))
}

/** Whether enough calls were accepted, so that the others do not matter, answered or not. */
function isEnough(calls: Called[], { accepted, refused }: Tally): boolean {
  const count = calls.filter(({ answer }) => answer.outcome === 'accepted').length
  return refused === undefined && String(accepted).startsWith('at-least') && fits(count, accepted ?? 0)
}

/** Of calls in turn, how many that were refused are named by their places. */
const shownPlaces = 4

function wrongCount(calls: Called[], side: Side, counted: number, wanted: number | string): Failure {
  const race = calls[0]?.race
  const common = { kind: 'wrong-count', side, wanted, calls: calls.length, counted } as const
  const refusedAt = calls.flatMap(({ answer }, index) => (answer.outcome === 'refused' ? [index + 1] : []))
  const isTelling = side === 'accepted' && refusedAt.length > 0 && refusedAt.length <= shownPlaces
  const makers = makersOf(calls, side)
  if (race === undefined && makers.length > 1) return { ...common, makers }
  if (race === undefined) return isTelling ? { ...common, refusedAt } : common
  return { ...common, round: race.round + 1, connections: race.connections }
}

/** How many of the keys whose calls were accepted, or refused, each step of the case created; no title: those from before. */
function makersOf(calls: readonly Called[], side: Side): { title?: string; keys: number }[] {
  const counted = calls.filter(({ answer }) => answer.outcome === side)
  return [...groupBy(counted, ({ keyMadeBy }) => keyMadeBy)].map(([title, { length: keys }]) =>
    title === undefined ? { keys } : { title, keys },
  )
}

const isAbove = (counted: number, wanted: number | string): boolean =>
  counted > Number(/\d+$/.exec(String(wanted))?.[0])

/** Judges a wrong count when some calls were not answered. Those prove nothing, or are a failure by themselves. */
function judgeMissing(
  { calls, broken, unknown, refused }: { calls: Called[]; broken: Called[]; unknown: Called[]; refused: number },
  side: Side,
  counted: number,
  wanted: number | string,
): Judgement | undefined {
  if (isAbove(counted, wanted)) return side === 'refused' && refused > 0 ? judgeUnanswered(calls, broken) : undefined
  const [first] = unknown
  if (first !== undefined && canFit(counted, unknown.length, wanted)) return judgeBroken(first)
  return side === 'accepted' ? judgeUnanswered(calls, broken) : undefined
}

const canFit = (counted: number, more: number, wanted: number | string): boolean =>
  Array.from({ length: more + 1 }, (_nothing, added) => counted + added).some((count) => fits(count, wanted))

/**
 * Judges broken answers when acceptances are missing: dropped connections in a race prove nothing, every other broken answer is a failure.
 */
function judgeUnanswered(calls: Called[], broken: Called[]): Judgement | undefined {
  const [example] = broken
  if (example === undefined) return undefined
  const dropped = broken.filter(({ answer, race }) => answer.status === null && race !== undefined)
  const answered = broken.find((called) => !dropped.includes(called))
  if (answered === undefined)
    return undecided(example, { kind: 'calls-dropped', calls: calls.length, dropped: dropped.length })
  return broke(answered, { kind: 'call-not-answered', calls: calls.length, got: summarizeAnswer(answered.answer) })
}

function fits(count: number, wanted: number | string): boolean {
  const [, bound, number] = /^(at-most|at-least)? ?(\d+)$/.exec(String(wanted)) ?? []
  if (bound === 'at-most') return count <= Number(number)
  if (bound === 'at-least') return count >= Number(number)
  return count === Number(number)
}

const held = (...sides: Side[]): Judgement => ({ kind: 'held', sides })

const broke = (called: Called, problem: Failure): Judgement => ({ kind: 'broke', problem, called })

const undecided = (called: Called, problem: Obstacle): Judgement => ({ kind: 'undecided', problem, called })
