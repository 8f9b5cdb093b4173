/** How long to wait for the answer to a call that must be refused: some servers refuse by not answering. */
import type { Classified } from '../judge/classify.ts'
import type { CallTime } from '../judge/match.ts'
import type { WireAnswer } from '../target.ts'
import type { TargetFacts } from './target-facts.ts'

type Knowing = { facts: TargetFacts }

/** After this many unanswered refusals, later calls wait only as long as accepted calls suggest. */
const silencesToLearn = 3
const timesSlowestAccepted = 10
const leastPatienceMs = 1000

/** Remembers a call that was never answered. */
export function noteSilence({ facts }: Knowing, wire: WireAnswer): void {
  if (wire.kind === 'none' && wire.timedOut === true) facts.silences += 1
}

/** Remembers how long the slowest accepted call took. */
export function noteAccepted({ facts }: Knowing, { answer, time }: { answer: Classified; time: CallTime }): void {
  if (answer.outcome !== 'accepted') return
  facts.slowestAcceptedMs = Math.max(facts.slowestAcceptedMs, time.answeredAtMs - time.sentAtMs)
}

/** How long a refusal may take, in ms; undefined: as long as any call. */
export function patienceForRefusalMs({ facts }: Knowing): number | undefined {
  if (facts.silences < silencesToLearn) return undefined
  return Math.max(leastPatienceMs, timesSlowestAccepted * facts.slowestAcceptedMs)
}
