import { hasRace } from '../engine/conversation/cases.ts'
import type { CaseOutcome } from '../engine/judge/outcome.ts'
import type { Corpus } from '../engine/language/fixture-types.ts'

/** Adds to a failed race the cases that show that the requirement holds for one call at a time. */
export function raceText(outcome: CaseOutcome, all: readonly CaseOutcome[], corpus: Corpus): string {
  const isRace = (id: string): boolean => corpus.scenarios.some((scenario) => scenario.id === id && hasRace(scenario))
  const broken = Object.entries(outcome.requirements).flatMap(([id, verdict]) => (verdict === 'failed' ? [id] : []))
  if (broken.length === 0 || !isRace(outcome.id)) return ''
  const others = all.filter((other) => broken.some((id) => id in other.requirements) && !isRace(other.id))
  const failed = others.some(({ requirements }) => broken.some((id) => requirements[id] === 'failed'))
  const passed = others.filter(({ requirements }) => broken.every((id) => requirements[id] === 'passed'))
  if (failed || passed.length === 0) return ''
  const shown = passed.slice(0, shownCases).map(({ key }) => key)
  return `; this is a race: the requirement holds for one call at a time (${shown.join(', ')})`
}

const shownCases = 2
