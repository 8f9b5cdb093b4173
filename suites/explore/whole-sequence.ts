/** Whether a sequence makes everything that it names, so that it can be run alone. */
import { type CallStep, namesIn, type Step } from './step.ts'

export const callsOf = (step: Step): readonly CallStep[] =>
  step.do === 'burst' ? step.calls : step.do === 'call' ? [step] : []

/** Whether every pair that a step names is made by an earlier one. */
export const isWhole = (steps: readonly Step[]): boolean => selfContainedSteps(steps).length === steps.length

/** The steps that name only pairs which earlier ones make: a part of the log may begin after the grant of a pair. */
export function selfContainedSteps(steps: readonly Step[]): Step[] {
  const made = new Set<string>()
  return steps.filter((step) => {
    const own = madeBy(step)
    if (namesIn(step).some((name) => isMade(name) && !made.has(name) && !own.includes(name))) return false
    for (const name of own) made.add(name)
    return true
  })
}

/** Names of what a sequence makes, as `freshName` gives them; those of keys are not. */
const isMade = (name: string): boolean => /^(pair|race|crowd|burst|sent|other)\d/.test(name)

export function madeBy(step: Step): string[] {
  return callsOf(step).flatMap(({ as }) => as ?? [])
}

/** The steps on which the last one rests: those that make what it names, and so on. */
export function stepsFor(steps: readonly Step[]): Step[] {
  const wanted = new Set<string>()
  const kept: Step[] = []
  for (const step of steps.toReversed()) {
    if (kept.length > 0 && !madeBy(step).some((name) => wanted.has(name))) continue
    for (const name of namesIn(step)) wanted.add(name)
    kept.push(step)
  }
  return kept.reverse()
}
