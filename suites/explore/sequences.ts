/** Sequences of steps as values: what they make and name, what they are about, and the same ones in company or with other names. */
import { sessionLimit } from '../engine/document.ts'
import type { Explorer } from './explorer-types.ts'
import {
  type BurstStep,
  type CallStep,
  callsOf,
  grantedTo,
  inDocumentOrder,
  isBurst,
  isCall,
  list,
  named,
  nameOf,
  namesIn,
  pairUsed,
  pause,
  refresh,
  refreshedIn,
  type Step,
  token,
  withReferences,
} from './step.ts'

/** Whether every pair that a step names is made by an earlier one. */
export const isWhole = (steps: readonly Step[]): boolean => selfContainedSteps(steps).length === steps.length

/** The steps that name only pairs which earlier ones make: a part of the log may begin after the grant of a pair. */
export function selfContainedSteps(steps: readonly Step[]): Step[] {
  const made = new Set<string>()
  return steps.filter((step) => {
    const own = madeBy(step)
    if (namesIn(step).some((name) => isMade(name) && !made.has(name) && !own.includes(name))) return false
    for (const name of own) made.add(name)
    return true
  })
}

/** Names of what a sequence makes, as `freshName` gives them; those of keys are not. */
const isMade = (name: string): boolean => /^(pair|race|crowd|burst|sent|other)\d/.test(name)

export function madeBy(step: Step): string[] {
  return callsOf(step).flatMap((call) => nameOf(call) ?? [])
}

/** The steps on which the last one rests: those that make what it names, and so on. */
export function stepsFor(steps: readonly Step[]): Step[] {
  const wanted = new Set<string>()
  const kept: Step[] = []
  for (const step of steps.toReversed()) {
    if (kept.length > 0 && !madeBy(step).some((name) => wanted.has(name))) continue
    for (const name of namesIn(step)) wanted.add(name)
    kept.push(step)
  }
  return kept.reverse()
}

export type Outcome = 'accepted' | 'refused' | 'broken'

/** A sequence that showed a finding. */
export interface Shown {
  /** The last step is the one that shows it. */
  readonly steps: readonly Step[]
  /** The outcome of each step. A burst counts as accepted. */
  readonly outcomes: readonly Outcome[]
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

/** The scope words that were requested for a pair, as one text. */
export function requestedFor(pair: string, find: FindMade): string | undefined {
  const scope = grantOf(pair, find)?.params.scope
  return Array.isArray(scope) ? scope.map(String).join(' ') : undefined
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

/** Steps that are alike as a repeated call; in the names of sessions that were put in `$n` counts from 1. */
export function asRepeated(step: Step): Step {
  if (!isCall(step)) return step
  const { keep: _keep, ...rest } = step
  return JSON.parse(JSON.stringify(rest).replace(/session:([nob])\d+\$unique/, 'session:$1$$n$$unique')) as CallStep
}

interface Granted {
  readonly session: string
  readonly who: string
}

/** A right grant that makes a session. */
function grantedBy(step: Step): Granted | undefined {
  if (!isCall(step) || step.alter !== undefined || step.params.grantType !== 'api_key_credentials') return undefined
  const session = sessionOf(step)
  return session === undefined ? undefined : { session, who: String(step.params.apiKeyId) }
}

/**
 * Whether every step before the last one makes a new session of one key. Otherwise a finding about the oldest session rests on what the target
 * showed before, and the steps alone would accuse servers of another reading.
 */
export function isSameInEveryReading(steps: readonly Step[]): boolean {
  const made = steps.slice(0, -1).filter((step) => !('wait' in step))
  const granted = made.flatMap((step) => grantedBy(step) ?? [])
  return (
    new Set(granted.map(({ session }) => session)).size === made.length &&
    new Set(granted.map(({ who }) => who)).size === 1
  )
}

/**
 * Whether sixteen newer sessions of its key followed one another when nothing was done with the session of the last step: then it was removed in every
 * reading, and a later session of its name is another one.
 */
export function isPushedOut(steps: readonly Step[]): boolean {
  const before = steps.slice(0, -1).filter((step) => !('wait' in step))
  const first = lastUsed(steps) ?? before.flatMap((step) => grantedBy(step) ?? [])[0]
  if (first === undefined) return false
  const begun = before.findIndex((step) => isSame(grantedBy(step), first))
  let newer = new Set<string>()
  for (const step of before.slice(begun + 1)) {
    const granted = grantedBy(step)
    if (granted === undefined || isSame(granted, first)) newer = new Set()
    else if (granted.who === first.who) newer.add(granted.session)
    if (newer.size >= sessionLimit) return true
  }
  return false
}

const isSame = (one: Granted | undefined, other: Granted): boolean =>
  one?.session === other.session && one.who === other.who

/** The session of the pair whose token the last step uses. */
function lastUsed(steps: readonly Step[]): Granted | undefined {
  const last = steps.at(-1)
  if (!isCall(last)) return undefined
  const granted = grantOf(pairUsed(last) ?? refreshedIn(last), findMadeBy(steps))
  return granted === undefined ? undefined : grantedBy(granted)
}

/** Over a second: a server may note in whole seconds when a session was made. */
export const quietMs = 1300

/** After this many pairs a server may have forgotten what it knew of older ones. */
const otherPairs = 24

/** The last grant; undefined if it was a wrong one. */
function lastGrant(steps: readonly Step[]): CallStep | undefined {
  const granted = steps.findLast(
    (step): step is CallStep => isCall(step) && step.params.grantType === 'api_key_credentials',
  )
  return granted?.alter === undefined ? granted : undefined
}

/** The last grant, if it makes a session. */
function lastSession(steps: readonly Step[]): CallStep | undefined {
  const granted = lastGrant(steps)
  return granted !== undefined && /"session:/.test(JSON.stringify(granted.params.scope)) ? granted : undefined
}

/** Grants of plain sessions, named after a letter and numbered from `first`. */
function sessionsLike({ connection: _kept, ...plain }: CallStep, letter: string, count: number, first = 1): Step[] {
  return Array.from({ length: count }, (_, at): Step => {
    const scope = ['solution', `session:${letter}${at + first}$unique`]
    return named({ ...plain, params: { ...plain.params, scope } }, `crowd${at + first}${letter}`)
  })
}

/** The same steps; before the last one, the key of the last grant gets sixteen sessions more, when all others have been quiet for some time. */
export function withNewerSessions(steps: readonly Step[]): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  const newer = sessionsLike(granted, 'n', sessionLimit)
  return [...steps.slice(0, -1), pause(quietMs), ...newer, ...steps.slice(-1)]
}

/** The same steps; the session of the last grant is removed by sixteen newer ones, and its name is used again. */
export function withNameAgain(steps: readonly Step[]): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  const scope = ['solution', /"(session:[^"]*)"/.exec(JSON.stringify(granted.params.scope))?.[1] ?? '']
  const newer = withNewerSessions(steps)
  return [
    ...newer.slice(0, -1),
    named({ ...granted, params: { ...granted.params, scope } }, 'other0'),
    ...newer.slice(-1),
  ]
}

