import type { CallStep, SendStep } from '../fixture/model.ts'
import type { Names } from '../fixture/resolve.ts'
import type { Called } from '../judge/called.ts'
import { describe } from '../judge/classify.ts'
import { observedValue } from './observed-values.ts'
import { hasRounds } from './perform-step.ts'

/** What an observing step saw, in a phrase. */
export function observation(step: CallStep | SendStep, calls: Called[], names: Names): string {
  const values = calls.flatMap((called) => observedValue(step.observe ?? '', called) ?? [])
  if (values.length === calls.length) return [...new Set(values)].join('; ')
  return observed(calls) + keptValues(step, names)
}

/** What an observing step keeps is what the observation is about; of several calls it is kept for later steps only. */
function keptValues(step: CallStep | SendStep, names: Names): string {
  if (hasRounds(step)) return ''
  const kept = Object.keys(step.keep ?? {}).filter((name) => names[name] !== undefined)
  return kept.map((name) => `; ${name} ${shortJson(names[name])}`).join('')
}

const longestKept = 100

function shortJson(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > longestKept ? `${text.slice(0, longestKept)}…` : text
}

/** One phrase for an observation: how often which outcome. */
function observed(calls: Called[]): string {
  const counts = new Map<string, number>()
  for (const { answer } of calls) counts.set(describe(answer), (counts.get(describe(answer)) ?? 0) + 1)
  if (calls.length === 1) return [...counts.keys()].join('')
  return [...counts].map(([what, count]) => `${count} of ${calls.length} ${what}`).join(', ')
}
