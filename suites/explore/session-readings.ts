/** Which session of a sequence is the oldest in every reading: the first created, the longest unused, or the longest not refreshed. */
import { sessionLimit } from '../engine/document.ts'
import { sessionOf } from './session-grants.ts'
import type { Step } from './step.ts'

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

/** Whether sixteen newer sessions of the same key follow everything that concerns the first one: then it is removed in every reading. */
export function isPushedOut(steps: readonly Step[]): boolean {
  const before = steps.slice(0, -1).filter((step) => step.do !== 'wait')
  const [first, ...others] = before.flatMap((step) => grantedBy(step) ?? [])
  if (first === undefined) return false
  const lastOther = before.findLastIndex((step) => {
    const granted = grantedBy(step)
    return granted === undefined || granted.session === first.session
  })
  const newer = before.slice(lastOther + 1).flatMap((step) => grantedBy(step) ?? [])
  const isOfOneKey = others.every(({ who }) => who === first.who)
  return isOfOneKey && new Set(newer.map(({ session }) => session)).size >= sessionLimit
}
