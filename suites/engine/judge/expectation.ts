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
  if (answer.outcome === 'throttled') return throttled(called, answer.status)
  const mayBeRefused = expect !== 'accepted' && (expect === 'refused' || 'refused-or' in expect)
  if (mayBeRefused && answer.outcome === 'refused') return { kind: 'held', sides: ['refused'] }
  if (answer.outcome !== 'accepted' || expect === 'refused') {
    const expected = expect === 'refused' ? 'refused' : mayBeRefused ? 'refused or accepted' : 'accepted'
    return broke(called, { kind: 'wrong-outcome', expected, got: summarizeAnswer(answer) })
  }
  if (expect === 'accepted') return { kind: 'held', sides: ['accepted'] }
  const wanted = 'refused-or' in expect ? expect['refused-or'] : expect
  const wrong = wrongResult(called, { accepted: wanted.accepted ?? undefined, where: wanted.where }, names, schemas)
  return wrong === undefined ? { kind: 'held', sides: ['accepted'] } : broke(called, wrong)
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
  const count = (outcome: string): number => calls.filter(({ answer }) => answer.outcome === outcome).length
  const first = (outcome: string): Called | undefined => calls.find(({ answer }) => answer.outcome === outcome)
  const waiting = first('throttled')
  if (waiting !== undefined) return throttled(waiting, waiting.answer.status ?? 0)
  const broken = first('broken')
  if (broken !== undefined) {
    return broke(broken, { kind: 'call-not-answered', calls: calls.length, got: summarizeAnswer(broken.answer) })
  }
  for (const side of ['accepted', 'refused'] as const) {
    const wanted = tally[side]
    const counted = count(side)
    if (wanted === undefined || fits(counted, wanted)) continue
    const tooMany = counted > Number(/\d+$/.exec(String(wanted))?.[0])
    const example = (tooMany ? first(side) : first(side === 'accepted' ? 'refused' : 'accepted')) ?? calls[0]
    if (example !== undefined)
      return broke(example, { kind: 'wrong-count', side, wanted, calls: calls.length, counted })
  }
  const sides = (['accepted', 'refused'] as const).filter((side) => tally[side] !== undefined && count(side) > 0)
  return { kind: 'held', sides }
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

function throttled(called: Called, status: number): Judgement {
  return { kind: 'undecided', problem: { kind: 'throttled', status }, called }
}
