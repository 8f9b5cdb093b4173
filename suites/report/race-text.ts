import { hasRace } from '../engine/case/cases.ts'
import type { Corpus } from '../engine/fixture/fixture-types.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'

/** Says that a failed case is about calls at the same time, and which cases show that one at a time the server is right. */
export function raceText(outcome: CaseOutcome, all: readonly CaseOutcome[], corpus: Corpus): string {
  const isRace = (id: string): boolean => corpus.scenarios.some((scenario) => scenario.id === id && hasRace(scenario))
  const broken = Object.entries(outcome.requirements).flatMap(([id, verdict]) => (verdict === 'failed' ? [id] : []))
  if (broken.length === 0 || !isRace(outcome.id)) return ''
  const others = all.filter((other) => broken.some((id) => id in other.requirements) && !isRace(other.id))
  const failed = others.some(({ requirements }) => broken.some((id) => requirements[id] === 'failed'))
  const passed = others.filter(({ requirements }) => broken.every((id) => requirements[id] === 'passed'))
  if (failed || passed.length === 0) return ''
  const shown = passed.slice(0, shownCases).map(({ key }) => key)
  return `; it is a race: one call at a time it holds (${shown.join(', ')})`
}

const shownCases = 2
