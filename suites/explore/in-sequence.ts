/** Calls at once that no order explains may be answered wrongly one after another, too: then the race is not the cause. */
import { describeStep } from './describe-step.ts'
import { closure, isCreation, withGaps } from './earlier-steps.ts'
import type { Candidate, Explorer } from './explorer-types.ts'
import { isRefusal, shows } from './replay.ts'
import { hasTooFew, isLongOver, laterOn } from './simpler-steps.ts'
import type { Step } from './step.ts'

/** Calls that may be made for this, beyond those of the exploration. */
const mostCalls = 200

/** The same finding with one call after another, if it is seen so; otherwise as it is. */
export async function inSequence(x: Explorer, candidate: Candidate): Promise<Candidate> {
  const { kind, entry } = candidate
  const last = x.log[entry]?.step
  // Each creation would take a place.
  if (kind !== 'history' || isRefusal(candidate) || last?.do !== 'burst' || isCreation(last)) return candidate
  if (isLongOver(x) || hasTooFew(x, 0)) return candidate
  const before = closure(x, entry)
  const isLate = laterOn(x)
  return x.beyondBudget(mostCalls, async () => {
    for (const steps of [before, withGaps(x, before, entry)]) {
      if (isLate()) break
      const single: Candidate = { ...candidate, kind: 'accepted', fact: candidate.requirement }
      const shown = await shows(x, single, [...steps.slice(0, -1), ...last.calls], true)
      const wrong: Step | undefined = shown?.steps.at(-1)
      if (shown !== null && wrong?.do === 'call')
        return { ...single, message: `${describeStep(wrong)} was accepted`, steps: shown.steps }
    }
    return candidate
  })
}
