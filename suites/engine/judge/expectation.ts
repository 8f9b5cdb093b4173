/** Whether the answers of a step are what it expects. */
import type { Called } from '../case/call.ts'
import { type Names, resolve } from '../case/references.ts'
import type { CallStep, Expect, SendStep, Tally, Where } from '../fixture/model.ts'
import { summarizeAnswer } from './classify.ts'
import { mismatch, mismatchSchema, valueAt } from './match.ts'
import type { Failure, Obstacle } from './problem.ts'

export type Side = 'accepted' | 'refused'

/** `held` with the sides that it showed, or what did not hold. `undecided`: the answer says nothing, because it was throttled to the end. */
export type Judgement =
  | { kind: 'held'; sides: Side[] }
  | { kind: 'broke'; problem: Failure; called: Called }
  | { kind: 'undecided'; problem: Obstacle; called: Called }

/** The named result schemas that `accepted: <schema>` may refer to. */
export type Schemas = { [name: string]: unknown }

/** What a path of `where` and `keep` is read from. */
export function readable(called: Called): { [part: string]: unknown } {
  const { answer, sent } = called
  const common = { status: answer.status, headers: answer.headers, sent }
  if (answer.outcome === 'accepted') return { ...common, result: answer.result }
  return answer.outcome === 'refused' ? { ...common, error: answer.error } : common
}

/** Judges all answers of a step; undefined for a step that expects nothing. */
export function judgeAnswers(
  step: CallStep | SendStep,
  calls: Called[],
  names: Names,
  schemas: Schemas,
): Judgement | undefined {
  if (step.tally !== undefined) return judgeTally(calls, step.tally)
  if (step.expect === undefined) return undefined
  const sides = new Set<Side>()
  for (const called of calls) {
    const judgement = judgeAnswer(called, step.expect, names, schemas)
    if (judgement.kind !== 'held') return judgement
    for (const side of judgement.sides) sides.add(side)
  }
  return { kind: 'held', sides: [...sides] }
}

function judgeAnswer(called: Called, expect: Expect, names: Names, schemas: Schemas): Judgement {
  const { answer } = called
  const unclear = judgeUnclear(called)
  if (unclear !== undefined) return unclear
  const mayBeRefused = expect !== 'accepted' && (expect === 'refused' || 'refused-or' in expect)
  if (mayBeRefused && answer.outcome === 'refused') return { kind: 'held', sides: ['refused'] }
  if (mayBeRefused && answer.outcome === 'broken') return judgeKeptOut(called)
  if (answer.outcome !== 'accepted' || expect === 'refused') {
    const expected = expect === 'refused' ? 'refused' : mayBeRefused ? 'refused or accepted' : 'accepted'
    return broke(called, { kind: 'wrong-outcome', expected, got: summarizeAnswer(answer) })
  }
  if (expect === 'accepted') return { kind: 'held', sides: ['accepted'] }
  const wanted = 'refused-or' in expect ? expect['refused-or'] : expect
  const wrong = wrongResult(called, { accepted: wanted.accepted ?? undefined, where: wanted.where }, names, schemas)
  return wrong === undefined ? { kind: 'held', sides: ['accepted'] } : broke(called, wrong)
}

/** An answer from which nothing follows. */
function judgeUnclear(called: Called): Judgement | undefined {
  const { answer } = called
  if (answer.outcome === 'throttled') {
    return { kind: 'undecided', problem: { kind: 'throttled', status: answer.status }, called }
  }
  if (answer.outcome !== 'unread') return undefined
  return { kind: 'undecided', problem: { kind: 'unread', limitBytes: answer.limitBytes }, called }
}

/**
 * A broken answer to a call that must be refused. The caller was kept out if a control right after it was accepted and no effect of the
 * call is there.
 */
function judgeKeptOut(called: Called): Judgement {
  const got = summarizeAnswer(called.answer)
  const { keptOut } = called
  switch (keptOut?.kind) {
    case 'yes':
      return { kind: 'held', sides: ['refused'] }
    case 'effect-shown':
      return broke(called, { kind: 'effect-shown', effect: keptOut.effect, got })
    case 'effect-unknown':
      return { kind: 'undecided', problem: { kind: 'effect-unknown', effect: keptOut.effect, got }, called }
    case 'control-failed':
      return { kind: 'undecided', problem: { kind: 'control-after-broken', got, control: keptOut.control }, called }
    case undefined:
      return broke(called, { kind: 'wrong-outcome', expected: 'refused', got })
  }
}

