import type { Caller } from '../../engine/conversation/caller.ts'
import { offsetMs } from '../../engine/conversation/clock-offset.ts'
import { call } from './calls.ts'

/** Two clocks of one deployment differ by less. */
export const notableMs = 10_000

/**
 * The document does not mention the `Date` header, and a proxy with a wrong clock may write it. Where it differs much from our clock, a
 * signature shows which of the two the target goes by: if only one with our time is accepted, the header is ignored from then on.
 */
export async function checkDate(caller: Caller): Promise<void> {
  const { facts, instance } = caller
  const { offset } = facts
  const aheadMs = offsetMs(offset)
  if (offset === undefined || Math.abs(aheadMs) < notableMs) return
  const sign = async (): Promise<string> =>
    (await call(caller, instance.root.kind === 'secret' ? { hmac: 'root' } : { ecc: 'root' })).answer.outcome
  if ((await sign()) !== 'refused') return
  facts.wrongDateMs = aheadMs
  delete facts.offset
  if ((await sign()) === 'accepted') return
  delete facts.wrongDateMs
  facts.offset = offset
}
