/** Judges a step: it held, or the case ends there. Every ending of a step is decided here. */

import type { CallStep, SendStep } from '../language/fixture-types.ts'
import { type Names, resolve } from '../language/resolve.ts'
import type { WireRequest } from '../target.ts'
import type { Called } from './called.ts'
import { envelopeRequirements } from './envelope.ts'
import { type Judgement, judgeAnswers, type Schemas, type Side } from './expectation.ts'
import { endOfTimestampsMs, firstTimestampMs, roundingMs } from './margins.ts'
import type { Failure, LostPreparation, ProblemFacts, RefusalJudgement } from './problem.ts'
import { showJson } from './show-json.ts'

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
