import { countBy } from '../group.ts'
import type { Called } from '../judge/called.ts'
import { describe } from '../judge/classify.ts'
import { showJson } from '../judge/show-json.ts'
import type { CallStep, SendStep } from '../language/fixture-types.ts'
import type { Names } from '../language/resolve.ts'
import { observedValue } from './observed-values.ts'
import { hasRounds } from './perform-step.ts'

/** Describes in a phrase what an observing step saw. */
export function observation(step: CallStep | SendStep, calls: Called[], names: Names): string {
  const values = calls.flatMap((called) => observedValue(step.observe ?? '', called) ?? [])
  if (values.length === calls.length) return [...new Set(values)].join('; ')
  return observed(calls) + keptValues(step, names)
}

/** A value that an observing step keeps is part of the observation; with several calls it is only kept for later steps. */
function keptValues(step: CallStep | SendStep, names: Names): string {
  if (hasRounds(step)) return ''
  const kept = Object.keys(step.keep ?? {}).filter((name) => names[name] !== undefined)
  return kept.map((name) => `; ${name} ${showJson(names[name], longestKept)}`).join('')
}

const longestKept = 100

/** Describes how often each outcome occurred. */
function observed(calls: Called[]): string {
  const counts = countBy(calls, ({ answer }) => describe(answer))
  if (calls.length === 1) return [...counts.keys()].join('')
  return [...counts].map(([what, count]) => `${count} of ${calls.length} ${what}`).join(', ')
}