/** The same steps after an older session of another key. */
export function afterSessionOfAnother(steps: readonly Step[], key: string): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  return [...withKey(sessionsLike(granted, 'b', 1), { key: keyOf(granted), by: key }), pause(quietMs), ...steps]
}

/** A server that removes the oldest session of all users may hold more than sixteen of a key, so one round does not replace all of them. */
const roundsOfOthers = 24

/** The same steps; every session of other keys is newer than that of the first grant, and older than those that were put in. */
export function withOthersNewer(steps: readonly Step[], keys: readonly string[]): Step[] {
  const granted = lastSession(steps)
  const crowd = steps.findIndex(isOtherSession)
  if (granted === undefined || crowd < 0 || keys.length === 0) return [...steps]
  const ofOthers = Array.from({ length: roundsOfOthers }, (_, round): Step[] => {
    const by = keys[round % keys.length] ?? ''
    return withKey(sessionsLike(granted, 'b', sessionLimit, round * sessionLimit + 1), { key: keyOf(granted), by })
  })
  return [...steps.slice(0, crowd), ...ofOthers.flat(), pause(quietMs), ...steps.slice(crowd)]
}

/** Keys but this one that were granted sessions; first one that is simply created again. */
export function othersWithSessions(granted: readonly Step[], steps: readonly Step[]): string[] {
  const own = keyOf(lastSession(steps))
  const keys = granted.map((step) => keyOf(lastSession([step]))).filter((key) => key !== '' && key !== own)
  return [...new Set(keys)].sort((one, other) => Number(other === 'by-basic') - Number(one === 'by-basic'))
}

/** The key to which a grant goes. */
const keyOf = (granted: CallStep | undefined): string => (granted === undefined ? '' : (grantedTo(granted) ?? ''))

/** The same steps; the key of the last grant has sixteen older sessions, and gets as many newer ones as may exist beside its own. */
export function withSessionsAround(steps: readonly Step[]): Step[] {
  const granted = lastSession(steps)
  if (granted === undefined) return [...steps]
  const wait: Step = pause(quietMs)
  const [older, newer] = [sessionsLike(granted, 'o', sessionLimit), sessionsLike(granted, 'n', sessionLimit - 1)]
  return [wait, ...older, wait, ...steps.slice(0, -1), ...newer, ...steps.slice(-1)]
}

