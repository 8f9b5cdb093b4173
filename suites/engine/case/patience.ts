/** How long to wait for the answer to a call that must be refused: some servers never answer what they refuse. */
import type { Called } from './call.ts'
import type { Client } from './client.ts'

/** After this many silent refusals later ones wait only as long as accepted calls suggest. */
const silencesToLearn = 3
const timesSlowestAccepted = 10
const leastPatienceMs = 1000

/** Remembers a call that was never answered. */
export function noteSilence({ facts }: Client, { wire }: Called): void {
  if (wire.kind === 'none' && wire.timedOut === true) facts.silences += 1
}

/** Remembers how long accepted calls take. */
export function noteAccepted({ facts }: Client, { answer, moment }: Pick<Called, 'answer' | 'moment'>): void {
  if (answer.outcome !== 'accepted') return
  facts.slowestAcceptedMs = Math.max(facts.slowestAcceptedMs, moment.answeredAtMs - moment.sentAtMs)
}

/** How long a refusal may take, in ms; undefined: as long as any call. */
export function patienceForRefusalMs({ facts }: Client): number | undefined {
  if (facts.silences < silencesToLearn) return undefined
  return Math.max(leastPatienceMs, timesSlowestAccepted * facts.slowestAcceptedMs)
}
