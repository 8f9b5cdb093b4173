/** Which session of a sequence is the oldest in every reading: the first created, the longest unused, or the longest not refreshed. */
import { sessionLimit } from '../engine/document.ts'
import { sessionOf } from './session-grants.ts'
import type { Step } from './step.ts'
import { findMadeBy, grantOf, refreshedIn } from './token-lines.ts'

interface Granted {
  readonly session: string
  readonly who: string
}

/** A right grant that makes a session. */
function grantedBy(step: Step): Granted | undefined {
  if (step.do !== 'call' || step.change !== undefined || step.params.grantType !== 'api_key_credentials')
    return undefined
  const session = sessionOf(step)
  return session === undefined ? undefined : { session, who: String(step.params.apiKeyId) }
}

/**
 * Whether every step before the last one makes a new session of one key. Otherwise a finding about the oldest session rests on what the target
 * showed before, and the steps alone would accuse servers of another reading.
 */
export function isSameInEveryReading(steps: readonly Step[]): boolean {
  const made = steps.slice(0, -1).filter((step) => step.do !== 'wait')
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
  const before = steps.slice(0, -1).filter((step) => step.do !== 'wait')
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
  if (last?.do !== 'call') return undefined
  const token = last.auth.kind === 'token' ? last.auth.token : `$${refreshedIn(last) ?? ''}.`
  const granted = grantOf(token, findMadeBy(steps))
  return granted === undefined ? undefined : grantedBy(granted)
}
