import { keyLimit } from '../engine/document.ts'
import type { SafetyClass } from '../engine/language/fixture-types.ts'
import type { Cost } from './fact.ts'
import { probes } from './measure.ts'
import { allKeyProbes } from './measure-keys.ts'
import { reasonToLeave } from './permission.ts'

/** The calls of the table of refusals, without and with tokens. */
const refusalCost = { calls: 10, refusals: 10, withTokens: { calls: 12, refusals: 9, grants: 4 } }
const controlKeys = 2

/** The first call, and five that tell the clock. */
const preparation = 6

/**
 * What a measurement will cost, known before the first call.
 *
 * @returns numbers of calls and of keys at most, and the names of probes that are left out, by reason
 */
export function planFacts(allow: readonly SafetyClass[], hasSecret: boolean) {
  const left = new Map<string, string[]>()
  const plan = { calls: preparation + refusalCost.calls, refusals: refusalCost.refusals, grants: 0, keys: 0 }
  const add = ({ calls, refusals, grants = 0, keys = 0 }: Cost): void => {
    plan.calls += calls
    plan.refusals += refusals
    plan.grants += grants
    plan.keys += keys
  }
  for (const probe of [...probes, ...allKeyProbes]) {
    const reason = reasonToLeave(probe, allow, hasSecret)
    if (reason === null) add(probe.cost)
    else left.set(reason, [...(left.get(reason) ?? []), probe.name])
  }
  if (hasSecret && allow.includes('sessions')) add(refusalCost.withTokens)
  // The first key, and the one that shows whether a place was free.
  if (plan.keys > 0) add({ calls: controlKeys, refusals: 0, keys: controlKeys })
  return { ...plan, left }
}

/** The plan in lines, without line feeds. @param removesKeys the target file says how keys are removed */
export function planLines(
  { calls, refusals, grants, keys, left }: ReturnType<typeof planFacts>,
  removesKeys: boolean,
): string[] {
  const lasting = [
    ...(grants === 0 ? [] : [`about ${grants} token pairs`, 'some sessions']),
    ...(keys === 0
      ? []
      : [removesKeys ? `about ${keys} API keys, which it removes` : `up to ${keyLimit} API keys, which stay`]),
  ]
  return [
    `Plan: about ${calls} calls, ${refusals} of them expected to be refused; creates ${lasting.join(', ') || 'nothing that lasts'}`,
    ...[...left].map(([reason, names]) => `  left out, since ${reason}: ${names.join(', ')}`),
  ]
}
