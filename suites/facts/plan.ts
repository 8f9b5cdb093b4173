import type { SafetyClass } from '../engine/fixture/model.ts'
import { probes, reasonToLeave } from './measure.ts'

/** What the table of refusals asks, without and with tokens. */
const refusalCost = { calls: 10, refusals: 10, withTokens: { calls: 12, refusals: 9, grants: 4 } }
/** The first call, and five that tell the clock. */
const preparation = 6

export interface FactsPlan {
  calls: number
  refusals: number
  grants: number
  /** Names of probes that are left out, by reason. */
  left: Map<string, string[]>
}

/** What a measurement will cost, known before the first call. */
export function planFacts(allow: readonly SafetyClass[], hasSecret: boolean): FactsPlan {
  const left = new Map<string, string[]>()
  const plan = { calls: preparation + refusalCost.calls, refusals: refusalCost.refusals, grants: 0 }
  const add = ({ calls, refusals, grants = 0 }: { calls: number; refusals: number; grants?: number }): void => {
    plan.calls += calls
    plan.refusals += refusals
    plan.grants += grants
  }
  for (const probe of probes) {
    const reason = reasonToLeave(probe, allow, hasSecret)
    if (reason === null) add(probe.cost)
    else left.set(reason, [...(left.get(reason) ?? []), probe.name])
  }
  if (hasSecret && allow.includes('sessions')) add(refusalCost.withTokens)
  return { ...plan, left }
}

/** The plan in lines, without line feeds. */
export function planLines({ calls, refusals, grants, left }: FactsPlan): string[] {
  const lasting = grants === 0 ? 'nothing that lasts' : `about ${grants} token pairs, and some sessions`
  return [
    `Plan: about ${calls} calls, ${refusals} of them meant to be refused; creates ${lasting}`,
    ...[...left].map(([reason, names]) => `  left out, since ${reason}: ${names.join(', ')}`),
  ]
}
