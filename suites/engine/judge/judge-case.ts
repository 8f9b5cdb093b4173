/** The verdict of a case, from what its steps showed. */
import type { Attempt, CaseStop } from './attempt.ts'
import { type JunkControl, takesJunk } from './junk-control.ts'
import type { Obstacle } from './problem.ts'
import { type Verdict, worst } from './verdict.ts'

export interface CaseVerdict {
  verdict: Verdict
  /** Verdict per requirement that the case proves: a failing step fails only what it proves. */
  requirements: { [id: string]: Verdict }
  /**
   * What decided the verdict: a step that ended the case, an accepted junk credential, or that nothing was judged; null for a passed case.
   */
  because: { kind: 'step'; stop: CaseStop } | { kind: 'control'; problem: Obstacle } | { kind: 'nothing-judged' } | null
}

export function judgeCase(
  attempt: Attempt,
  proves: string[],
  facts: JunkControl,
  isMust: (requirement: string) => boolean,
): CaseVerdict {
  const control = attempt.stops.length === 0 ? acceptedWithJunk(facts, attempt) : openToAll(facts, attempt)
  if (control !== undefined) {
    return {
      verdict: 'blocked',
      requirements: Object.fromEntries(proves.map((id) => [id, 'blocked'])),
      because: { kind: 'control', problem: control },
    }
  }
  const requirements = Object.fromEntries(proves.map((id) => [id, judgeRequirement(id, attempt, isMust)]))
  const verdictOf = (stop: CaseStop): Verdict => judgeStop(stop, proves, isMust)
  const verdict = worst([...Object.values(requirements), ...attempt.stops.map(verdictOf)])
  const stop = attempt.stops.find((one) => verdictOf(one) === verdict)
  if (stop !== undefined) return { verdict, requirements, because: { kind: 'step', stop } }
  return { verdict, requirements, because: verdict === 'passed' ? null : { kind: 'nothing-judged' } }
}

function judgeRequirement(id: string, attempt: Attempt, isMust: (requirement: string) => boolean): Verdict {
  if (attempt.stops.some(({ proves }) => proves.includes(id))) return isMust(id) ? 'failed' : 'warned'
  if (attempt.unreached.has(id)) return attempt.stops.some(isNotTestable) ? 'not-testable' : 'blocked'
  return attempt.judged.has(id) ? 'passed' : 'not-testable'
}

/** A target may choose short lifetimes, and others may use it too, so a preparation that no longer holds is not a defect. */
const isNotTestable = ({ kind }: CaseStop): boolean => kind === 'not-testable' || kind === 'preparation-lost'

/** A case that proves nothing only observes, so what keeps it from that blocks no verdict. */
function judgeStop(stop: CaseStop, proves: readonly string[], isMust: (requirement: string) => boolean): Verdict {
  if (isNotTestable(stop)) return 'not-testable'
  if (stop.kind !== 'broke') return proves.length === 0 ? 'not-testable' : 'blocked'
  return stop.proves.some(isMust) ? 'failed' : 'warned'
}

/** A case that shows only acceptances proves nothing if the same method accepts junk. */
function acceptedWithJunk(facts: JunkControl, attempt: Attempt): Obstacle | undefined {
  const open = attempt.acceptances.find(
    ({ method, kind }) => takesJunk(facts, method, kind) && !attempt.refusedMethods.has(method),
  )
  return open === undefined ? undefined : { kind: 'junk-accepted', method: open.method }
}

/**
 * A method that accepts calls without any authorization does not look at credentials. That it accepts wrong ones is the same defect again,
 * and says nothing about the rule for these credentials.
 */
function openToAll(facts: JunkControl, { stops }: Attempt): Obstacle | undefined {
  const methods = stops.map(({ kind, step }) =>
    kind === 'broke' &&
    'call' in step &&
    step.auth !== 'none' &&
    (step.expect === 'refused' || step.tally !== undefined)
      ? step.call
      : undefined,
  )
  const [method] = methods
  const isOpen = methods.every((one) => one !== undefined && takesJunk(facts, one, 'none'))
  return isOpen && method !== undefined ? { kind: 'open-to-all', method } : undefined
}
