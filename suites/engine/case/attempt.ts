import { SuiteError } from '../errors.ts'
import type { CallStep, Case, Scenario, SendStep, Step } from '../fixture/model.ts'
import { withCase } from '../fixture/references.ts'
import { type Judgement, judge, judgeTally, readable, type Schemas, type Side } from '../judge/judge-step.ts'
import { valueAt } from '../judge/match.ts'
import type { CaseOutcome, EnvelopeNote } from '../judge/outcome.ts'
import type { Called } from './call.ts'
import type { Client } from './client.ts'
import { observation } from './observe.ts'
import { hasRounds, perform } from './perform-step.ts'
import { type Names, resolve, UnresolvedReference, UnusableValue } from './references.ts'
import type { CredentialKind } from './target-facts.ts'
import { allProves } from './test-case.ts'
import { askedTooMuch, atItsEnd, tooLate, waitStep, whyClockUnknown } from './timing.ts'
import type { Wait } from './wait.ts'

/** What ended a case at a step before its last one, or a warning on the way. */
export interface CaseStop {
  kind: 'broke' | 'blocked' | 'not-testable' | 'too-late' | 'token-ended'
  step: Step
  message: string
  /** The calls to show. */
  called: Called[]
  /** The requirements that the step was to prove; none for a preparation. */
  proves: string[]
}

/** What one try of a case showed. */
export interface Attempt {
  /** Sides of each requirement that held. */
  sides: Map<string, Set<Side>>
  /** Requirements whose last step did not come to be judged. */
  unreached: Set<string>
  stops: CaseStop[]
  observations: CaseOutcome['observations']
  envelope: { requirement: EnvelopeNote['requirement']; message: string; called: Called }[]
  envelopeAnswers: number
  /** Judged acceptances outside the preparations, to be held against the gates. */
  acceptances: { method: string; kind: CredentialKind }[]
  /** Methods on which a refusal held. */
  refusedMethods: Set<string>
  /** What a `refused-or` that was refused would have kept: later steps that name it have nothing to ask. */
  notGiven: Set<string>
  throttled: boolean
  /** Every call, in order. */
  calls: Called[]
}

export function emptyAttempt(): Attempt {
  return {
    sides: new Map(),
    unreached: new Set(),
    stops: [],
    observations: [],
    envelope: [],
    envelopeAnswers: 0,
    acceptances: [],
    refusedMethods: new Set(),
    notGiven: new Set(),
    throttled: false,
    calls: [],
  }
}

/** Runs the given and then the steps of a case, in order, until something ends it. */
export async function attemptCase(
  client: Client,
  scenario: Scenario,
  testCase: Case,
  names: Names,
  schemas: Schemas,
  isMust: (requirement: string) => boolean,
): Promise<Attempt> {
  const attempt = emptyAttempt()
  const caseProves = testCase.proves ?? scenario.proves
  // A preparation is the control of everything that the case is to show.
  const everything = allProves(scenario, testCase)
  const all = [
    ...scenario.given.map((step) => ({ step: withCase(step, testCase.values), given: true })),
    ...scenario.steps.map((step) => ({ step: withCase(step, testCase.values), given: false })),
  ]
  for (const [index, { step, given }] of all.entries()) {
    const proves = step.proves ?? caseProves
    const stop = await takeStep(client, step, given, given ? everything : proves, names, schemas, attempt)
    if (stop === undefined) continue
    attempt.stops.push(stop)
    // A warning ends nothing: what comes after it can still be judged.
    const goesOn = stop.kind === 'broke' && !stop.proves.some(isMust)
    if (goesOn) continue
    // What was asked and not judged is as open as what comes after it.
    for (const { step: later, given: laterGiven } of all.slice(stop.kind === 'broke' ? index + 1 : index)) {
      if (!laterGiven && isJudged(later)) for (const id of later.proves ?? caseProves) attempt.unreached.add(id)
    }
    if (given && stop.kind !== 'broke') for (const id of everything) attempt.unreached.add(id)
    break
  }
  return attempt
}

const isJudged = (step: Step): boolean => !('wait' in step) && (step.expect !== undefined || step.tally !== undefined)

