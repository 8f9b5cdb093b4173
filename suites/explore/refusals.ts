/** Remembers refused calls with what was known before them, so that a case can ask later why one of them was refused. */
import type { RefusalJudgement } from '../engine/judge/problem.ts'
import { presentedToken } from '../engine/model/learn.ts'
import { isObject, readBody } from '../engine/model/parse.ts'
import type { Call, State } from '../engine/model/state.ts'
import type { WireRequest } from '../engine/target.ts'
import { attemptedKey } from './attempted-key.ts'
import type { CaseCall } from './case-call.ts'
import { doubtAboutKey, doubtAboutPair } from './doubt.ts'
import { longestToken, lostPreparation, pairSent, type RefusedCall } from './lost-preparation.ts'

export interface Refusals {
  /** A call was answered otherwise than by a refusal. */
  noteUse(caseCall: CaseCall): void
  /** A call was refused. */
  noteRefusal(request: WireRequest, caseCall: CaseCall): void
  /** No call is under way; the state is that before the calls that were under way until now. */
  settle(state: State): void
  /** @param stateBefore what is known of a call that began then, while others are still under way */
  judge(request: WireRequest, stateBefore: (begun: number) => State): RefusalJudgement | undefined
  forget(): void
}

/** @param isShared others may use the target at the same time */
export function createRefusals(isShared: boolean): Refusals {
  const pending = new Map<WireRequest, CaseCall & { refusedBefore: number }>()
  const settled = new WeakMap<WireRequest, Omit<RefusedCall, 'lastUsesMs'>>()
  /** By the id of a key: how many calls with it were refused since the last that was not. */
  const refusedInARow = new Map<string, number>()
  const lastUsesMs = new Map<string, number>()
  return {
    noteUse({ call, span }) {
      const token = textOfToken(call)
      if (token !== undefined && token.length <= longestToken)
        lastUsesMs.set(token, Math.max(lastUsesMs.get(token) ?? 0, span.to))
      refusedInARow.delete(attemptedKey(call) ?? '')
    },
    noteRefusal(request, caseCall) {
      const key = attemptedKey(caseCall.call)
      const refusedBefore = refusedInARow.get(key ?? '') ?? 0
      if (key !== undefined) refusedInARow.set(key, refusedBefore + 1)
      pending.set(request, { ...caseCall, refusedBefore })
    },
    settle(state) {
      for (const [request, one] of pending) settled.set(request, refusedCall(one, state))
      pending.clear()
    },
    judge(request, stateBefore) {
      const unsettled = pending.get(request)
      const refused =
        unsettled === undefined ? settled.get(request) : refusedCall(unsettled, stateBefore(unsettled.order.from))
      return refused === undefined ? undefined : judgeRefusal({ ...refused, lastUsesMs }, isShared)
    },
    forget() {
      pending.clear()
      lastUsesMs.clear()
      refusedInARow.clear()
    },
  }
}

/** What may be a token, whether it was issued or not. */
function textOfToken({ authorization, body }: Call): string | undefined {
  if (authorization !== undefined)
    return /^basic /i.test(authorization) || authorization.includes(';') ? undefined : authorization.split(' ').at(-1)
  const { method, params } = readBody(body)
  return method === 'manager/auth' && isObject(params) ? presentedToken(params) : undefined
}

const refusedCall = (
  { call, span, refusedBefore }: CaseCall & { refusedBefore: number },
  state: State,
): Omit<RefusedCall, 'lastUsesMs'> => ({ call, span, refusedBefore, state })

function judgeRefusal(refused: RefusedCall, isShared: boolean): RefusalJudgement | undefined {
  const pair = pairSent(refused)
  const loss = pair === undefined ? undefined : lostPreparation(refused, pair)
  if (loss !== undefined) return { is: 'required', because: loss }
  const doubt = pair === undefined ? doubtAboutKey(refused) : doubtAboutPair(refused, pair, isShared)
  return doubt === undefined ? undefined : { is: 'open', because: doubt }
}
