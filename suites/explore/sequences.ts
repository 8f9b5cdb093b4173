/** Sequences of steps as values: what they make and name, what they are about, and which steps are alike. */
import { sessionLimit } from '../engine/document.ts'
import type { Problem } from '../engine/model/state.ts'
import type { Exchange } from '../engine/target.ts'
import {
  type BurstStep,
  type CallStep,
  callsOf,
  grantedTo,
  inDocumentOrder,
  isBurst,
  isCall,
  nameOf,
  namesIn,
  pairUsed,
  refreshedIn,
  type Step,
} from './step.ts'

export function madeBy(step: Step): string[] {
  return callsOf(step).flatMap((call) => nameOf(call) ?? [])
}

export type Outcome = 'accepted' | 'refused' | 'broken'

/** An answer that no reading of the document allows, before it is tried again. */
export interface Candidate extends Problem {
  readonly kind: 'accepted' | 'refused' | 'broken' | 'shape' | 'history'
  /** Of a history: the answer that no order explains. */
  readonly outcome?: 'accepted' | 'refused' | 'broken'
  /** Of a history: the call with that answer, and whether the document refuses it whatever the others do. */
  readonly wrong?: { readonly at: number; readonly isByItself: boolean } | undefined
  /** Distinguishes findings of one requirement for the reader. */
  readonly fact: string
  /** Index of the log entry that shows it. */
  readonly entry: number
  /** The steps that show it, where the log has them in another form. */
  readonly steps?: readonly Step[]
  readonly script: string
}

/** A sequence that showed a finding. */
export interface Shown {
  /** The last step is the one that shows it. */
  readonly steps: readonly Step[]
  /** The outcome of each step. A burst counts as accepted. */
  readonly outcomes: readonly Outcome[]
  /** Its last call, secrets included. */
  readonly exchange?: Exchange | undefined
  /** What it shows broken, where that is another sentence than the one that was found first. */
  readonly as?: { readonly requirement: string; readonly fact: string } | undefined
}

/** The call that made what a name stands for. */
type FindMade = (name: string) => CallStep | undefined

export function findMadeBy(steps: readonly Step[]): FindMade {
  const made = new Map(steps.flatMap(callsOf).map((call) => [nameOf(call) ?? '', call]))
  return (name) => made.get(name)
}

/** The calls that made a pair, from its last refresh back to its grant. */
function lineOf(pair: string | undefined, find: FindMade): CallStep[] {
  const made = pair === undefined ? undefined : find(pair)
  if (made === undefined) return []
  const refreshed = refreshedIn(made)
  return refreshed === undefined || refreshed === pair ? [made] : [made, ...lineOf(refreshed, find)]
}

export const grantOf = (pair: string | undefined, find: FindMade): CallStep | undefined => lineOf(pair, find).at(-1)

/** How often a pair was refreshed. */
export const generationOf = (pair: string | undefined, find: FindMade): number =>
  Math.max(0, lineOf(pair, find).length - 1)

/** The key to which a pair was granted. */
export function granteeOf(pair: string | undefined, find: FindMade): string | undefined {
  const granted = grantOf(pair, find)
  return granted === undefined ? undefined : grantedTo(granted)
}

/** A step, or several that are alike. */
interface Group {
  readonly steps: readonly [Step, ...Step[]]
  readonly outcome: Outcome
}

/** Groups of grants that make sessions of one key. The last step, which shows the finding, stays alone. */
export function withSessionsTogether(shown: Shown): Group[] {
  const atOnce = new Set(shown.steps.flatMap((step) => (isBurst(step) ? madeBy(step) : [])))
  const kindOf = (step: CallStep): string | undefined =>
    sessionGrantOf(step) ?? listingOf(isPlainUse(step, atOnce) ? { ...step, auth: 'none' } : step)
  return grouped(shown, kindOf)
}

/** Whether a step is a call with the access token of one of these pairs. */
const isPlainUse = (step: Step, pairs: ReadonlySet<string>): boolean =>
  isCall(step) && step.call === 'solution/listSolutions' && step.alter === undefined && pairs.has(pairUsed(step) ?? '')

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
    const isAlone = !isCall(step) || used.has(nameOf(step) ?? '') || isAgain || index === steps.length - 1
    const kind = isAlone ? undefined : kindOf(step)
    const before = groups.at(-1)
    if (kind !== undefined && before?.kind === kind && before.outcome === outcome) before.steps.push(step)
    else groups.push({ steps: [step], outcome, kind })
  }
  return groups
}

const sessionWord = /,?"session:([^"]+)"/

/** What a grant of a session has in common with others. */
function sessionGrantOf({ keep: _keep, connection: _connection, ...grant }: CallStep): string | undefined {
  const { grantType, scope } = grant.params
  if (grantType !== 'api_key_credentials' || grant.alter !== undefined) return undefined
  const text = JSON.stringify(scope)
  if (!sessionWord.test(text)) return undefined
  return JSON.stringify({ ...grant, params: { ...grant.params, scope: text.replace(sessionWord, '') } })
}

/** A listing, which may be made several times. */
const listingOf = (step: CallStep): string | undefined =>
  step.call === 'solution/listSolutions' ? JSON.stringify(step) : undefined

/** The name of the session that a grant makes. */
export const sessionOf = (step: Step): string | undefined =>
  isCall(step) ? sessionWord.exec(JSON.stringify(step.params.scope))?.[1] : undefined

/** Over a second: a server may note in whole seconds when a session was made. */
export const quietMs = 1300

/** Whether it is the grant of a session that was put in. */
export const isOtherSession = (step: Step): step is CallStep =>
  isCall(step) && /^crowd\d+[nob]$/.test(nameOf(step) ?? '')

export const isCrowd = (step: Step | undefined): step is BurstStep =>
  isBurst(step) && step.beside.length >= sessionLimit && areSessionsOfOneKind(callsOf(step))

/**
 * @returns `live`: how many of the sessions were seen to live, more than may; undefined unless the steps are such grants and uses of their
 * tokens; older sessions before them do not matter
 */
export function crowdOf({ steps, outcomes }: Shown) {
  const at = steps.findIndex((step) => !('wait' in step) && !isOtherSession(step))
  const burst = steps[at]
  if (!isCrowd(burst)) return undefined
  const pairs = new Set(madeBy(burst))
  const uses = steps.slice(at + 1)
  if (!uses.every((use) => isPlainUse(use, pairs))) return undefined
  const live = new Set(uses.flatMap((use, index) => (outcomes[at + 1 + index] === 'accepted' ? namesIn(use) : []))).size
  return live > sessionLimit ? { burst, live } : undefined
}

/** Whether a requirement says when a token ends. */
export const isOfExpiry = (requirement: string): boolean =>
  /^(tokens\/expire|tokens\/expire-by-default|refresh\/own-expiry|expires-in\/enforced)$/.test(requirement)