async function takeStep(
  client: Client,
  step: Step,
  given: boolean,
  proves: string[],
  names: Names,
  schemas: Schemas,
  attempt: Attempt,
): Promise<CaseStop | undefined> {
  const stop = (kind: CaseStop['kind'], message: string, called: Called[] = []): CaseStop => ({
    kind,
    step,
    message,
    called,
    proves: kind === 'broke' ? proves : [],
  })
  const { reason } = client.run.stopping
  if (reason !== null) return stop('blocked', `not run: ${reason.message}`)
  try {
    if ('wait' in step) {
      const problem = await waitStep(client, resolve(step.wait, names) as Wait)
      return problem === undefined ? undefined : stop(problem.kind, problem.message)
    }
    const calls = await perform(client, step, names)
    attempt.calls.push(...calls)
    attempt.throttled ||= calls.some(({ throttled }) => throttled > 0)
    keepValues(step, calls, names)
    noteEnvelope(calls, proves, attempt)
    if (calls.length === 0) return isJudged(step) ? stop('not-testable', nothingToAsk(step)) : undefined
    if (step.observe !== undefined) {
      attempt.observations.push({
        question: step.observe,
        answer: observation(step, calls, names),
        ...(step.step === undefined ? {} : { step: step.step }),
      })
      return undefined
    }
    const clockless = whyClockUnknown(client, step)
    if (clockless !== undefined) return stop('not-testable', clockless)
    const judgement = judgeCalls(step, calls, names, schemas)
    if (judgement === undefined) return undefined
    if (judgement.kind === 'undecided') return stop('blocked', judgement.message, [judgement.called])
    const late = tooLate(step, calls, names)
    if (late !== undefined) return stop(late.kind, late.message, calls.slice(-1))
    if (judgement.kind === 'broke') {
      const tooMuch = askedTooMuch(client, step, judgement.called)
      if (tooMuch !== undefined) return stop('not-testable', tooMuch, [judgement.called])
      const ended = atItsEnd(step, calls)
      if (ended !== undefined) return stop('token-ended', ended, [judgement.called])
      if (!given) return stop('broke', judgement.message, [judgement.called])
      const { outcome } = judgement.called.answer
      const reason =
        outcome === 'refused' ? step['if-refused'] : outcome === 'accepted' ? step['if-accepted'] : undefined
      return reason !== undefined
        ? stop('not-testable', reason, [judgement.called])
        : stop('blocked', `preparation: ${judgement.message}`, [judgement.called])
    }
    const wrong = given ? undefined : ownEnvelope(calls, proves)
    if (wrong !== undefined) return stop('broke', wrong.message, [wrong.called])
    noteHeld(step, given, proves, judgement.sides, attempt)
    noteNotGiven(step, judgement.sides, attempt)
    const control = rootControl(step)
    if (control !== undefined && judgement.sides.includes('accepted')) client.run.acceptedControls.add(control)
    return undefined
  } catch (error) {
    if (error instanceof UnresolvedReference) {
      const [name = ''] = error.reference.slice(1).split('.')
      return attempt.notGiven.has(name) ? undefined : stop('blocked', error.message)
    }
    if (error instanceof UnusableValue) return stop('blocked', error.message)
    // A mistake that is none against this target: its scheme word may be in capitals already.
    if (error instanceof SuiteError && error.code === 'fixture') return stop('not-testable', error.message)
    throw error
  }
}

/** Which ordinary call of the root key a step makes, if it is one: the sign by which a lock-out is noticed. */
function rootControl(step: Step): 'basic' | 'hmac' | undefined {
  if (!('call' in step) || step.call !== 'solution/listSolutions' || typeof step.auth !== 'object') return undefined
  if ('but' in step.auth) return undefined
  if ('basic' in step.auth && step.auth.basic === 'root') return 'basic'
  return 'hmac' in step.auth && step.auth.hmac === 'root' ? 'hmac' : undefined
}

function judgeCalls(step: CallStep | SendStep, calls: Called[], names: Names, schemas: Schemas): Judgement | undefined {
  if (step.tally !== undefined) return judgeTally(calls, step.tally)
  if (step.expect === undefined) return undefined
  const sides = new Set<Side>()
  for (const called of calls) {
    const judgement = judge(called, step.expect, names, schemas)
    if (judgement.kind !== 'held') return judgement
    for (const side of judgement.sides) sides.add(side)
  }
  return { kind: 'held', sides: [...sides] }
}

/** A judgement about no call at all would hold whatever the target does. */
function nothingToAsk(step: CallStep | SendStep): string {
  return `there is nothing to ask: "${step.for}" is empty`
}

function noteNotGiven(step: CallStep | SendStep, sides: Side[], attempt: Attempt): void {
  if (typeof step.expect !== 'object' || !('refused-or' in step.expect) || !sides.includes('refused')) return
  for (const name of Object.keys(step.keep ?? {})) attempt.notGiven.add(name)
}

function keepValues(step: CallStep | SendStep, calls: Called[], names: Names): void {
  const several = hasRounds(step)
  for (const [name, path] of Object.entries(step.keep ?? {})) {
    const values = calls.map((called) => valueAt(readable(called), path)).filter((value) => value !== undefined)
    names[name] = several ? values : values[0]
  }
}

function noteEnvelope(calls: Called[], proves: string[], attempt: Attempt): void {
  for (const called of calls) {
    if (called.answer.outcome === 'accepted') attempt.envelopeAnswers += 1
    for (const note of called.notes) {
      // A case that is about this very requirement fails by itself.
      if (!proves.includes(note.requirement)) attempt.envelope.push({ ...note, called })
    }
  }
}

function ownEnvelope(calls: Called[], proves: string[]): { message: string; called: Called } | undefined {
  for (const called of calls) {
    const note = called.notes.find(({ requirement }) => proves.includes(requirement))
    if (note !== undefined) return { message: note.message, called }
  }
  return undefined
}

function noteHeld(step: CallStep | SendStep, given: boolean, proves: string[], sides: Side[], attempt: Attempt): void {
  for (const id of proves) {
    const shown = attempt.sides.get(id) ?? new Set()
    for (const side of sides) shown.add(side)
    attempt.sides.set(id, shown)
  }
  if (given || 'send' in step) return
  if (sides.includes('refused')) attempt.refusedMethods.add(step.call)
  if (sides.includes('accepted')) attempt.acceptances.push({ method: step.call, kind: gateKindOf(step) })
}

function gateKindOf(step: CallStep): CredentialKind {
  const { auth, params } = step
  if (step.call === 'manager/auth') {
    const grant = typeof params === 'object' && params !== null && 'grantType' in params ? params.grantType : undefined
    return grant === 'refresh_token' ? 'refresh' : 'credentials'
  }
  if (auth === 'none' || 'header' in auth) return 'none'
  if ('basic' in auth) return 'basic'
  if ('token' in auth) return 'token'
  return 'ecc' in auth ? 'ecc' : 'hmac'
}
