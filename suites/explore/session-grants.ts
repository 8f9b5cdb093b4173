/**
 * Puts calls together that a reader takes for one step: the same listing several times or with tokens that were granted at once, and grants that
 * differ only in the session.
 */
import { inDocumentOrder } from './calls.ts'
import { isOtherSession } from './other-pairs.ts'
import type { Outcome, Shown } from './replay.ts'
import { type CallStep, namesIn, type Step } from './step.ts'
import { madeBy } from './whole-sequence.ts'

/** A step, or several that are alike. */
interface Group {
  readonly steps: readonly [Step, ...Step[]]
  readonly outcome: Outcome
}

/** Groups of grants that make sessions of one key. The last step, which shows the finding, stays alone. */
export function withSessionsTogether(shown: Shown): Group[] {
  const atOnce = new Set(shown.steps.flatMap((step) => (step.do === 'burst' ? madeBy(step) : [])))
  const kindOf = (step: CallStep): string | undefined =>
    sessionGrantOf(step) ?? listingOf(isPlainUse(step, atOnce) ? { ...step, auth: { kind: 'none' } } : step)
  return grouped(shown, kindOf)
}

/** Whether a step is a call with the access token of one of these pairs. */
export const isPlainUse = (step: Step, pairs: ReadonlySet<string>): boolean =>
  step.do === 'call' &&
  step.method === 'solution/listSolutions' &&
  step.change === undefined &&
  step.auth.kind === 'token' &&
  pairs.has(/^\$([\w-]+)\.accessToken$/.exec(step.auth.token)?.[1] ?? '')

/** Whether calls are grants of sessions that differ in nothing else but the order of params. */
export function areSessionsOfOneKind(calls: readonly CallStep[]): boolean {
  const kinds = new Set(calls.map((call) => sessionGrantOf(inDocumentOrder(call))))
  return kinds.size === 1 && !kinds.has(undefined)
}

/** Groups of grants of sessions that were put in, whose names say nothing: the language of fixtures repeats a call. */
export const withOtherSessionsTogether = (shown: Shown): Group[] =>
  grouped(shown, (step) => (isOtherSession(step) ? sessionGrantOf(step) : listingOf(step)))

/** @param kindOf steps of one kind may be put together; undefined: not with others */
function grouped({ steps, outcomes }: Shown, kindOf: (step: CallStep) => string | undefined): Group[] {
  const groups: { steps: [Step, ...Step[]]; outcome: Outcome; kind: string | undefined }[] = []
  // A reader looks for the step that makes what a later one uses.
  const used = new Set(steps.flatMap((step) => namesIn(step).filter((name) => !madeBy(step).includes(name))))
  const sessions = new Set<string | undefined>()
  for (const [index, step] of steps.entries()) {
    const outcome = outcomes[index] ?? 'accepted'
    // A session whose name is used again may be the point.
    const isAgain = sessions.has(sessionOf(step) ?? '')
    sessions.add(sessionOf(step))
    const isAlone = step.do !== 'call' || used.has(step.as ?? '') || isAgain || index === steps.length - 1
    const kind = isAlone ? undefined : kindOf(step)
    const before = groups.at(-1)
    if (kind !== undefined && before?.kind === kind && before.outcome === outcome) before.steps.push(step)
    else groups.push({ steps: [step], outcome, kind })
  }
  return groups
}

const sessionWord = /,?"session:([^"]+)"/

/** What a grant of a session has in common with others. */
function sessionGrantOf({ as: _as, connection: _connection, ...grant }: CallStep): string | undefined {
  const { grantType, scope } = grant.params
  if (grantType !== 'api_key_credentials' || grant.change !== undefined) return undefined
  const text = JSON.stringify(scope)
  if (!sessionWord.test(text)) return undefined
  return JSON.stringify({ ...grant, params: { ...grant.params, scope: text.replace(sessionWord, '') } })
}

/** A listing, which may be made several times. */
const listingOf = (step: CallStep): string | undefined =>
  step.method === 'solution/listSolutions' ? JSON.stringify(step) : undefined

/** The name of the session that a grant makes. */
export const sessionOf = (step: Step): string | undefined =>
  step.do === 'call' ? sessionWord.exec(JSON.stringify(step.params.scope))?.[1] : undefined

/** Steps that are alike as a repeated call; in the names of sessions that were put in `$n` counts from 1. */
export function asRepeated(step: Step): Step {
  if (step.do !== 'call') return step
  const { as: _as, ...rest } = step
  return JSON.parse(JSON.stringify(rest).replace(/session:([nob])\d+\$unique/, 'session:$1$$n$$unique')) as CallStep
}
