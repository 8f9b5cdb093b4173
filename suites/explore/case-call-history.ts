/** Calls of cases at the same time: is there an order of them that the document allows? */
import { explain } from '../engine/model/explain.ts'
import { facts } from '../engine/model/facts.ts'
import { judge } from '../engine/model/judge.ts'
import { learn } from '../engine/model/learn.ts'
import { readBody } from '../engine/model/parse.ts'
import type { State, Verdict } from '../engine/model/state.ts'
import type { CaseCall } from './case-call.ts'
import { conflict } from './case-call-state.ts'
import { describeCaseCall } from './describe-case-call.ts'
import { notAllowed } from './describe-step.ts'

/** More calls that depend on each other, or more orders of them, are not tried. */
const longestHistory = 40
const mostOrders = 300

/** Whether their order does not matter. */
export function isIndependent(state: State, calls: readonly CaseCall[]): boolean {
  if (calls.length > longestHistory) return false
  return calls.every((one, at) => calls.slice(at + 1).every((other) => !conflict(state, one, other)))
}

export function explainCaseCalls(state: State, calls: readonly CaseCall[]): ReturnType<typeof explain> {
  if (calls.length > longestHistory) return { is: 'undecided' }
  const likeOf = ({ call, answer }: CaseCall): string =>
    `${readBody(call.body).form} ${call.authorization} ${answer.kind}`
  return explain(
    state,
    calls.map((one) => ({ ...one, like: likeOf(one) })),
    mostOrders,
  )
}

interface WronglyAccepted {
  readonly caseCall: CaseCall
  readonly verdict: Verdict & { readonly message: string }
}

/** The call of a history that must not have been accepted. A lock or a limit may explain a refusal, so only what was accepted counts. */
export function wronglyAccepted(before: State, calls: readonly CaseCall[]): WronglyAccepted | undefined {
  const accepted = calls.filter(({ answer }) => answer.kind === 'accepted')
  const found = explainCaseCalls(before, accepted)
  if (found.is !== 'impossible') return undefined
  let state = before
  for (const caseCall of found.part.flatMap((index) => accepted[index] ?? [])) {
    const verdict = judge(state, facts(state, caseCall.call, caseCall.span))
    if (verdict.is === 'refused') {
      const message = `${describeCaseCall(state, caseCall)} was accepted: ${notAllowed(found.part.length)}`
      return { caseCall, verdict: { ...verdict, message } }
    }
    state = learn(state, caseCall.call, caseCall.answer, caseCall.span)
  }
  return undefined
}
