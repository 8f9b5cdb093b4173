/** Removes scope words that a finding does not need, because a reader takes each one for part of the cause. */
import { isOtherSession } from './other-pairs.ts'
import type { CallStep, Step } from './step.ts'

interface Word {
  /** The place of the grant in the sequence. */
  readonly at: number
  readonly word: string
}

/** The scope words of all grants, last first, because the words of areas come last there; without grants of added sessions. */
export const wordsOfGrants = (steps: readonly Step[]): Word[] =>
  steps.flatMap((step, at) => (isOtherSession(step) ? [] : scopeOf(step)).map((word) => ({ at, word })).toReversed())

/** The sequence without one word; null if its grant has no other word, or not this one any more. */
export function withoutWord(steps: readonly Step[], { at, word }: Word): Step[] | null {
  const step = steps[at]
  const scope = step === undefined ? [] : scopeOf(step)
  if (step?.do !== 'call' || scope.length < 2 || !scope.includes(word)) return null
  const less: CallStep = { ...step, params: { ...step.params, scope: scope.filter((one) => one !== word) } }
  return steps.with(at, less)
}

/** The words of an unchanged grant. */
function scopeOf(step: Step): string[] {
  if (step.do !== 'call' || step.method !== 'manager/auth' || step.change !== undefined) return []
  const { scope } = step.params
  return Array.isArray(scope) ? scope.filter((word): word is string => typeof word === 'string') : []
}
