/** From what the model noticed to what a reader gets: the sentence, the shortest sequence, and a scenario to run again. */
import type { Requirement } from '../engine/fixture/model.ts'
import type { Finding, HistoryCall } from '../report/model.ts'
import { type Candidate, describeStep, type Explorer } from './explorer.ts'
import { fixtureText } from './fixture-text.ts'
import { closure, type Reproduced, reproduce } from './shrink.ts'
import type { Step } from './step.ts'

export type Found = Omit<Finding, 'known'>

export interface Findings {
  readonly found: Found[]
  take(candidate: Candidate): Promise<void>
  /** How often each was seen, the first time too. */
  readonly seen: ReadonlyMap<string, number>
}

/** So many findings are made shorter; of others the first sequence is told. */
const mostShrunk = 12

export function collectFindings(x: Explorer, requirements: readonly Requirement[]): Findings {
  const found: Found[] = []
  const seen = new Map<string, number>()
  return {
    found,
    seen,
    take: async (candidate) => {
      const id = idOf(candidate)
      const count = (seen.get(id) ?? 0) + 1
      seen.set(id, count)
      if (count > 1) return
      const shrunk =
        found.length < mostShrunk
          ? await reproduce(x, candidate)
          : { steps: closure(x, candidate.entry), failed: 1, tries: 1 }
      if (isUnproved(candidate, shrunk)) {
        seen.delete(id)
        return
      }
      found.push(findingOf(x, candidate, shrunk, requirements))
    },
  }
}

/** A right call that was refused once and is let in ever after may have met a limit or a lock, which are open. */
function isUnproved({ kind }: Candidate, { failed, tries }: Reproduced): boolean {
  return (kind === 'refused' || kind === 'broken') && tries > 1 && failed === 0
}

/** `found/REQUIREMENT/FACT`. */
function idOf({ requirement, kind, fact }: Candidate): string {
  const slug = fact
    .replace(/^.*\//, '')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .toLowerCase()
  return `found/${requirement}/${kind === 'accepted' ? 'let-in' : kind}${slug === '' || requirement.endsWith(slug) ? '' : `-${slug}`}`
}

function findingOf(
  x: Explorer,
  candidate: Candidate,
  { steps, failed, tries }: Reproduced,
  requirements: readonly Requirement[],
): Found {
  const { requirement, level, message, kind } = candidate
  const sentence = requirements.find(({ id }) => id === requirement)?.text ?? ''
  const expect = kind === 'accepted' ? 'refused' : 'accepted'
  return {
    id: idOf(candidate),
    requirement,
    level,
    message,
    steps: stepLines(
      steps,
      kind === 'accepted' ? 'accepted' : kind === 'shape' ? 'accepted, with a wrong result' : 'refused',
    ),
    reproduced: { failed, tries },
    fixture:
      kind === 'shape' || kind === 'history' ? null : fixtureText({ requirement, sentence, message, steps, expect }),
    exchanges: [],
    history: kind === 'history' ? historyOf(x, candidate) : [],
  }
}

function stepLines(steps: readonly Step[], last: string): string[] {
  return steps.map((step, index) => {
    const outcome = index === steps.length - 1 ? last : 'accepted'
    if (step.do === 'wait') return `wait ${Math.round(step.ms)} ms`
    if (step.do === 'burst') return `${step.calls.length} calls at once: ${step.calls.map(describeStep).join('; ')}`
    return `${describeStep(step)}${step.as === undefined ? '' : ` as ${step.as}`}: ${outcome}`
  })
}

function historyOf(x: Explorer, { entry }: Candidate): HistoryCall[] {
  const seen = x.log[entry]?.seen ?? []
  const start = Math.min(...seen.map(({ moment }) => moment.from))
  return seen.map(({ step, moment, answer }, lane) => ({
    connection: `${lane + 1}`,
    startMs: moment.from - start,
    endMs: moment.to - start,
    call: describeStep(step),
    answer: answer.kind,
  }))
}
