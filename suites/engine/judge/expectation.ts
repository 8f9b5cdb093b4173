/** Whether the answers of a step are what it expects. */

import type { CallStep, Expect, SendStep, Tally, Where } from '../language/fixture-types.ts'
import { type Names, resolve, valueAt } from '../language/resolve.ts'
import type { Called } from './called.ts'
import { summarizeAnswer } from './classify.ts'
import { mismatch, mismatchSchema } from './match.ts'
import type { Failure, Obstacle } from './problem.ts'

export type Side = 'accepted' | 'refused'

/**
 * `held`: the sides that were shown. `broke`: what did not hold. `undecided`: the answer proves nothing, for example because it was
 * throttled to the end.
 */
export type Judgement =
  | { kind: 'held'; sides: Side[] }
  | { kind: 'broke'; problem: Failure; called: Called }
  | { kind: 'undecided'; problem: Obstacle; called: Called }

/** The named result schemas that `accepted: <schema>` may refer to. */
export type Schemas = { [name: string]: unknown }

/** The object in which the paths of `where` and `keep` are looked up. */
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
  if (step.tally !== undefined) return judgeRounds(calls, step.tally)
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
  if (mayBeRefused && answer.outcome === 'broken') return judgeBroken(called)
  if (answer.outcome !== 'accepted' || expect === 'refused') {
    const expected = expect === 'refused' ? 'refused' : mayBeRefused ? 'refused or accepted' : 'accepted'
    return broke(called, { kind: 'wrong-outcome', expected, got: summarizeAnswer(answer) })
  }
  if (expect === 'accepted') return { kind: 'held', sides: ['accepted'] }
  const wanted = 'refused-or' in expect ? expect['refused-or'] : expect
  const wrong = wrongResult(called, { accepted: wanted.accepted ?? undefined, where: wanted.where }, names, schemas)
  return wrong === undefined ? { kind: 'held', sides: ['accepted'] } : broke(called, wrong)
}

/** Judges an answer that proves nothing; undefined for any other. */
function judgeUnclear(called: Called): Judgement | undefined {
  const { answer } = called
  if (answer.outcome === 'throttled') {
    return { kind: 'undecided', problem: { kind: 'throttled', status: answer.status }, called }
  }
  if (answer.outcome !== 'unread') return undefined
  return { kind: 'undecided', problem: { kind: 'unread', limitBytes: answer.limitBytes }, called }
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
      return { kind: 'held', sides: ['refused'] }
    case 'effect-shown':
      return broke(called, { kind: 'effect-shown', effect: confirmation.effect, got })
    case 'effect-unknown':
      return { kind: 'undecided', problem: { kind: 'effect-unknown', effect: confirmation.effect, got }, called }
    case 'control-failed':
      return {
        kind: 'undecided',
        problem: { kind: 'control-after-broken', got, control: confirmation.control },
        called,
      }
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
    const wrong = mismatch(valueAt(source, path), resolve(matcher, names), called.time)
    if (wrong !== undefined) return { kind: 'wrong-value', path, mismatch: wrong }
  }
  return undefined
}

/** Judges every round of calls by itself; calls that did not race are one round. */
function judgeRounds(calls: Called[], tally: Tally): Judgement {
  const sides = new Set<Side>()
  for (const round of new Set(calls.map(({ race }) => race?.round))) {
    const judgement = judgeTally(
      calls.filter(({ race }) => race?.round === round),
      tally,
    )
    if (judgement.kind !== 'held') return judgement
    for (const side of judgement.sides) sides.add(side)
  }
  return { kind: 'held', sides: [...sides] }
}

/** Judges several answers of one step by how many were accepted and refused. */
function judgeTally(calls: Called[], tally: Tally): Judgement {
  for (const called of calls) {
    const unclear = judgeUnclear(called)
    if (unclear !== undefined) return unclear
  }
  if (isEnough(calls, tally)) return { kind: 'held', sides: ['accepted'] }
  const broken = calls.filter(({ answer }) => answer.outcome === 'broken')
  const judgements = broken.map(judgeBroken)
  const letIn = judgements.find(({ kind }) => kind === 'broke')
  if (letIn !== undefined) return judgeUnanswered(calls, broken) ?? letIn
  const accepted = calls.filter(({ answer }) => answer.outcome === 'accepted')
  const unknown = broken.filter((_called, index) => judgements[index]?.kind === 'undecided')
  const refused = calls.filter((called) => !accepted.includes(called) && !unknown.includes(called))
  for (const side of ['accepted', 'refused'] as const) {
    const wanted = tally[side]
    const counted = side === 'accepted' ? accepted.length : refused.length
    if (wanted === undefined || fits(counted, wanted)) continue
    const undecided = judgeMissing({ calls, broken, unknown, refused: refused.length }, side, counted, wanted)
    if (undecided !== undefined) return undecided
    const example = (isAbove(counted, wanted) === (side === 'accepted') ? accepted[0] : refused[0]) ?? calls[0]
    if (example !== undefined) return broke(example, wrongCount(calls, side, counted, wanted))
  }
  const sides = (['accepted', 'refused'] as const).filter(
    (side) => tally[side] !== undefined && (side === 'accepted' ? accepted : refused).length > 0,
  )
  return { kind: 'held', sides }
}

/** Whether enough calls were accepted, so that the others do not matter, answered or not. */
function isEnough(calls: Called[], { accepted, refused }: Tally): boolean {
  const count = calls.filter(({ answer }) => answer.outcome === 'accepted').length
  return refused === undefined && String(accepted).startsWith('at-least') && fits(count, accepted ?? 0)
}

function wrongCount(calls: Called[], side: Side, counted: number, wanted: number | string): Failure {
  const race = calls[0]?.race
  const common = { kind: 'wrong-count', side, wanted, calls: calls.length, counted } as const
  return race === undefined ? common : { ...common, round: race.round + 1, connections: race.connections }
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
  if (answered === undefined) {
    const problem = { kind: 'calls-dropped', calls: calls.length, dropped: dropped.length } as const
    return { kind: 'undecided', problem, called: example }
  }
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