/** The same steps; before the last one, the key of the last grant is granted other pairs, and refreshes them. */
export function withOtherPairs(steps: readonly Step[]): Step[] {
  const granted = lastGrant(steps)
  if (granted === undefined) return [...steps]
  const more = Array.from({ length: otherPairs }, (_, at): Step[] => {
    const { connection: _kept, ...plain } = granted
    const pair = `other${at}`
    return [
      named({ ...plain, params: { ...plain.params, scope: ['solution'] } }, pair),
      refresh(pair, { as: `${pair}-next` }),
    ]
  })
  return [...steps.slice(0, -1), ...more.flat(), ...steps.slice(-1)]
}

/** Whether it is the grant of a session that was put in. */
export const isOtherSession = (step: Step): step is CallStep =>
  isCall(step) && /^crowd\d+[nob]$/.test(nameOf(step) ?? '')

interface Exchange {
  readonly key: string
  readonly by: string
}

/** Which keys of a sequence may be exchanged: a key with a secret by the root key, one with a public key by the first of them. */
export function exchanges({ names }: Explorer, steps: readonly Step[]): Exchange[] {
  const used = [...new Set(steps.flatMap(namesIn))]
  return used.flatMap((key) => {
    const value = names.get(key)
    if (value?.id === undefined) return []
    const by = [root, firstWithPublicKey].find((one) => {
      const other = names.get(one)
      return one !== key && other?.id !== undefined && (other.seed === undefined) === (value.seed === undefined)
    })
    return by === undefined || key === root ? [] : [{ key, by }]
  })
}

const root = 'root'
const firstWithPublicKey = 'ecc-a'

/** The same steps with another key in its place. */
export const withKey = (steps: readonly Step[], { key, by }: Exchange): Step[] =>
  withReferences([...steps], (name) => (name === key ? by : name === `${key}-own` ? `${by}-own` : undefined))

export interface Crowd {
  readonly burst: BurstStep
  /** How many of the sessions were seen to live: more than may. */
  readonly live: number
}

const isCrowd = (step: Step | undefined): step is BurstStep =>
  isBurst(step) && step.beside.length >= sessionLimit && areSessionsOfOneKind(callsOf(step))

/** undefined unless the steps are such grants and uses of their tokens; older sessions before them do not matter. */
export function crowdOf({ steps, outcomes }: Shown): Crowd | undefined {
  const at = steps.findIndex((step) => !('wait' in step) && !isOtherSession(step))
  const burst = steps[at]
  if (!isCrowd(burst)) return undefined
  const pairs = new Set(madeBy(burst))
  const uses = steps.slice(at + 1)
  if (!uses.every((use) => isPlainUse(use, pairs))) return undefined
  const live = new Set(uses.flatMap((use, index) => (outcomes[at + 1 + index] === 'accepted' ? namesIn(use) : []))).size
  return live > sessionLimit ? { burst, live } : undefined
}

/**
 * The same steps, if they begin with a crowd: the key has sixteen older sessions, so that its sessions are known, and the token of every grant is
 * used before the last step. Which of the sessions were removed, only all of them together tell.
 */
export function withCrowdUsed(steps: readonly Step[]): Step[] {
  const [crowd, ...rest] = steps
  const [first] = isCrowd(crowd) ? callsOf(crowd) : []
  if (!isCrowd(crowd) || first === undefined) return [...steps]
  const wait: Step = pause(quietMs)
  const uses = madeBy(crowd).map((pair) => list(token(pair)))
  return [wait, ...sessionsLike(first, 'o', sessionLimit), wait, crowd, ...uses, ...rest]
}

/** @param names what a step makes and uses, by its old name; `mark` is put before `$unique`, and its digits before `$digits`, so that sessions and keys get new names too */
export function renamed<S extends Step>(step: S, names: ReadonlyMap<string, string>, mark: string): S {
  if ('wait' in step) return step
  const text = JSON.stringify(step).replace(/\$\{?(unique|digits)\b/g, (whole, name: string) =>
    name === 'unique' ? `${mark}-${whole}` : `${mark.replace(/\D/g, '')}${whole}`,
  )
  const next = withReferences(JSON.parse(text) as Exclude<Step, { wait: string }>, (name) => names.get(name))
  const own = <One extends Pick<CallStep, 'keep' | 'connection'>>(one: One): One => {
    const { connection = 0 } = one
    const name = nameOf(one)
    return {
      ...one,
      ...(typeof connection === 'number' ? { connection: `${connection} ${mark}` } : {}),
      ...(name === undefined ? {} : { keep: { [names.get(name) ?? name]: 'result' } }),
    }
  }
  return { ...own(next), ...(isBurst(next) ? { beside: next.beside.map(own) } : {}) } as S
}