function wrongResult(
  called: Called,
  wanted: { accepted: string | undefined; where: Where | undefined },
  names: Names,
  schemas: Schemas,
): Failure | undefined {
  const source = readable(called)
  if (wanted.accepted !== undefined) {
    const wrong = mismatchSchema(source.result, schemas[wanted.accepted])
    if (wrong !== undefined) return { kind: 'wrong-value', path: 'result', mismatch: wrong }
  }
  for (const [path, matcher] of Object.entries(wanted.where ?? {})) {
    const wrong = mismatch(valueAt(source, path), resolve(matcher, names), called.moment)
    if (wrong !== undefined) return { kind: 'wrong-value', path, mismatch: wrong }
  }
  return undefined
}

/** Judges several answers of one step by how many were accepted and refused. */
export function judgeTally(calls: Called[], tally: Tally): Judgement {
  for (const called of calls) {
    const unclear = judgeUnclear(called)
    if (unclear !== undefined) return unclear
  }
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const keptOut = broken.map(judgeKeptOut)
  const letIn = keptOut.find(({ kind }) => kind === 'broke')
  if (letIn !== undefined) return unansweredInstead(calls, broken, tally) ?? letIn
  const accepted = calls.filter(({ answer }) => answer.outcome === 'accepted')
  const others = calls.filter(({ answer }) => answer.outcome !== 'accepted')
  for (const side of ['accepted', 'refused'] as const) {
    const wanted = tally[side]
    const counted = side === 'accepted' ? accepted.length : others.length
    if (wanted === undefined || fits(counted, wanted)) continue
    // Too few were accepted, or too many refused, and some were never answered.
    if (isMissingAcceptance(side, counted, wanted)) {
      const missing = unansweredInstead(calls, broken, tally)
      if (missing !== undefined) return missing
    }
    const tooMany = counted > Number(/\d+$/.exec(String(wanted))?.[0])
    const example = (tooMany === (side === 'accepted') ? accepted[0] : others[0]) ?? calls[0]
    if (example !== undefined)
      return broke(example, { kind: 'wrong-count', side, wanted, calls: calls.length, counted })
  }
  const undecided = keptOut.find(({ kind }) => kind === 'undecided')
  if (undecided !== undefined && tally.refused !== undefined && tally.refused !== 0) return undecided
  const sides = (['accepted', 'refused'] as const).filter(
    (side) => tally[side] !== undefined && (side === 'accepted' ? accepted : others).length > 0,
  )
  return { kind: 'held', sides }
}

function isMissingAcceptance(side: Side, counted: number, wanted: number | string): boolean {
  const number = Number(/\d+$/.exec(String(wanted))?.[0])
  return side === 'accepted' ? counted < number : counted > number
}

/** Broken answers where acceptances are missing: dropped connections in a race say nothing, every other broken answer is a failure. */
function unansweredInstead(calls: Called[], broken: Called[], tally: Tally): Judgement | undefined {
  const [example] = broken
  if (example === undefined || tally.accepted === undefined) return undefined
  const dropped = broken.filter(({ answer, isRacing }) => answer.status === null && isRacing === true)
  if (dropped.length === broken.length) {
    return {
      kind: 'undecided',
      problem: { kind: 'calls-dropped', calls: calls.length, dropped: dropped.length },
      called: example,
    }
  }
  const answered = broken.find((called) => !dropped.includes(called)) ?? example
  return broke(answered, { kind: 'call-not-answered', calls: calls.length, got: summarizeAnswer(answered.answer) })
}

function fits(count: number, wanted: number | string): boolean {
  const [, bound, number] = /^(at-most|at-least)? ?(\d+)$/.exec(String(wanted)) ?? []
  if (bound === 'at-most') return count <= Number(number)
  if (bound === 'at-least') return count >= Number(number)
  return count === Number(number)
}

function broke(called: Called, problem: Failure): Judgement {
  return { kind: 'broke', problem, called }
}
