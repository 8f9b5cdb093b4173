import type { Called } from '../case/call.ts'
import { type Names, resolve } from '../case/references.ts'
import type { Expect, Tally, Where } from '../fixture/model.ts'
import { describe } from './classify.ts'
import { mismatch, mismatchSchema, valueAt } from './match.ts'

export type Side = 'accepted' | 'refused'

/** `held` with the sides that it showed, or what did not hold. `undecided`: the answer says nothing (throttled for good). */
export type Judgement =
  | { kind: 'held'; sides: Side[] }
  | { kind: 'broke'; message: string; called: Called }
  | { kind: 'undecided'; message: string; called: Called }

/** The named result schemas that `accepted: <schema>` may refer to. */
export type Schemas = { [name: string]: unknown }

/** What a path of `where` and `keep` is read from. */
export function readable(called: Called): { [part: string]: unknown } {
  const { answer, sent } = called
  const common = { status: answer.status, headers: answer.headers, sent }
  if (answer.outcome === 'accepted') return { ...common, result: answer.result }
  return answer.outcome === 'refused' ? { ...common, error: answer.error } : common
}

/** Judges one answer by one expectation. */
export function judge(called: Called, expect: Expect, names: Names, schemas: Schemas): Judgement {
  const { answer } = called
  if (answer.outcome === 'throttled') {
    return { kind: 'undecided', message: `the server kept asking to wait (HTTP ${answer.status})`, called }
  }
  if (expect === 'refused') {
    return answer.outcome === 'refused'
      ? { kind: 'held', sides: ['refused'] }
      : broke(called, `expected the call to be refused, it was ${describe(answer)}`)
  }
  if (expect !== 'accepted' && 'refused-or' in expect && answer.outcome === 'refused') {
    return { kind: 'held', sides: ['refused'] }
  }
  if (answer.outcome !== 'accepted') {
    const wanted = expect !== 'accepted' && 'refused-or' in expect ? 'refused or accepted' : 'accepted'
    return broke(called, `expected the call to be ${wanted}, it was ${describe(answer)}`)
  }
  if (expect === 'accepted') return { kind: 'held', sides: ['accepted'] }
  const inner = 'refused-or' in expect ? expect['refused-or'] : expect
  const wrong = wrongResult(called, inner.accepted ?? undefined, inner.where, names, schemas)
  return wrong === undefined ? { kind: 'held', sides: ['accepted'] } : broke(called, wrong)
}

function wrongResult(
  called: Called,
  schema: string | undefined,
  where: Where | undefined,
  names: Names,
  schemas: Schemas,
): string | undefined {
  const source = readable(called)
  if (schema !== undefined) {
    const wrong = mismatchSchema(source.result, schemas[schema])
    if (wrong !== undefined) return `result: ${wrong}`
  }
  for (const [path, matcher] of Object.entries(where ?? {})) {
    const wrong = mismatch(valueAt(source, path), resolve(matcher, names), called.moment)
    if (wrong !== undefined) return `${path}: ${wrong}`
  }
  return undefined
}

/** Judges several answers of one step by how many were accepted and refused. */
export function judgeTally(calls: Called[], tally: Tally): Judgement {
  const outcomes = calls.map(({ answer }) => answer.outcome)
  const count = (outcome: string): number => outcomes.filter((seen) => seen === outcome).length
  const first = (outcome: string): Called | undefined => calls.find(({ answer }) => answer.outcome === outcome)
  const throttled = first('throttled')
  if (throttled !== undefined) {
    return { kind: 'undecided', message: 'the server kept asking to wait', called: throttled }
  }
  const broken = first('broken')
  if (broken !== undefined) {
    return broke(
      broken,
      `expected every one of ${calls.length} calls to be answered, one was ${describe(broken.answer)}`,
    )
  }
  for (const side of ['accepted', 'refused'] as const) {
    const wanted = tally[side]
    if (wanted === undefined || fits(count(side), wanted)) continue
    const tooMany = count(side) > Number(/\d+$/.exec(String(wanted))?.[0])
    const example = (tooMany ? first(side) : first(side === 'accepted' ? 'refused' : 'accepted')) ?? calls[0]
    const message = `expected ${wanted} of ${calls.length} calls to be ${side}, ${count(side)} were`
    if (example !== undefined) return broke(example, message)
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

function broke(called: Called, message: string): Judgement {
  return { kind: 'broke', message, called }
}
